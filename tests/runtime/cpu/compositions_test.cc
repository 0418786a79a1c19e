// Operators composed of others, on devices without a kernel for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "graph/passes/pass.h"
#include "opr/elemwise.h"
#include "opr/layer_norm.h"
#include "opr/split.h"
#include "tests/cases/case_graph.h"
#include "tests/support/graph_maker.h"
#include "tests/support/kernel_request.h"
#include "tests/support/operators.h"

namespace ashlar::testing {
namespace {

HasKernel AllBut(absl::string_view type) {
  return [type](const Operator& op) { return op.type() != type; };
}

// Compares every Float32 or integer case of every composed operator. Other types would round
// intermediate results.
TEST(Compose, MeansTheSame) {
  std::set<std::string> composed;
  ForEachCase(CpuScope(), 41, [&](const KernelCase& test) {
    const HostTensor& x = test.inputs[0];
    const bool again = !test.formats.empty() || test.in_place.has_value();
    const bool taken =
        x.dtype() == DType::kFloat32 || !(IsFloat(x.dtype()) || IsQuantized(x.dtype()));
    if (again || !taken || x.num_elements() == 0 || test.op->role() != Role::kCompute) return;
    const CaseGraph whole = GraphOf(test);
    const Graph made = Value(Compose(whole.graph, AllBut(test.op->type())));
    const auto types = ComputingTypes(made);
    if (std::find(types.begin(), types.end(), test.op->type()) != types.end()) return;
    SCOPED_TRACE(absl::StrCat(test.name, ": ", test.op->type(), " ", ToString(test.op->params())));
    composed.insert(std::string(test.op->type()));
    const std::vector<HostTensor> values = Value(EvaluateGraph(made, {{"x", test.inputs[0]}}));
    ASSERT_EQ(values.size(), test.expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_LE(WorstError(values[i], test.expected[i], test.floor, /*signs=*/false),
                4 * test.tolerance)
          << i;
    }
  });
  for (const char* type : {"ArgReduce",
                           "Attention",
                           "BatchNormApply",
                           "BatchNormBackward",
                           "BatchNormStatistics",
                           "BatchNormTraining",
                           "ConvolutionBackwardFilter",
                           "ConvolutionFilterUpdate",
                           "MatrixMulUpdate",
                           "Convolution3DForward",
                           "ConvolutionBackwardData",
                           "CrossEntropy",
                           "CrossEntropyBackward",
                           "Expand",
                           "Gather",
                           "LRNBackward",
                           "LSTM",
                           "LayerNorm",
                           "LogSoftmax",
                           "Pad",
                           "Resize",
                           "SoftmaxBackward",
                           "Split"}) {
    EXPECT_TRUE(composed.contains(type)) << type;
  }
}

TEST(Compose, LeavesWhatHasAKernelAndWhatIsMadeOfNothing) {
  GraphMaker make;
  const int x = make.Input("x", {4, 6});
  const int norm = make.Add<LayerNorm>({}, {x}, "norm");
  make.Output(make.Add<Elemwise>({ScalarFunction::kExp}, {norm}, "exp"));
  const Graph graph = std::move(make).Build();
  using ::testing::ElementsAre;
  EXPECT_THAT(ComputingTypes(Value(Compose(graph, AllBut("Elemwise")))),
              ElementsAre("LayerNorm", "Elemwise"));
  EXPECT_THAT(ComputingTypes(Value(Compose(graph, AllBut("LayerNorm")))),
              ElementsAre("Reduce", "Elemwise", "Elemwise", "Reduce", "Elemwise", "Elemwise",
                          "Elemwise", "Elemwise"));
}

}  // namespace
}  // namespace ashlar::testing
