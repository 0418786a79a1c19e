// Moves movements of elements after pointwise operators: opposite ones cancel, the others stay.
#include "opr/concat.h"
#include "opr/convolution3d.h"
#include "opr/dimshuffle.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "tests/graph/passes/pass_test.h"

namespace ashlar::testing {
namespace {

using ::testing::ElementsAre;

class SinkMovementsTest : public PassTest {
 protected:
  int Turn(int x, std::vector<int64_t> axes) {
    return make_.Add<Dimshuffle>({std::move(axes)}, {x});
  }
  int Reshaped(int x, const std::vector<int64_t>& shape, ReshapeParam param = {}) {
    const int64_t rank = static_cast<int64_t>(shape.size());
    return make_.Add<Reshape>(
        param, {x, make_.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {rank}, shape))});
  }
  // Returns the types of the operators that compute, after comparing the outputs.
  std::vector<std::string> Sunk(int output) {
    make_.Output(output);
    const Graph before = std::move(make_).Build();
    const Graph after = Value(SinkMovements(before, Operators()));
    ExpectSameOutputs(before, after, RandomTensor(random_, {2, 3, 4, 5}), 0);
    return ComputingTypes(after);
  }

  int x_ = make_.Input("x", {2, 3, 4, 5});
};

TEST_F(SinkMovementsTest, OppositeOnesGoAway) {
  const int y = Elem(ScalarFunction::kRelu, {Turn(x_, {0, 2, 3, 1})});
  EXPECT_THAT(Sunk(Turn(y, {0, 3, 1, 2})), ElementsAre("Elemwise"));
}

TEST_F(SinkMovementsTest, ConstantsAlongAnAxisGoBack) {
  int y = Turn(x_, {0, 2, 3, 1});
  y = Elem(ScalarFunction::kAdd, {y, Random({3})});
  y = Elem(ScalarFunction::kMul, {Random({1, 4, 1, 1}), y});
  y = Elem(ScalarFunction::kSub, {y, Random({1})});
  EXPECT_THAT(Sunk(Turn(y, {0, 3, 1, 2})), ElementsAre("Elemwise", "Elemwise", "Elemwise"));
}

TEST_F(SinkMovementsTest, ReshapesInBetweenGoAwayToo) {
  int y = Turn(Reshaped(x_, {2, 3, 20}), {2, 0, 1});
  y = Elem(ScalarFunction::kAdd, {y, Random({3})});
  y = Reshaped(Turn(y, {1, 2, 0}), {2, 3, 4, 5});
  EXPECT_THAT(Sunk(y), ElementsAre("Elemwise"));
}

TEST_F(SinkMovementsTest, SumsOfWhatMovesAlikeAreMovedOnce) {
  const int a = Elem(ScalarFunction::kRelu, {Turn(x_, {0, 2, 3, 1})});
  const int b = Elem(ScalarFunction::kExp, {Turn(x_, {0, 2, 3, 1})});
  EXPECT_THAT(Sunk(Elem(ScalarFunction::kAdd, {a, b})),
              ElementsAre("Elemwise", "Elemwise", "Elemwise", "Dimshuffle"));
}

// Without a gain, the graph stays as it was.
TEST_F(SinkMovementsTest, WhatDoesNotMeetItsOppositeStays) {
  const int turned = Turn(x_, {0, 2, 3, 1});
  EXPECT_THAT(Sunk(Elem(ScalarFunction::kRelu, {turned})), ElementsAre("Dimshuffle", "Elemwise"));
}

TEST_F(SinkMovementsTest, ConstantsOfSeveralAxesKeepTheirPlace) {
  int y = Turn(x_, {0, 2, 3, 1});
  y = Elem(ScalarFunction::kAdd, {y, Random({4, 5, 3})});
  EXPECT_THAT(Sunk(Turn(y, {0, 3, 1, 2})), ElementsAre("Dimshuffle", "Elemwise", "Dimshuffle"));
}

// An axis that a reshape has split or joined is no axis of its input.
TEST_F(SinkMovementsTest, ConstantsOfJoinedAxesKeepTheirPlace) {
  int y = Turn(Reshaped(x_, {2, 3, 20}), {2, 0, 1});
  y = Elem(ScalarFunction::kAdd, {y, Random({20, 1, 1})});
  y = Reshaped(Turn(y, {1, 2, 0}), {2, 3, 4, 5});
  EXPECT_THAT(Sunk(y), ElementsAre("Reshape", "Dimshuffle", "Elemwise", "Dimshuffle", "Reshape"));
}

TEST_F(SinkMovementsTest, OtherReadersSeeTheElementsMoved) {
  const int turned = Turn(x_, {0, 2, 3, 1});
  const int relu = Elem(ScalarFunction::kRelu, {turned});
  make_.Output(make_.Add<Reduce>({ReduceMode::kSum, {-1}}, {relu}));
  EXPECT_THAT(Sunk(Turn(relu, {0, 3, 1, 2})), ElementsAre("Elemwise", "Dimshuffle", "Reduce"));
}

// An axis dropped before a reshape is not the axis that a pattern names after it.
TEST_F(SinkMovementsTest, ViewsOfAPatternStayBehindReshapes) {
  int y = Turn(x_, {0, 2, 3, 1});
  y = Reshaped(y, {8, 1, 15});
  y = make_.Add<Dimshuffle>({{0, 2}}, {y});
  y = Elem(ScalarFunction::kRelu, {y});
  y = Turn(Reshaped(y, {2, 4, 5, 3}), {0, 3, 1, 2});
  EXPECT_THAT(Sunk(y), ElementsAre("Elemwise"));
}

// The number of images that the reshape follows differs from the tensor's before another reshape.
TEST_F(SinkMovementsTest, AReshapeThatFollowsItsInputKeepsIt) {
  int y = make_.Add<Reduce>({ReduceMode::kSum, {-1}}, {Reshaped(x_, {6, 4, 5})});
  y = Elem(ScalarFunction::kRelu, {Turn(Reshaped(y, {2, 12}), {1, 0})});
  y = Reshaped(Turn(y, {1, 0}), {-1, 3, 4}, {.follows = true});
  EXPECT_THAT(Sunk(y), ElementsAre("Reshape", "Reduce", "Elemwise", "Reshape", "Reshape"));
}

// A permutation of dimensions of size 1 keeps the order too, but changes the shape.
TEST_F(SinkMovementsTest, PermutationsThatKeepTheOrderKeepTheirInput) {
  int y = make_.Add<Reduce>({ReduceMode::kSum, {-1}}, {Reshaped(x_, {6, 4, 5})});
  y = Turn(Reshaped(y, {-1, 1, 4}, {.follows = true}), {1, 0, 2});
  y = Turn(Elem(ScalarFunction::kRelu, {Turn(y, {0, 2, 1})}), {0, 2, 1});
  EXPECT_THAT(Sunk(y), ElementsAre("Reshape", "Reduce", "Elemwise", "Reshape", "Dimshuffle"));
}

TEST_F(SinkMovementsTest, BetweenConvolutionsOfVolumesNothingMoves) {
  int y = Reshaped(x_, {1, 2, 3, 4, 5});
  for (int layer = 0; layer < 2; ++layer) {
    Convolution3DParam same;
    same.pad_d = same.pad_h = same.pad_w = 1;
    y = make_.Add<Convolution3DForward>(same, {y, Random({2, 2, 3, 3, 3}), Random({2})});
    y = Elem(ScalarFunction::kRelu, {y});
  }
  make_.Output(y);
  const Graph before = Value(Compose(std::move(make_).Build(), [](const Operator& op) {
    return op.type() != Convolution3DForward::kType;
  }));
  const Graph after = Value(SinkMovements(before, Operators()));
  ExpectSameOutputs(before, after, RandomTensor(random_, {2, 3, 4, 5}), 0);
  const std::vector<std::string> types = ComputingTypes(after);
  EXPECT_EQ(std::count(types.begin(), types.end(), "Dimshuffle"), 2);
}

TEST_F(SinkMovementsTest, RandomChainsComputeTheSame) {
  for (int run = 0; run < 300; ++run) {
    SCOPED_TRACE(run);
    GraphMaker make;
    std::vector<int> vars = {make.Input("x", {2, 3, 4, 5})};
    for (int i = 0; i < 8; ++i) {
      const int x = vars[random_() % vars.size()];
      const Shape shape = make.var(x).type.shape;
      std::vector<int64_t> axes(shape.rank());
      for (size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = static_cast<int64_t>(axis);
      std::shuffle(axes.begin(), axes.end(), random_);
      switch (random_() % 5) {
        case 0:
        case 1:
          vars.push_back(make.Add<Dimshuffle>({axes}, {x}));
          break;
        case 2: {
          const std::vector<int64_t> shapes[] = {
              {2, 3, 4, 5}, {6, 20}, {1, 120}, {4, 5, 1, 6}, {2, 3, 20}};
          const std::vector<int64_t>& to = shapes[random_() % 5];
          vars.push_back(make.Add<Reshape>(
              {}, {x, make.Constant(HostTensor::FromValues<int64_t>(
                          DType::kInt64, {static_cast<int64_t>(to.size())}, to))}));
          break;
        }
        case 3: {
          Shape along;
          const int axis = static_cast<int>(random_() % shape.rank());
          for (int k = 0; k < shape.rank(); ++k) along.push_back(k == axis ? shape[k] : 1);
          vars.push_back(make.Add<Elemwise>({ScalarFunction::kAdd},
                                            {x, make.Constant(RandomTensor(random_, along))}));
          break;
        }
        default:
          vars.push_back(make.Add<Elemwise>({ScalarFunction::kRelu}, {x}));
      }
    }
    make.Output(vars.back());
    const Graph before = std::move(make).Build();
    const Graph after = Value(SinkMovements(before, Operators()));
    ExpectSameOutputs(before, after, RandomTensor(random_, {2, 3, 4, 5}), 0);
  }
}

}  // namespace
}  // namespace ashlar::testing
