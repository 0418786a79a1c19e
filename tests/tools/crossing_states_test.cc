// States that read each other, in whole tensors and in tiles.
#include "tests/support/crossing_states.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "library/state_links.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "tests/support/fed_back.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Returns tiles of 5 rows for each pair of convolutions, with a wide image between them.
TileSpec TilesOf(const Graph& graph) {
  std::vector<std::string> segments;
  int first = -1;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->type() != "ConvolutionForward") continue;
    if (first >= 0) segments.push_back(absl::StrCat(first, "-", node.id, ":lines5"));
    first = first >= 0 ? -1 : node.id;
  }
  return Value(TileSpec::Parse(absl::StrJoin(segments, ";")));
}

TEST(CrossingStates, AgreeWithOutputsFedBack) {
  cpu::RegisterDevice();
  uint64_t seed = 0;
  for (const CrossingStates& test : MakeCrossingStates()) {
    ++seed;
    Model model;
    model.graph = test.graph;
    std::vector<StateLink> links;
    for (const auto& [output, input] : test.links) links.push_back({output, input});
    const Graph stateful = Value(WithStates(std::move(model), links)).graph;
    for (const char* passes : {"all", "none"}) {
      for (const bool tiled : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << test.name << ", passes " << passes << (tiled ? ", tiled" : ""));
        PlanRequest request;
        request.target.comp_node = Value(CompNode::Parse("cpu0:0"));
        request.target.threads = 1;
        if (passes != std::string("all")) request.planning.passes = passes;
        if (tiled) request.target.tiles = TilesOf(stateful);
        const auto session = Value(Session::Create(Value(Executable::Compile(stateful, request))));
        EXPECT_EQ(session->executable().planned().tiles.empty(), !tiled);
        FedBack reference(test.graph, test.links);
        std::mt19937_64 random(seed);
        for (const StateLink& link : links) {  // not zeros, which may be exchanged unnoticed
          const HostTensor first = RandomTensor(random, kCrossingImage);
          ASSERT_TRUE(IsOk(session->WriteState(link.input, first)));
          reference.Set(link.input, first);
        }
        for (int step = 0; step < 5; ++step) {
          const InputTensors inputs = {{"x", RandomTensor(random, kCrossingImage)}};
          const auto expected = reference.Step("x", inputs.at("x"));
          const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
          ASSERT_TRUE(IsOk(session->Run()));
          const std::vector<Binding>& bindings = session->executable().graph().outputs();
          for (size_t i = 0; i < bindings.size(); ++i) {
            ASSERT_TRUE(Near(outputs[i], expected.at(bindings[i].name), 1e-3))
                << bindings[i].name << " of step " << step;
          }
          for (const auto& [output, input] : test.links) {
            const HostTensor state = Value(session->ReadState(input));
            ASSERT_TRUE(Near(state, reference.Next(input), 1e-3))
                << input << " after step " << step;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
