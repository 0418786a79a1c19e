// Recognises decomposed operators, and nothing that only looks similar.
#include <algorithm>
#include <cmath>
#include <functional>

#include "opr/concat.h"
#include "opr/convolution.h"
#include "opr/dimshuffle.h"
#include "opr/matrix_mul.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "tests/graph/passes/pass_test.h"

namespace ashlar::testing {
namespace {

using ::testing::Contains;
using ::testing::Not;
using F = ScalarFunction;

// Returns the types of the operators that compute; functions by their names.
std::vector<std::string> Names(const Graph& graph) {
  std::vector<std::string> names;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() != Role::kCompute) continue;
    const auto* const function = dynamic_cast<const Elemwise*>(node.op.get());
    names.emplace_back(function == nullptr ? node.op->type() : RowOf(function->param().mode).name);
  }
  return names;
}

class RecogniseTest : public PassTest {
 protected:
  static constexpr int64_t kRow = 6;

  void SetUp() override { Begin(); }
  void Begin() {
    make_ = GraphMaker();
    inner_.clear();
    constants_are_ = 1;
    x_ = make_.Input("x", {2, 3, 5, kRow});
  }

  bool Coin() { return random_() % 2 == 0; }
  // Adds an operator of a pattern.
  template <typename Op>
  int Inner(typename Op::Param param, std::vector<int> inputs) {
    inner_.push_back(make_.Add<Op>(std::move(param), std::move(inputs)));
    return inner_.back();
  }
  int Apply(ScalarFunction function, std::vector<int> inputs) {
    return Inner<Elemwise>({function}, std::move(inputs));
  }
  // Adds a function of these operands in either order.
  int Either(ScalarFunction function, int a, int b) {
    return Coin() ? Apply(function, {a, b}) : Apply(function, {b, a});
  }
  int Number(double value) {
    const Shape shapes[] = {{}, {1}, {1, 1, 1, 1}};
    HostTensor number = HostTensor::Zeros(DType::kFloat32, shapes[random_() % 3]);
    number.Set(0, value * constants_are_);
    return make_.Constant(std::move(number));
  }
  int Ints(const std::vector<int64_t>& values) {
    return make_.Constant(HostTensor::FromValues<int64_t>(
        DType::kInt64, {static_cast<int64_t>(values.size())}, values));
  }
  int Times(int x, double factor) {
    return Coin() ? Either(F::kMul, x, Number(factor))
                  : Apply(F::kTrueDiv, {x, Number(1 / factor / constants_are_ / constants_are_)});
  }
  int Mean(int x) {
    return Coin() ? Inner<Reduce>({ReduceMode::kMean, Coin() ? -1 : 3}, {x})
                  : Inner<Reduce>({ReduceMode::kMean}, {x, Ints({2, 3, 5, 1})});
  }

  // Adds one of the patterns, on a tensor of the input's shape.
  int LayerNorm(int x, bool scale, bool bias) {
    const int centred = Apply(F::kSub, {x, Mean(x)});
    const int also = Coin() ? centred : Apply(F::kSub, {x, Mean(x)});
    const int square = Coin() ? Apply(F::kMul, {also, also})
                              : Apply(F::kPow, {also, make_.Constant(HostTensor::FromValues<float>(
                                                          DType::kFloat32, {}, {2.f}))});
    const int deviation = Apply(F::kSqrt, {Either(F::kAdd, Mean(square), Number(1e-3))});
    int y = Coin() ? Apply(F::kTrueDiv, {centred, deviation})
                   : Either(F::kMul, centred,
                            Apply(F::kTrueDiv, {make_.Constant(HostTensor::FromValues<float>(
                                                    DType::kFloat32, {}, {1.f})),
                                                deviation}));
    const Shape row = Coin() ? Shape{kRow} : Shape{1, 1, 1, kRow};
    if (scale) y = Either(F::kMul, y, Random(row));
    if (bias) y = Either(F::kAdd, y, Random(row));
    return y;
  }
  int Gelu(int x) {
    const int erf = Apply(F::kErf, {Times(x, std::sqrt(0.5))});
    const int gate = Either(F::kAdd, erf, Number(1));
    switch (random_() % 3) {
      case 0:
        return Times(Either(F::kMul, x, gate), 0.5);
      case 1:
        return Either(F::kMul, Times(x, 0.5), gate);
      default:
        return Either(F::kMul, x, Times(gate, 0.5));
    }
  }
  // Adds x * x * x in one of the forms that exporters write.
  int Cube(int x) {
    if (Coin()) {
      return Apply(F::kPow,
                   {x, make_.Constant(HostTensor::FromValues<float>(DType::kFloat32, {}, {3.f}))});
    }
    return Either(F::kMul, x, Apply(F::kMul, {x, x}));
  }
  int GeluTanh(int x) {
    int argument;
    if (Coin()) {
      argument = Times(Either(F::kAdd, x, Times(Cube(x), 0.044715)), std::sqrt(2 / M_PI));
    } else {
      const int square = Times(Apply(F::kMul, {x, x}), 0.044715);
      argument = Either(F::kMul, Times(x, std::sqrt(2 / M_PI)), Either(F::kAdd, square, Number(1)));
    }
    const int gate = Either(F::kAdd, Apply(F::kTanh, {argument}), Number(1));
    return Coin() ? Times(Either(F::kMul, x, gate), 0.5) : Either(F::kMul, Times(x, 0.5), gate);
  }
  int Silu(int x) {
    const int gate = Apply(F::kSigmoid, {x});
    return Either(F::kMul, x, gate);
  }
  int Clipped(int x) {
    const int sum = Either(F::kAdd, x, Number(3));
    return Inner<Elemwise>({F::kClamp, {0, 6}}, {sum});
  }
  int HSwish(int x) {
    if (Coin()) {
      const int gate = Inner<Elemwise>({F::kHardSigmoid, {constants_are_ / 6, 0.5}}, {x});
      return Either(F::kMul, x, gate);
    }
    const int gate = Clipped(x);
    return Coin() ? Times(Either(F::kMul, x, gate), 1.0 / 6)
                  : Either(F::kMul, x, Times(gate, 1.0 / 6));
  }
  int HardSigmoid(int x) { return Times(Clipped(x), 1.0 / 6); }
  // Returns Where(IsNaN(x), 0, x), as PyTorch's exporter guards a softmax.
  int Guarded(int x) {
    const int same = Inner<TypeCvt>({DType::kBool}, {Apply(F::kEqual, {x, x})});
    const int zero = make_.Constant(HostTensor::Zeros(DType::kBool, {}));
    const int differ = Inner<TypeCvt>({DType::kFloat32}, {Apply(F::kEqual, {same, zero})});
    return Apply(F::kSelect, {differ, Number(0), x});
  }
  int AttentionOf(int x, bool mask, bool guard = false) {
    int queries = Random({2, 3, 5, kRow}), keys = x;
    bool transpose_b = false;
    if (Coin()) queries = Times(queries, 0.75);
    if (Coin()) keys = Times(keys, 0.5);
    if (Coin()) {
      keys = Inner<Dimshuffle>({{0, 1, 3, 2}}, {keys});
    } else if (Coin()) {  // heads after their keys, as a product gives them
      keys = make_.Add<Dimshuffle>({{0, 2, 1, 3}}, {keys});
      make_.Output(keys);
      keys = Inner<Dimshuffle>({{0, 2, 3, 1}}, {keys});
    } else if (Coin()) {  // batch and heads together
      keys = make_.Add<Reshape>({}, {keys, Ints({6, 5, kRow})});
      keys = Inner<Dimshuffle>({{0, 2, 1}}, {keys});
      keys = Inner<Reshape>({}, {keys, Ints({2, 3, kRow, 5})});
    } else {
      transpose_b = true;
    }
    MatrixMulParam by_keys;
    by_keys.transposeB = transpose_b;
    int scores = Inner<MatrixMul>(by_keys, {queries, keys});
    if (Coin()) scores = Times(scores, 0.25);
    if (mask) scores = Either(F::kAdd, scores, Random(Coin() ? Shape{5, 5} : Shape{2, 1, 5, 5}));
    int weights = Inner<Softmax>({Coin() ? -1 : 3}, {scores});
    if (guard) weights = Guarded(weights);
    return Inner<MatrixMul>({}, {weights, Random({2, 3, 5, 4})});
  }

  // Returns the rewritten graph that ends in `y`; expects the same outputs.
  Graph Rewritten(int y) {
    make_.Output(y);
    const Graph before = std::move(make_).Build();
    Graph after = Value(Recognise(before, Operators()));
    ExpectSameOutputs(before, after, RandomTensor(random_, {2, 3, 5, kRow}, -4, 4), 2e-5);
    return after;
  }

  int x_ = 0;
  std::vector<int> inner_;
  double constants_are_ = 1;  // a factor of the right constants
};

// Tries every form of a pattern, and each form with one thing wrong.
TEST_F(RecogniseTest, RandomGraphs) {
  const std::vector<std::pair<std::string, std::function<int()>>> patterns = {
      {"LayerNorm", [&] { return LayerNorm(x_, true, true); }},
      {"LayerNorm", [&] { return LayerNorm(x_, true, false); }},
      {"LayerNorm", [&] { return LayerNorm(x_, false, false); }},
      {"GELU", [&] { return Gelu(x_); }},
      {"GELU_TANH", [&] { return GeluTanh(x_); }},
      {"SILU", [&] { return Silu(x_); }},
      {"H_SWISH", [&] { return HSwish(x_); }},
      {"HARD_SIGMOID", [&] { return HardSigmoid(x_); }},
      {"Attention", [&] { return AttentionOf(x_, false); }},
      {"Attention", [&] { return AttentionOf(x_, true); }},
      {"Attention", [&] { return AttentionOf(x_, true, true); }},
  };
  for (int round = 0; round < 60; ++round) {
    for (const auto& [name, make] : patterns) {
      SCOPED_TRACE(absl::StrCat(name, ", round ", round));
      random_.seed(static_cast<uint64_t>(round));
      Begin();
      const Graph whole = Rewritten(make());
      if (name != "Attention") {
        EXPECT_THAT(Names(whole), ::testing::ElementsAre(name));
      } else {  // the scale of the keys may be applied to a tensor with other readers
        EXPECT_THAT(Names(whole), Contains(name));
        EXPECT_THAT(Names(whole), Not(Contains("Softmax")));
      }

      // The same with a second reader of the pattern's first tensor, on which the rest depends.
      random_.seed(static_cast<uint64_t>(round));
      Begin();
      const int y = make();
      const int first = inner_.front();
      if (Coin()) {
        make_.Output(first);
      } else {
        make_.Output(Elem(F::kAbs, {first}));
      }
      if (name != "Attention") {  // a scaled operand of Attention is outside of the pattern
        EXPECT_THAT(Names(Rewritten(y)), Not(Contains(name)));
      } else {
        Rewritten(y);
      }

      if (name != "GELU" && name != "GELU_TANH" && name != "H_SWISH" && name != "HARD_SIGMOID")
        continue;
      random_.seed(static_cast<uint64_t>(round));
      Begin();
      constants_are_ = 1.001;
      EXPECT_THAT(Names(Rewritten(make())), Not(Contains(name)));
    }
  }
}

TEST_F(RecogniseTest, APatternBehindAnother) {
  const Graph graph = Rewritten(Silu(LayerNorm(Gelu(x_), true, true)));
  EXPECT_THAT(Names(graph), ::testing::ElementsAre("GELU", "LayerNorm", "SILU"));
}

TEST_F(RecogniseTest, ABiasThatFitsNoRowStaysBehind) {
  const int y = LayerNorm(x_, true, false);
  const Graph graph = Rewritten(Elem(F::kAdd, {y, Random({5, 1})}));
  EXPECT_THAT(Names(graph), ::testing::ElementsAre("LayerNorm", "ADD"));
}

TEST_F(RecogniseTest, LeavesNormalisationAlongAnotherAxis) {
  const int mean = Inner<Reduce>({ReduceMode::kMean, 1}, {x_});
  const int centred = Apply(F::kSub, {x_, mean});
  const int variance = Inner<Reduce>({ReduceMode::kMean, 1}, {Apply(F::kMul, {centred, centred})});
  const int deviation = Apply(F::kSqrt, {Apply(F::kAdd, {variance, Number(1e-3)})});
  EXPECT_THAT(Names(Rewritten(Apply(F::kTrueDiv, {centred, deviation}))),
              Not(Contains("LayerNorm")));
}

TEST_F(RecogniseTest, LeavesTheVarianceOfSomethingElse) {
  const int centred = Apply(F::kSub, {x_, Mean(x_)});
  const int other = Elem(F::kAbs, {x_});
  const int deviation =
      Apply(F::kSqrt, {Apply(F::kAdd, {Mean(Apply(F::kMul, {other, other})), Number(1e-3)})});
  EXPECT_THAT(Names(Rewritten(Apply(F::kTrueDiv, {centred, deviation}))),
              Not(Contains("LayerNorm")));
}

TEST_F(RecogniseTest, LeavesAGateOfSomethingElse) {
  const int other = Elem(F::kAbs, {x_});
  EXPECT_THAT(Names(Rewritten(Elem(F::kMul, {x_, Elem(F::kSigmoid, {other})}))),
              ::testing::ElementsAre("ABS", "SIGMOID", "MUL"));
}

TEST_F(RecogniseTest, LeavesASoftmaxAlongAnotherAxis) {
  MatrixMulParam by_keys;
  by_keys.transposeB = true;
  const int scores = make_.Add<MatrixMul>(by_keys, {x_, x_});
  const int weights = make_.Add<Softmax>({2}, {scores});
  EXPECT_THAT(Names(Rewritten(make_.Add<MatrixMul>({}, {weights, x_}))),
              Not(Contains("Attention")));
}

// A row without visible keys is NaN in one form, and zeros in the other.
TEST_F(RecogniseTest, LeavesAMaskThatHidesKeys) {
  HostTensor mask = HostTensor::Zeros(DType::kFloat32, {5, 5});
  mask.Set(3, -INFINITY);
  MatrixMulParam by_keys;
  by_keys.transposeB = true;
  const int scores = make_.Add<MatrixMul>(by_keys, {x_, x_});
  const int weights =
      make_.Add<Softmax>({-1}, {Elem(F::kAdd, {scores, make_.Constant(std::move(mask))})});
  EXPECT_THAT(Names(Rewritten(make_.Add<MatrixMul>({}, {weights, x_}))),
              Not(Contains("Attention")));
}

// With a guard both forms are zeros, whatever the mask is.
TEST_F(RecogniseTest, AGuardedMaskMayHideKeysAndBeComputed) {
  HostTensor mask = HostTensor::Zeros(DType::kFloat32, {5, 5});
  for (int i = 0; i < 6; ++i) mask.Set(5 + i, -INFINITY);  // all of row 1, one key of row 2
  MatrixMulParam by_keys;
  by_keys.transposeB = true;
  const int scores = make_.Add<MatrixMul>(by_keys, {x_, x_});
  const int computed = Elem(F::kAdd, {make_.Constant(std::move(mask)), Mean(x_)});
  const int weights = make_.Add<Softmax>({-1}, {Elem(F::kAdd, {scores, computed})});
  const Graph graph = Rewritten(make_.Add<MatrixMul>({}, {Guarded(weights), x_}));
  EXPECT_THAT(Names(graph), Contains("Attention"));
  EXPECT_THAT(Names(graph), Not(Contains("Softmax")));
}

TEST_F(RecogniseTest, LeavesWhatTheDeviceHasNoKernelFor) {
  make_.Output(LayerNorm(x_, true, true));
  const Graph graph = std::move(make_).Build();
  const auto has_kernel = [](const Operator& op) { return op.type() != "LayerNorm"; };
  EXPECT_THAT(Names(Value(Recognise(graph, Operators(), has_kernel))), Not(Contains("LayerNorm")));
}

// Every way in which exporters reduce rows and columns of an image.
TEST_F(RecogniseTest, ReductionsOfImagesArePools) {
  const std::vector<std::pair<ReduceMode, std::string>> modes = {
      {ReduceMode::kSum, "PoolingRows"},
      {ReduceMode::kMax, "PoolingForward"},
      {ReduceMode::kMean, "PoolingForward"},
      {ReduceMode::kMin, ""}};
  using Ways = std::vector<std::function<int(ReduceMode, int)>>;
  const Ways ways = {
      [&](ReduceMode mode, int x) {
        return Inner<Reduce>({mode}, {x, Ints({-1, 3, 1, 1})});
      },
      [&](ReduceMode mode, int x) {
        return Inner<Reduce>({mode, -2}, {Inner<Reduce>({mode, 3}, {x})});
      },
      [&](ReduceMode mode, int x) {
        return Inner<Reduce>({mode, 3}, {Inner<Reduce>({mode, 2}, {x})});
      },
      [&](ReduceMode mode, int x) {  // without keepdims
        const int rows = Inner<Reshape>({}, {Inner<Reduce>({mode, 2}, {x}), Ints({2, 3, kRow})});
        return Inner<Reshape>({}, {Inner<Reduce>({mode, 2}, {rows}), Ints({2, 3})});
      },
      [&](ReduceMode mode, int x) {
        const int flat = Inner<Reshape>({}, {x, Ints({2, 3, 5 * kRow})});
        return Inner<Reduce>({mode, -1}, {flat});
      },
  };
  for (const auto& [mode, name] : modes) {
    for (size_t i = 0; i < ways.size(); ++i) {
      SCOPED_TRACE(absl::StrCat("mode ", static_cast<int>(mode), ", way ", i));
      for (const bool read_twice : {false, true}) {
        Begin();
        const int image = make_.Add<ConvolutionForward>({}, {x_, Random({3, 3, 1, 1})});
        const int y = ways[i](mode, Elem(F::kRelu, {image}));
        if (read_twice && y != inner_.front()) make_.Output(inner_.front());
        const std::vector<std::string> names = Names(Rewritten(y));
        const bool found = !name.empty() && (!read_twice || inner_.size() == 1);
        EXPECT_EQ(std::count(names.begin(), names.end(), name), found);
        EXPECT_EQ(std::count(names.begin(), names.end(), "Reduce") == 0, found);
      }
    }
  }
}

// Feature pyramids stack their levels to add them: a copy of all of them, four times an arena.
TEST_F(RecogniseTest, SumsOfStackedTensorsJoinNothing) {
  const std::vector<std::pair<ReduceMode, std::string>> modes = {
      {ReduceMode::kSum, "ADD"}, {ReduceMode::kMax, "MAX"}, {ReduceMode::kMean, ""}};
  for (const auto& [mode, name] : modes) {
    for (const int axis : {0, 2, 4}) {
      for (const size_t count : {2, 4}) {
        for (const bool read_twice : {false, true}) {
          SCOPED_TRACE(absl::StrCat(name, ", axis ", axis, ", ", count, " tensors"));
          Begin();
          std::vector<int64_t> shape = {2, 3, 5, kRow};
          shape.insert(shape.begin() + axis, 1);
          std::vector<int> stacked;
          for (size_t i = 0; i < count; ++i) {
            const int level = Apply(F::kAbs, {Either(F::kAdd, x_, Random({2, 3, 5, kRow}))});
            stacked.push_back(Inner<Reshape>({}, {level, Ints(shape)}));
          }
          const int joined = Inner<Concat>({axis}, stacked);
          if (read_twice) make_.Output(joined);
          const int sum = Inner<Reduce>({mode, axis}, {joined});
          const std::vector<std::string> names =
              Names(Rewritten(Inner<Reshape>({}, {sum, Ints({2, 3, 5, kRow})})));
          const bool found = !name.empty() && !read_twice;
          EXPECT_EQ(std::count(names.begin(), names.end(), "Concat"), !found);
          EXPECT_EQ(std::count(names.begin(), names.end(), "Reduce"), !found);
          const size_t others = name == "ADD" ? count : 0;
          if (found) {
            EXPECT_EQ(std::count(names.begin(), names.end(), name), others + count - 1);
          }
        }
      }
    }
  }
}

// The sum of larger tensors that are joined along an axis is of each one's rows as well.
TEST_F(RecogniseTest, LeavesSumsOfJoinedRows) {
  const int a = Apply(F::kAbs, {x_}), b = Apply(F::kExp, {x_});
  make_.Output(make_.Add<Reduce>({ReduceMode::kSum, 1}, {make_.Add<Concat>({1}, {a, b})}));
  const int along_another =
      make_.Add<Reduce>({ReduceMode::kSum, 1}, {make_.Add<Concat>({2}, {b, a})});
  const std::vector<std::string> names = Names(Rewritten(along_another));
  EXPECT_EQ(std::count(names.begin(), names.end(), "Reduce"), 2);
}

// Rows of other tensors, other axes, and different functions stay reductions.
TEST_F(RecogniseTest, LeavesOtherReductions) {
  const int image = make_.Add<ConvolutionForward>({}, {x_, Random({3, 3, 1, 1})});
  const auto reduce = [&](ReduceMode mode, int axis, int x) {
    return make_.Add<Reduce>({mode, axis}, {x});
  };
  make_.Output(make_.Add<Reduce>({ReduceMode::kMean}, {x_, Ints({-1, 3, 1, 1})}));
  make_.Output(reduce(ReduceMode::kMax, 3, image));
  make_.Output(reduce(ReduceMode::kMax, 2, reduce(ReduceMode::kMean, 3, image)));
  make_.Output(reduce(ReduceMode::kSum, 3, reduce(ReduceMode::kSum, 1, image)));
  make_.Output(reduce(ReduceMode::kSum, 1, Random({2, 3, 0})));
  const std::vector<std::string> names = Names(Rewritten(image));
  EXPECT_THAT(names, Not(Contains("PoolingForward")));
  EXPECT_THAT(names, Not(Contains("PoolingRows")));
}

}  // namespace
}  // namespace ashlar::testing
