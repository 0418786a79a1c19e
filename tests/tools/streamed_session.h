// A session whose weights are streamed from a file, in this process.
#ifndef ASHLAR_TESTS_TOOLS_STREAMED_SESSION_H_
#define ASHLAR_TESTS_TOOLS_STREAMED_SESSION_H_

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "library/open_model.h"
#include "library/plan_model.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

class StreamedSession {
 public:
  explicit StreamedSession(const std::string& path, int64_t budget) {
    PlanRequest request;
    request.target.weights_budget = budget;
    const PlannedModel made = Value(PlanModel(Value(OpenModel(path, {})), request, nullptr));
    session_ = Value(Session::Create(made.packed));
    std::mt19937_64 random(1);
    const Graph& graph = made.plan().graph;
    const Binding& input = graph.inputs()[0];
    inputs_ = {{input.name, RandomTensor(random, graph.var(input.var).type.shape)}};
    outputs_ = Value(BindTensors(*session_, inputs_));
  }
  absl::Status Run() { return session_->Run(); }
  std::string Outputs() {
    EXPECT_TRUE(IsOk(Run()));
    return {static_cast<const char*>(outputs_[0].raw()), static_cast<size_t>(outputs_[0].bytes())};
  }

 private:
  std::unique_ptr<Session> session_;
  InputTensors inputs_;
  std::vector<HostTensor> outputs_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_TOOLS_STREAMED_SESSION_H_
