// A model of streamed sound with Conv, LSTM, Scan and Loop: 1000 frames, whose states pass from run
// to run, beside ONNX Runtime's results.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "library/open_model.h"
#include "library/state_links.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/heap/heap_counter.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "serialization/npz.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kFrames = 1000;

// The generator of tests/serialization/onnx/make_streaming.py.
class Frames {
 public:
  void Fill(HostTensor& frame) {
    for (float& x : frame.mutable_data<float>()) {
      seed_ = seed_ * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<int>(seed_ >> 24) - 128) / 128;
    }
  }

 private:
  uint32_t seed_ = 1;
};

TEST(StreamingModel, AThousandFramesAgreeWithOnnxRuntimeWithoutAHeapCall) {
  cpu::RegisterDevice();
  const ModelSource source = Value(SourceOf(SharedData("data/models/streaming.onnx")));
  const std::vector<StateLink> links = {
      {"context_next", "context"}, {"h_next", "h"}, {"c_next", "c"}, {"memory_next", "memory"}};
  std::map<std::string, HostTensor> expected;
  for (auto& [name, array] : Value(ReadNpz(SharedData("data/models/streaming.npz")))) {
    expected.emplace(name, array);
  }
  for (const bool least : {false, true}) {
    SCOPED_TRACE(least ? "the least memory" : "planned as usual");
    const Model model = Value(WithStates(Value(OpenModel(source, {})), links));
    PlanRequest request;
    request.target.comp_node = Value(CompNode::Parse("cpu0:0"));
    request.target.threads = 1;
    if (least) request.target.budget = MemoryBudget{};
    const auto session = Value(Session::Create(Value(Executable::Compile(model.graph, request))));
    const PlannedGraph& planned = session->executable().planned();
    EXPECT_EQ(planned.graph.inputs().size(), 1u);
    EXPECT_EQ(planned.graph.outputs().size(), 1u);
    InputTensors inputs = {{"x", HostTensor::Zeros(DType::kFloat32, {1, 32})}};
    HostTensor speech = HostTensor::Zeros(DType::kFloat32, {kFrames, 1, 1});
    const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
    Frames frames;
    for (int64_t i = 0; i < kFrames; ++i) {
      frames.Fill(inputs.at("x"));
      if (i == 2) StartHeapCounting();
      ASSERT_TRUE(IsOk(session->Run()));
      speech.mutable_data<float>()[static_cast<size_t>(i)] = outputs[0].data<float>()[0];
    }
    EXPECT_EQ(StopHeapCounting().own_calls, 0);
    EXPECT_TRUE(Near(speech, expected.at("speech"), 1e-5));
    for (const StateLink& link : links) {
      EXPECT_TRUE(Near(Value(session->ReadState(link.input)), expected.at(link.input), 1e-5))
          << link.input;
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
