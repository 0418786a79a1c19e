// What a graph computes on the device, and by which kernels.
#ifndef ASHLAR_TESTS_RUNTIME_INFERENCE_H_
#define ASHLAR_TESTS_RUNTIME_INFERENCE_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/plan/kernel_record.h"
#include "runtime/session/bind_tensors.h"
#include "tests/support/status.h"

namespace ashlar::testing {

struct Inference {
  std::vector<HostTensor> outputs;
  std::map<std::string, std::string> kernels;  // families, by operator
};

// Runs a graph with one input, whose passes have run.
inline Inference Infer(const Graph& graph, PlanRequest request, const HostTensor& input) {
  request.means.passes = "none";
  auto executable = Value(Executable::Compile(graph, request));
  auto session = Value(Session::Create(executable));
  Inference result;
  std::vector<HostTensor> outputs = Value(BindTensors(*session, {{graph.inputs()[0].name, input}}));
  EXPECT_TRUE(session->Run().ok());
  // In the order of the graph, which the tiled one need not have.
  for (const Binding& wanted : graph.outputs()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (executable->graph().outputs()[i].name != wanted.name) continue;
      result.outputs.push_back(std::move(outputs[i]));
    }
  }
  const PlannedGraph& planned = executable->planned();
  for (size_t i = 0; i < planned.kernels.size(); ++i) {
    if (planned.kernels[i] == nullptr) continue;
    result.kernels[planned.graph.node(static_cast<int>(i)).name] =
        std::string(FamilyOf(planned.kernels[i]->implementation()));
  }
  return result;
}

// Whether each operator of `whole` runs on the same kind of kernel in all parts, which have its
// name with the part's behind it.
inline bool SameKernels(const Inference& whole, const Inference& tiled) {
  for (const auto& [name, kernel] : whole.kernels) {
    for (auto it = tiled.kernels.lower_bound(name + "/"); it != tiled.kernels.end(); ++it) {
      if (it->first.compare(0, name.size() + 1, name + "/") != 0) break;
      const bool part = it->first.find(':', name.size()) == std::string::npos;  // no copy of it
      if (part && it->second != kernel) return false;
    }
  }
  return true;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_INFERENCE_H_
