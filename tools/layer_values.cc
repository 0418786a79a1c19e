#include "tools/layer_values.h"

#include <cstring>
#include <utility>

#include "graph/status.h"

namespace ashlar {
namespace {

class Recorder final : public RunListener {
 public:
  explicit Recorder(BoundSession& session)
      : planned_(session.planned()),
        session_(session.session()),
        arena_(static_cast<const char*>(session.session().arena().data())) {}

  void OnStepEnd(int step) override {
    const OperatorNode& node = planned_.graph.node(planned_.schedule.order[step]);
    if (node.op->role() != Role::kCompute) return;
    for (int var : node.outputs) Record(var);
  }

  bool reads_memory() const override { return true; }

  absl::StatusOr<LayerValues> Take() {
    if (!status_.ok()) return status_;
    return std::move(values_);
  }

 private:
  void Record(int index) {
    const std::optional<Location> location = planned_.Locate(index);
    if (!location.has_value()) return;
    const char* data = nullptr;
    if (location->pool == Pool::kArena) {
      data = arena_ + location->offset;
    } else if (location->pool == Pool::kOutput) {
      data = static_cast<const char*>(session_.output_data(location->binding)) + location->offset;
    } else {
      return;
    }
    const Var& var = planned_.graph.var(index);
    std::vector<char> bytes(static_cast<size_t>(var.type.bytes()));
    status_.Update(planned_.device->CopyOut(bytes.data(), data, var.type.bytes()));
    values_[var.id] = RowMajor(var.type, bytes.data());
  }

  const PlannedGraph& planned_;
  const Session& session_;
  const char* const arena_;
  absl::Status status_;
  LayerValues values_;
};

}  // namespace

HostTensor RowMajor(const TensorType& type, const char* data) {
  HostTensor tensor = HostTensor::Zeros(type);
  char* out = static_cast<char*>(tensor.mutable_raw());
  if (type.format == Format::kDefault) {
    if (tensor.bytes() > 0) std::memcpy(out, data, static_cast<size_t>(tensor.bytes()));
    return tensor;
  }
  const int64_t size = SizeOf(type.dtype);
  const ImageStrides step = StridesOf(type);
  const Shape& shape = type.shape;
  const int64_t block = IsBlocked(type.format) ? kChannelBlock : 1;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      const int64_t plane = n * step.n + c / block * step.c + c % block;
      for (int64_t h = 0; h < shape[2]; ++h) {
        for (int64_t w = 0; w < shape[3]; ++w, out += size) {
          std::memcpy(out, data + (plane + h * step.h + w * step.w) * size,
                      static_cast<size_t>(size));
        }
      }
    }
  }
  return tensor;
}

absl::StatusOr<LayerValues> RunAndRecord(BoundSession& session) {
  Recorder recorder(session);
  ASHLAR_RETURN_IF_ERROR(session.Run(recorder));
  return recorder.Take();
}

}  // namespace ashlar
