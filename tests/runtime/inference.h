// Runs a graph on the device and reports its outputs and kernels.
#ifndef ASHLAR_TESTS_RUNTIME_INFERENCE_H_
#define ASHLAR_TESTS_RUNTIME_INFERENCE_H_

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/plan/request/kernel_record.h"
#include "runtime/session/bind_tensors.h"
#include "tests/support/status.h"

namespace ashlar::testing {

struct Inference {
  std::vector<HostTensor> outputs;
  std::map<std::string, std::string> kernels;  // implementation families, by operator
};

// Runs a graph that has one input and has been through the passes.
inline Inference Infer(const Graph& graph, PlanRequest request, const HostTensor& input) {
  request.planning.passes = "none";
  auto executable = Value(Executable::Compile(graph, request));
  auto session = Value(Session::Create(executable));
  Inference result;
  std::vector<HostTensor> outputs = Value(BindTensors(*session, {{graph.inputs()[0].name, input}}));
  EXPECT_TRUE(session->Run().ok());
  // In the order of `graph`; the tiled graph may have another.
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

// Returns whether each operator of `whole` runs on the same kind of kernel in all tiles. A tile's
// operator has the same name with a suffix.
inline bool SameKernels(const Inference& whole, const Inference& tiled) {
  for (const auto& [name, kernel] : whole.kernels) {
    for (auto it = tiled.kernels.lower_bound(name + "/"); it != tiled.kernels.end(); ++it) {
      if (it->first.compare(0, name.size() + 1, name + "/") != 0) break;
      const bool part = it->first.find(':', name.size()) == std::string::npos;  // no copy
      if (part && it->second != kernel) return false;
    }
  }
  return true;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_INFERENCE_H_
