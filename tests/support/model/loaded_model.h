// A graph planned for the CPU, with a session of its own.
#ifndef ASHLAR_TESTS_SUPPORT_MODEL_LOADED_MODEL_H_
#define ASHLAR_TESTS_SUPPORT_MODEL_LOADED_MODEL_H_

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/cpu/cpu_device.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"
#include "tests/support/status.h"

namespace ashlar::testing {

class LoadedModel {
 public:
  explicit LoadedModel(const Graph& graph, const PlanRequest& request = {}) {
    cpu::RegisterDevice();
    executable_ = Value(Executable::Compile(graph, request));
    session_ = Value(Session::Create(executable_));
  }

  const Graph& graph() const { return executable_->graph(); }  // the graph as planned
  std::vector<HostTensor> Run(const InputTensors& inputs) {
    std::vector<HostTensor> outputs = Value(BindTensors(*session_, inputs));
    EXPECT_TRUE(IsOk(session_->Run()));
    return outputs;
  }

 private:
  std::shared_ptr<const Executable> executable_;
  std::unique_ptr<Session> session_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_MODEL_LOADED_MODEL_H_
