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
        arena_(static_cast<const char*>(session.session().arena().data())),
        outputs_(session.outputs()) {}

  void OnStepEnd(int step) override {
    const OperatorNode& node = planned_.graph.node(planned_.schedule.order[step]);
    if (node.op->role() != Role::kCompute) return;
    for (int var : planned_.graph.value_outputs(node)) Record(var);
  }

  LayerValues Take() { return std::move(values_); }

 private:
  void Record(int index) {
    const VarView view = planned_.model.views[index];
    if (view.storage < 0) return;
    const Storage& storage = planned_.model.storages[view.storage];
    const char* data = nullptr;
    if (storage.pool == Pool::kArena) {
      data = arena_ + planned_.ArenaOffset(index);
    } else if (storage.pool == Pool::kOutput) {
      data = static_cast<const char*>(outputs_[storage.binding].second.raw()) + view.offset;
    } else {
      return;
    }
    const Var& var = planned_.graph.var(index);
    if (IsBlocked(var.type.format)) {
      values_[var.id] = FromBlocked(var.type, reinterpret_cast<const float*>(data));
    } else {
      HostTensor value = HostTensor::Zeros(var.type.dtype, var.type.shape);
      std::memcpy(value.mutable_raw(), data, static_cast<size_t>(value.bytes()));
      values_[var.id] = std::move(value);
    }
  }

  const PlannedGraph& planned_;
  const char* const arena_;
  const NamedTensors& outputs_;
  LayerValues values_;
};

}  // namespace

HostTensor FromBlocked(const TensorType& type, const float* blocked) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, type.shape);
  float* out = tensor.mutable_data<float>().data();
  const ImageStrides step = StridesOf(type);
  const Shape& shape = type.shape;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      const float* const plane =
          blocked + n * step.n + c / kChannelBlock * step.c + c % kChannelBlock;
      for (int64_t h = 0; h < shape[2]; ++h) {
        for (int64_t w = 0; w < shape[3]; ++w) *out++ = plane[h * step.h + w * step.w];
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
