#include "tests/emulated_gpu/tests/inference.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/status.h"
#include "tests/support/command/small_model.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

PlanRequest OnEmulatedGpu(DType precision) {
  PlanRequest request;
  request.target.comp_node = kEmulatedGpu;
  request.target.precision = precision;
  return request;
}

Inference::Inference(int64_t batch) : graph_(SmallModel(batch)) {
  OpenEmulated();
  std::mt19937_64 random(static_cast<uint64_t>(batch));
  input_ = RandomTensor(random, graph_.var(graph_.inputs()[0].var).type.shape);
  expected_ = Value(EvaluateGraph(graph_, {{"data", input_}}))[0];
  output_ = HostTensor::Zeros(DType::kFloat32, expected_.shape());
}

absl::StatusOr<std::shared_ptr<const Executable>> Inference::Compile(
    const PlanRequest& request) const {
  return Executable::Compile(Graph(graph_), request);
}

absl::Status Inference::Run(Session& session, int runs) {
  ASHLAR_RETURN_IF_ERROR(session.BindInput("data", input_.raw(), input_.bytes()));
  ASHLAR_RETURN_IF_ERROR(session.BindOutput("prob", output_.mutable_raw(), output_.bytes()));
  for (int run = 0; run < runs; ++run) {
    output_ = HostTensor::Zeros(DType::kFloat32, expected_.shape());
    ASHLAR_RETURN_IF_ERROR(session.BindOutput("prob", output_.mutable_raw(), output_.bytes()));
    ASHLAR_RETURN_IF_ERROR(session.Run());
  }
  return absl::OkStatus();
}

absl::Status Inference::RunAnew(const PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable, Compile(request));
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(executable));
  return Run(*session);
}

double Inference::Error() const { return LargestDifference(output_, expected_); }

}  // namespace ashlar::testing
