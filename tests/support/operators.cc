#include "tests/support/operators.h"

#include "graph/evaluate.h"
#include "graph/status.h"
#include "opr/base/host_value.h"
#include "tests/support/status.h"

namespace ashlar::testing {

HostTensor Evaluate(const Operator& op, const std::vector<HostTensor>& inputs) {
  const absl::StatusOr<std::vector<TensorType>> types = op.Infer(InfosOf(inputs));
  EXPECT_TRUE(types.ok()) << types.status();
  if (!types.ok()) return HostTensor();
  absl::StatusOr<std::vector<HostTensor>> outputs = op.Evaluate(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return HostTensor();
  EXPECT_EQ(outputs->size(), types->size());
  EXPECT_EQ((*outputs)[0].shape(), (*types)[0].shape);
  EXPECT_EQ((*outputs)[0].dtype(), (*types)[0].dtype);
  EXPECT_EQ((*outputs)[0].quantization(), (*types)[0].quantization);
  return std::move((*outputs)[0]);
}

absl::StatusOr<std::vector<TensorType>> InferShapes(const Operator& op,
                                                    const std::vector<Shape>& inputs) {
  std::vector<InputInfo> infos;
  for (const Shape& shape : inputs) infos.push_back({{DType::kFloat32, shape}});
  return op.Infer(infos);
}

void ExpectRejected(const std::vector<Rejection>& rejections) {
  for (const Rejection& rejection : rejections) {
    SCOPED_TRACE(absl::StrCat(rejection.op->type(), " ", ToString(rejection.op->params())));
    const absl::Status status = InferShapes(*rejection.op, rejection.inputs).status();
    EXPECT_TRUE(FailsWith(status, rejection.message));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  }
}

std::optional<Aliasing::View> ViewOf(const Operator& op, const OwnedSite& site) {
  for (const Aliasing::View& view : op.aliasing(site).views) {
    if (view.output == 0) return view;
  }
  return std::nullopt;
}

std::vector<int> OverwrittenBy(const Operator& op, const OwnedSite& site) {
  std::vector<int> inputs;
  for (const Aliasing::Overwrite& overwrite : op.aliasing(site).overwrites) {
    if (overwrite.output == 0) inputs.push_back(overwrite.input);
  }
  return inputs;
}

std::optional<int64_t> PlaceOf(const Operator& op, int input, const OwnedSite& site) {
  for (const Aliasing::Placement& placement : op.aliasing(site).placements) {
    if (placement.output == 0 && placement.input == input) return placement.offset;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<HostTensor>> EvaluateGraph(
    const Graph& graph, const absl::flat_hash_map<std::string, HostTensor>& inputs) {
  return EvaluateNodes(graph, [&](const OperatorNode& node) -> absl::StatusOr<HostTensor> {
    const auto input = inputs.find(node.binding);
    if (input == inputs.end()) return absl::NotFoundError(node.binding);
    return input->second;
  });
}

}  // namespace ashlar::testing
