#include "runtime/session/run_values.h"

#include <cstring>
#include <vector>

namespace ashlar {
namespace {

class ValueListener final : public RunListener {
 public:
  using Visit = absl::FunctionRef<absl::Status(const Var& var, const HostTensor& value)>;
  ValueListener(Session& session, Visit visit)
      : planned_(session.executable().planned()),
        session_(session),
        arena_(static_cast<const char*>(session.arena().data())),
        visit_(visit) {}

  void OnStepEnd(int step) override {
    const OperatorNode& node = planned_.graph.node(planned_.schedule.order[step]);
    if (node.op->role() != Role::kCompute) return;
    for (int var : node.outputs) Show(var);
  }

  bool reads_memory() const override { return true; }

  const absl::Status& status() const { return status_; }

 private:
  void Show(int index) {
    const std::optional<Location> location = planned_.Locate(index);
    if (!location.has_value() || !status_.ok()) return;
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
    if (status_.ok()) status_ = visit_(var, RowMajor(var.type, bytes.data()));
  }

  const PlannedGraph& planned_;
  const Session& session_;
  const char* const arena_;
  const Visit visit_;
  absl::Status status_;
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

absl::Status RunAndVisit(
    Session& session,
    absl::FunctionRef<absl::Status(const Var& var, const HostTensor& value)> visit) {
  ValueListener listener(session, visit);
  const absl::Status run = session.Run(listener);
  return run.ok() ? listener.status() : run;
}

}  // namespace ashlar
