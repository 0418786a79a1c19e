// Checks the gradient of every operator that has one by central differences in double precision,
// and lists the operators without one.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "graph/differentiate.h"
#include "graph/graph_builder.h"
#include "opr/gradients/gradients.h"
#include "opr/table.h"
#include "tests/opr/gradients/gradient_cases.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using Family = void (*)(GradientCases&);
constexpr Family kFamilies[] = {AddImageCases, AddRowCases, AddMovementCases, AddScalarCases};

void CheckFamily(Family add) {
  GradientCases cases(1);
  add(cases);
  for (size_t i = 0; i < cases.all().size(); ++i) {
    const GradientCase& test = cases.all()[i];
    std::string shapes;
    for (const HostTensor& input : test.inputs) shapes += input.shape().ToString();
    EXPECT_TRUE(GradientsAgree(test.op, test.inputs, cases.random()))
        << "case " << i << ": " << test.op->type() << " " << ToString(test.op->params()) << " of "
        << shapes;
  }
}

TEST(Gradient, OfImagesIsThatByDifferences) { CheckFamily(AddImageCases); }
TEST(Gradient, OfRowsIsThatByDifferences) { CheckFamily(AddRowCases); }
TEST(Gradient, OfMovementsIsThatByDifferences) { CheckFamily(AddMovementCases); }
TEST(Gradient, OfScalarFunctionsIsThatByDifferences) { CheckFamily(AddScalarCases); }

// Returns the operators without a gradient, by reason. A new operator has cases, or is listed here.
const std::set<std::string>& WithoutGradient() {
  static const auto* const types = new std::set<std::string>{
      // Whole numbers.
      "ArgReduce", "BitCast", "CheckCount", "ElemwiseMultiType", "GetVarShape", "IndicesWithin",
      "IntegerElemwise", "NonMaxSuppression", "NonZero", "ResizeBytes",
      // Inputs and outputs.
      "Host2DeviceCopy", "ImmutableTensor", "InputCallback", "OutputCallback",
      // States and their updates.
      "AdamUpdate", "AddUpdate", "Assign", "ConvolutionFilterUpdate", "MatrixMulUpdate",
      "SgdUpdate", "SharedDeviceTensor",
      // Made by passes, after differentiation.
      "BatchNormApply", "BatchNormStatistics", "ElemwiseChain", "MatrixMulBias", "PoolingIndex",
      "PoolingRows",
      // Gradients themselves.
      "BatchNormBackward", "ConvolutionBackwardFilter", "CrossEntropyBackward", "LRNBackward",
      "PoolingBackward", "PoolingIndexBackward", "SoftmaxBackward",
      // Not requested yet.
      "GridSample"};
  return *types;
}

// Adds the sum of all floating-point outputs, in Float32; returns nullopt if inference refuses the
// dtype.
std::optional<int> AddLossOf(GraphBuilder& builder, const OperatorPtr& op,
                             const std::vector<int>& inputs) {
  const absl::StatusOr<std::vector<int>> outputs = builder.Add(op, inputs);
  if (!outputs.ok()) return std::nullopt;
  Composition c(builder);
  std::optional<int> loss;
  for (const int output : *outputs) {
    if (!IsFloat(c.type(output).dtype)) continue;
    const int sum = c.Converted(c.SummedTo(output, {1}), DType::kFloat32);
    loss = loss ? c.Apply(ScalarFunction::kAdd, {*loss, sum}) : sum;
  }
  return loss;
}

// A gradient has the dtype of its input, for all dtypes.
TEST(Gradient, OfEveryDTypeHasThatDType) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const Family add : kFamilies) {
      GradientCases cases(1);
      add(cases);
      for (const GradientCase& test : cases.all()) {
        SCOPED_TRACE(
            absl::StrCat(Name(dtype), " ", test.op->type(), " ", ToString(test.op->params())));
        GraphBuilder builder;
        std::vector<int> inputs, wrt;
        for (const HostTensor& input : test.inputs) {
          inputs.push_back(input.dtype() == DType::kFloat64
                               ? AddInput(builder, input.shape(), dtype)
                               : Value(builder.Add(Operators().MakeConstant(input), {}))[0]);
          if (input.dtype() == DType::kFloat64) wrt.push_back(inputs.back());
        }
        const std::optional<int> loss = AddLossOf(builder, test.op, inputs);
        if (!loss) continue;
        const auto gradients = Differentiate(builder, *loss, wrt, Operators());
        ASSERT_TRUE(IsOk(gradients.status()));
        for (size_t i = 0; i < wrt.size(); ++i) {
          if (!(*gradients)[i]) continue;
          EXPECT_EQ(builder.graph().var(*(*gradients)[i]).type.ToString(),
                    builder.graph().var(wrt[i]).type.ToString());
        }
      }
    }
  }
}

// y = 2 x, with a wrong rule that says 3.
class Misjudged final : public OperatorWithParam<NoParam> {
 public:
  ASHLAR_OPERATOR("Misjudged", "misjudged")
  absl::Status Gradient(GradientContext& context) const override {
    Gradients g(context);
    g.Set(0, g.Apply(ScalarFunction::kMul, {g.of(), g.Constant(DType::kFloat64, 3)}));
    return std::move(g).Finish();
  }
};

absl::StatusOr<std::vector<TensorType>> Misjudged::Infer(absl::Span<const InputInfo> inputs) const {
  return std::vector<TensorType>{inputs[0].type};
}

absl::StatusOr<std::vector<HostTensor>> Misjudged::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  return Elemwise({ScalarFunction::kAdd}).Evaluate({inputs[0], inputs[0]});
}

TEST(Gradient, AWrongRuleIsFound) {
  GradientCases cases(1);
  for (const bool skip_kinks : {false, true}) {
    GradcheckOptions options;
    options.skip_kinks = skip_kinks;
    EXPECT_FALSE(GradientsAgree(std::make_shared<const Misjudged>(NoParam()),
                                {cases.Smooth({2, 3})}, cases.random(), options));
  }
}

TEST(Gradient, EveryOperatorHasCasesOrIsListed) {
  std::set<std::string> checked;
  for (const Family add : kFamilies) {
    GradientCases cases(1);
    add(cases);
    for (const GradientCase& test : cases.all()) checked.emplace(test.op->type());
  }
  for (const OperatorRow& row : OperatorRows()) {
    EXPECT_NE(checked.count(row.type) == 1, WithoutGradient().count(row.type) == 1)
        << row.type << " has cases of its gradient, or is listed as having none";
  }
}

TEST(Gradient, EveryScalarFunctionHasOneOrIsListed) {
  const std::set<std::string> without = {"SILU_GRAD", "GELU_GRAD", "GELU_TANH_GRAD", "MISH_GRAD"};
  for (size_t m = 0; m < kNumScalarFunctions; ++m) {
    const ScalarRow& row = RowOf(static_cast<ScalarFunction>(m));
    for (int i = 0; i < row.arity; ++i) {
      EXPECT_EQ(row.gradients[i] == nullptr, without.count(row.name) == 1) << row.name;
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
