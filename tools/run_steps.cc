#include "tools/run_steps.h"

#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/status.h"

namespace ashlar {
namespace {

void CopyStep(const InputSteps& steps, int64_t step, InputTensors& inputs) {
  for (auto& [name, tensor] : inputs) {
    const HostTensor& all = steps.tensors.at(name);
    const int64_t bytes = tensor.bytes();
    const int64_t at = all.bytes() > bytes ? step * bytes : 0;
    std::memcpy(tensor.mutable_raw(), static_cast<const char*>(all.raw()) + at,
                static_cast<size_t>(bytes));
  }
}

// Returns a tensor for the outputs of `count` runs.
absl::StatusOr<HostTensor> ForAllRuns(const HostTensor& output, int64_t count) {
  std::vector<int64_t> dims(output.shape().dims().begin(), output.shape().dims().end());
  dims.insert(dims.begin(), count);
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return HostTensor::ZerosLike(output, shape);
}

absl::Status CheckMemory(const NamedTensors& outputs, int64_t count) {
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  int64_t bytes = 1;
  for (const auto& [name, tensor] : outputs) bytes += tensor.bytes();
  if (count <= memory / bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the outputs of ", count, " runs are ", bytes,
                                                   " bytes each, and this machine's memory is ",
                                                   memory));
}

}  // namespace

InputTensors FirstStep(const Graph& graph, const InputSteps& steps) {
  InputTensors inputs;
  for (const Binding& input : graph.inputs()) {
    inputs[input.name] = HostTensor::Zeros(graph.var(input.var).type);
  }
  CopyStep(steps, 0, inputs);
  return inputs;
}

absl::StatusOr<NamedTensors> RunSteps(BoundSession& session, const InputSteps& steps) {
  ASHLAR_RETURN_IF_ERROR(CheckMemory(session.outputs(), steps.count));
  NamedTensors all;
  for (const auto& [name, tensor] : session.outputs()) {
    absl::StatusOr<HostTensor> made = ForAllRuns(tensor, steps.count);
    if (!made.ok()) return Annotate(made.status(), absl::StrCat("--steps: output '", name, "'"));
    all.emplace_back(name, *std::move(made));
  }
  for (int64_t step = 0; step < steps.count; ++step) {
    CopyStep(steps, step, session.inputs());
    const absl::Status status = session.Run();
    if (!status.ok()) return Annotate(status, absl::StrCat("run ", step + 1));
    for (size_t i = 0; i < all.size(); ++i) {
      const HostTensor& output = session.outputs()[i].second;
      std::memcpy(static_cast<char*>(all[i].second.mutable_raw()) + step * output.bytes(),
                  output.raw(), static_cast<size_t>(output.bytes()));
    }
  }
  return all;
}

}  // namespace ashlar
