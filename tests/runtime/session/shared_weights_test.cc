// Executables of one model at several shapes, with one pool of weights.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "graph/region.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/session.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Two convolutions and a sum with a constant image, which differs for each size.
Graph Network(int64_t batch, int64_t size) {
  std::mt19937_64 random(7);
  GraphMaker make;
  const int x = make.Input("x", {batch, 16, size, size});
  int y = x;
  for (int i = 0; i < 2; ++i) {
    const int filter = make.Constant(RandomTensor(random, Shape{16, 16, 3, 3}, -0.1, 0.1));
    ConvolutionParam param;
    param.pad_h = param.pad_w = 1;
    y = make.Add<ConvolutionForward>(param, {y, filter});
  }
  const int image = make.Constant(RandomTensor(random, Shape{1, 16, size, size}, -1, 1));
  make.Output(make.Add<Elemwise>({ScalarFunction::kAdd}, {y, image}, "y"));
  return std::move(make).Build();
}

std::unique_ptr<PlannedGraph> Planned(const Graph& graph, const KernelPolicy& policy) {
  PlanRequest request;
  request.planning.kernels = policy;
  return Value(PlanGraph(graph, request));
}

// Chooses the same kernels at each size.
std::unique_ptr<PlannedGraph> Planned(const Graph& graph) {
  return Planned(graph, KernelPolicy{.exact = true});
}

HostTensor RunOf(const std::shared_ptr<const Executable>& executable, const HostTensor& x) {
  HostTensor y = HostTensor::Zeros(DType::kFloat32, x.shape());
  const auto session = Value(Session::Create(executable));
  EXPECT_TRUE(IsOk(session->BindInput("x", x.raw(), x.bytes())));
  EXPECT_TRUE(IsOk(session->BindOutput("y", y.mutable_raw(), y.bytes())));
  EXPECT_TRUE(IsOk(session->Run()));
  return y;
}

TEST(SharedWeights, AreOnceWhereSeveralShapesWantThemAlike) {
  cpu::RegisterDevice();
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 8}, {2, 8}, {5, 8}, {1, 12}};
  std::vector<std::unique_ptr<PlannedGraph>> plans;
  std::map<std::string, int64_t> different;  // bytes, by constant and layout
  int64_t apart = 0;
  for (const auto& [batch, size] : sizes) {
    plans.push_back(Planned(Network(batch, size)));
    const PlannedGraph& planned = *plans.back();
    apart += planned.weights.bytes;
    for (const WeightEntry& entry : planned.weights.entries) {
      const Var& var = planned.graph.var(entry.var);
      different[absl::StrCat(var.name, " ", var.type.ToString(), " ", entry.key)] = entry.bytes;
    }
  }
  int64_t together = 0;
  for (const auto& [name, bytes] : different) together += bytes;  // multiples of the alignment
  ASSERT_LT(2 * together, apart);
  const auto executables = Value(Executable::FromPlans(std::move(plans)));
  ASSERT_EQ(executables.size(), sizes.size());
  std::mt19937_64 random(9);
  for (size_t i = 0; i < sizes.size(); ++i) {
    SCOPED_TRACE(i);
    const auto [batch, size] = sizes[i];
    EXPECT_EQ(executables[i]->weights(), executables[0]->weights());
    EXPECT_EQ(executables[i]->weights_bytes(), together);
    const HostTensor x = RandomTensor(random, Shape{batch, 16, size, size}, -1, 1);
    const Graph graph = Network(batch, size);
    EXPECT_TRUE(Near(RunOf(executables[i], x), Value(EvaluateGraph(graph, {{"x", x}}))[0], 1e-5));
    EXPECT_TRUE(
        Near(RunOf(executables[i], x), RunOf(Value(Executable::Compile(graph, {})), x), 1e-5));
  }
}

TEST(SharedWeights, StayWhileOneOfTheExecutablesDoes) {
  cpu::RegisterDevice();
  std::vector<std::unique_ptr<PlannedGraph>> plans;
  for (const int64_t batch : {1, 3}) plans.push_back(Planned(Network(batch, 8)));
  auto executables = Value(Executable::FromPlans(std::move(plans)));
  const std::shared_ptr<const Executable> last = executables[1];
  executables.clear();
  std::mt19937_64 random(9);
  const HostTensor x = RandomTensor(random, Shape{3, 16, 8, 8}, -1, 1);
  EXPECT_TRUE(Near(RunOf(last, x), Value(EvaluateGraph(Network(3, 8), {{"x", x}}))[0], 1e-5));
}

// A family prefers time unless it is asked for memory. Kernels of some sizes then need other forms
// of a filter than kernels of others do, and each form is held once.
TEST(SharedWeights, EachFormIsHeldOnceWhateverIsPreferred) {
  cpu::RegisterDevice();
  const KernelPolicy policies[] = {{}, {.exact = true}, {.low_workspace = true}};
  for (const KernelPolicy& policy : policies) {
    std::vector<std::unique_ptr<PlannedGraph>> plans;
    std::map<std::string, int64_t> forms;  // bytes, by constant and layout
    int64_t apart = 0, alignment = 0;
    for (const auto& [batch, size] : {std::pair{1, 8}, {2, 8}, {1, 40}, {3, 40}, {1, 56}}) {
      plans.push_back(Planned(Network(batch, size), policy));
      const PlannedGraph& planned = *plans.back();
      alignment = planned.device->alignment();
      apart += planned.weights.bytes;
      for (const WeightEntry& entry : planned.weights.entries) {
        const Var& var = planned.graph.var(entry.var);
        forms[absl::StrCat(var.name, " ", var.type.ToString(), " ", entry.key)] = entry.bytes;
      }
    }
    int64_t together = 0;
    for (const auto& [form, bytes] : forms) together += RoundUp(bytes, alignment);
    const auto executables = Value(Executable::FromPlans(std::move(plans)));
    EXPECT_LE(executables[0]->weights_bytes(), together);
    EXPECT_GT(executables[0]->weights_bytes(), together - alignment);
    EXPECT_LT(together, apart);
  }
}

TEST(SharedWeights, OfNoPlansAreNone) { EXPECT_TRUE(Value(Executable::FromPlans({})).empty()); }

}  // namespace
}  // namespace ashlar::testing
