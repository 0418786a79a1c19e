#include "opr/subtensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "opr/base/host_value.h"
#include "opr/table.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct Cut {
  int64_t axis = 0;
  std::optional<int64_t> begin = {}, end = {}, step = {}, idx = {};
};

SubtensorParam ParamOf(const std::vector<Cut>& cuts) {
  SubtensorParam param;
  for (const Cut& cut : cuts) {
    param.axis.push_back(cut.axis);
    param.begin.push_back(cut.begin.has_value());
    param.end.push_back(cut.end.has_value());
    param.step.push_back(cut.step.has_value());
    param.idx.push_back(cut.idx.has_value());
  }
  return param;
}

std::vector<HostTensor> InputsOf(const HostTensor& x, const std::vector<Cut>& cuts) {
  std::vector<HostTensor> inputs = {x};
  for (const Cut& cut : cuts) {
    for (const auto& bound : {cut.begin, cut.end, cut.step, cut.idx}) {
      if (bound) inputs.push_back(Int64Vector({*bound}));
    }
  }
  return inputs;
}

// Returns the indices of a Python slice, found by walking.
std::vector<int64_t> Taken(const Cut& cut, int64_t size) {
  if (cut.idx) return {*cut.idx < 0 ? *cut.idx + size : *cut.idx};
  const int64_t step = cut.step.value_or(1);
  const auto wrap = [&](int64_t bound) { return bound < 0 ? bound + size : bound; };
  const int64_t begin = cut.begin ? wrap(*cut.begin) : step > 0 ? 0 : size - 1;
  const int64_t end = cut.end ? wrap(*cut.end) : step > 0 ? size : -1;
  std::vector<int64_t> taken;
  if (step > 0) {
    for (int64_t i = std::max<int64_t>(begin, 0); i < end && i < size; i += step)
      taken.push_back(i);
  } else {
    for (int64_t i = std::min(begin, size - 1); i > end && i >= 0; i += step) taken.push_back(i);
  }
  return taken;
}

Cut RandomCut(Random& random, int axis, const Shape& shape, bool drops) {
  const int64_t size = shape[axis];
  Cut cut{Pick(random, 0, 1) == 0 ? axis : axis - shape.rank()};
  if (drops) {
    cut.idx = Pick(random, -size, size - 1);
    return cut;
  }
  if (Pick(random, 0, 1)) cut.begin = Pick(random, -size - 2, size + 2);
  if (Pick(random, 0, 1)) cut.end = Pick(random, -size - 2, size + 2);
  if (Pick(random, 0, 1)) cut.step = Pick(random, 0, 1) ? Pick(random, 1, 3) : -Pick(random, 1, 3);
  return cut;
}

TEST(Subtensor, RandomCuts) {
  ForSeeds(300, [](int, Random& random) {
    const DType dtype = kPlainDTypes[Pick(random, 0, std::size(kPlainDTypes) - 1)];
    const HostTensor x = RandomTensor(random, dtype, RandomShape(random, 1, 4, 5), -100, 100);
    std::vector<Cut> cuts;
    std::vector<std::vector<int64_t>> taken;
    Shape shape;
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
      const int64_t size = x.shape()[axis];
      const Cut cut = RandomCut(random, axis, x.shape(), Pick(random, 0, 3) == 0);
      taken.push_back(Taken(cut, size));
      if (!cut.idx) shape.push_back(static_cast<int64_t>(taken.back().size()));
      cuts.push_back(cut);
    }
    const HostTensor y = Evaluate(Subtensor(ParamOf(cuts)), InputsOf(x, cuts));
    ASSERT_EQ(y.shape(), shape);
    std::vector<double> expected;
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      const std::vector<int64_t> index = IndexOf(i, shape);
      std::vector<int64_t> from;
      size_t next = 0;
      for (size_t axis = 0; axis < cuts.size(); ++axis) {
        from.push_back(taken[axis][cuts[axis].idx ? 0 : index[next++]]);
      }
      expected.push_back(x.At(OffsetOf(from, x.shape())));
    }
    EXPECT_TRUE(Near(y, expected, 0));
    // If it says that it is a view, the bytes must be there.
    const std::vector<HostTensor> inputs = InputsOf(x, cuts);
    const std::optional<Aliasing::View> view =
        testing::ViewOf(Subtensor(ParamOf(cuts)), {InfosOf(inputs), {{dtype, shape}}});
    if (view && y.num_elements() > 0) {
      EXPECT_EQ(view->input, 0);
      EXPECT_EQ(0,
                std::memcmp(static_cast<const char*>(x.raw()) + view->offset, y.raw(), y.bytes()));
    }
  });
}

// Exporters cut rows and columns one after another. Regression: in YOLOX's first operators, every
// tensor of half of the rows took twice the memory of its result.
TEST(Subtensor, TakesABoxOfItsBoxIn) {
  ForSeeds(300, [](int, Random& random) {
    const HostTensor x =
        RandomTensor(random, DType::kInt32, RandomShape(random, 1, 4, 9), -100, 100);
    std::vector<Cut> outer, inner;
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
      outer.push_back(RandomCut(random, axis, x.shape(), false));
    }
    const Subtensor first(ParamOf(outer));
    const std::vector<HostTensor> first_inputs = InputsOf(x, outer);
    const HostTensor box = Evaluate(first, first_inputs);
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
      const bool drops = box.shape()[axis] > 0 && Pick(random, 0, 3) == 0;
      inner.push_back(RandomCut(random, axis, box.shape(), drops));
    }
    const Subtensor second(ParamOf(inner));
    const std::vector<HostTensor> second_inputs = InputsOf(box, inner);
    const std::optional<Replacement> both =
        first.Absorb(InfosOf(first_inputs), {second, 0, InfosOf(second_inputs)});
    ASSERT_TRUE(both.has_value());
    std::vector<HostTensor> operands = {x};
    for (size_t i = 1; i < both->operands.size(); ++i) {
      operands.push_back(both->operands[i].constant);
    }
    const HostTensor expected = Evaluate(second, second_inputs);
    const HostTensor y = Evaluate(*both->op, operands);
    ASSERT_EQ(y.shape(), expected.shape());
    EXPECT_TRUE(Near(y, Values(expected), 0));
  });
}

TEST(Subtensor, BoundsAtTheEdgeOfTheIntegers) {
  const HostTensor x = HostTensor::FromValues<float>(DType::kFloat32, {3}, {1, 2, 3});
  const struct {
    Cut cut;
    std::vector<double> expected;
  } kCases[] = {
      {{0, kMin, kMax, {}, {}}, {1, 2, 3}}, {{0, kMax, kMin, {}, {}}, {}},
      {{0, kMax, kMin, -1, {}}, {3, 2, 1}}, {{0, {}, {}, kMax, {}}, {1}},
      {{0, {}, {}, kMin, {}}, {3}},         {{0, kMin, {}, kMin, {}}, {}},
      {{0, kMin, kMax, kMax, {}}, {1}},
  };
  for (const auto& c : kCases) {
    EXPECT_TRUE(Near(Evaluate(Subtensor(ParamOf({c.cut})), InputsOf(x, {c.cut})), c.expected, 0));
  }
}

TEST(Subtensor, RefusesWhatItCannotCompute) {
  const HostTensor x = HostTensor::Zeros(DType::kFloat32, {3, 4});
  const struct {
    std::vector<Cut> cuts;
    const char* error;
  } kCases[] = {
      {{{0, {}, {}, 0, {}}}, "axis 0: step is 0"},
      {{{1, {}, {}, {}, 4}}, "axis 1: idx 4 is out of range for size 4"},
      {{{1, {}, {}, {}, -5}}, "idx -5 is out of range"},
      {{{1, {}, {}, {}, kMin}}, "is out of range for size 4"},
      {{{2, 0, {}, {}, {}}}, "axis 2 is out of range for a tensor of rank 2"},
      {{{0, 0, {}, {}, {}}, {-2, 1, {}, {}, {}}}, "axis 0 is cut twice"},
      {{{0, 1, {}, {}, 1}}, "axis 0: idx excludes begin, end and step"},
  };
  for (const auto& c : kCases) {
    const std::vector<HostTensor> inputs = InputsOf(x, c.cuts);
    EXPECT_TRUE(FailsWith(Subtensor(ParamOf(c.cuts)).Infer(InfosOf(inputs)).status(), c.error));
  }
  const InputInfo x_info = InfoOf(x);
  const HostTensor two = Int64Vector({0, 1});
  const HostTensor real = HostTensor::Zeros(DType::kFloat32, {1});
  const Subtensor op(ParamOf({{0, 0, {}, {}, {}}}));
  EXPECT_TRUE(FailsWith(op.Infer({x_info}).status(), "one for each bound"));
  EXPECT_TRUE(FailsWith(op.Infer({x_info, InfoOf(two)}).status(), "begin has 2 elements"));
  EXPECT_TRUE(FailsWith(op.Infer({x_info, InfoOf(real)}).status(), "expected Int32 or Int64"));
  EXPECT_TRUE(FailsWith(op.Infer({}).status(), "0 inputs"));
  EXPECT_TRUE(FailsWith(op.Infer({x_info, {{DType::kInt64, {1}}}}).status(), "known before"));
  EXPECT_TRUE(FailsWith(Subtensor({{0}, {2}, {0}, {0}, {0}}).Infer({x_info}).status(),
                        "parameter begin holds 2, expected 0 or 1"));
  EXPECT_TRUE(
      FailsWith(Subtensor({{0}, {}, {0}, {0}, {0}}).Infer({x_info}).status(), "differ in length"));
}

std::optional<Aliasing::View> ViewOfCuts(const TensorType& x, const std::vector<Cut>& cuts) {
  const std::vector<HostTensor> inputs = InputsOf(HostTensor::ShapeOnly(x.dtype, x.shape), cuts);
  std::vector<InputInfo> infos = InfosOf(inputs);
  infos[0] = {x};
  const Subtensor op(ParamOf(cuts));
  TensorType y = (*op.Infer(infos))[0];
  if (y.shape.rank() == 4) y.format = x.format;
  return testing::ViewOf(op, {infos, {y}});
}

TEST(Subtensor, IsAViewOfOneRun) {
  const TensorType x{DType::kFloat32, {4, 6, 5}};
  EXPECT_EQ(ViewOfCuts(x, {{0, 1, 3, {}, {}}})->offset, 1 * 30 * 4);
  EXPECT_EQ(ViewOfCuts(x, {{0, {}, {}, {}, 2}})->offset, 2 * 30 * 4);
  EXPECT_EQ(ViewOfCuts(x, {{0, 1, 2, {}, {}}, {1, 2, 4, {}, {}}})->offset, (30 + 10) * 4);
  EXPECT_FALSE(ViewOfCuts(x, {{1, 2, 4, {}, {}}}));
  EXPECT_FALSE(ViewOfCuts(x, {{0, {}, {}, 2, {}}}));
  EXPECT_FALSE(ViewOfCuts(x, {{0, {}, {}, -1, {}}}));
  EXPECT_TRUE(ViewOfCuts(x, {{0, {}, {}, 4, {}}}));  // one element
}

TEST(Subtensor, IsAViewOfWholeChannelBlocks) {
  const TensorType x{DType::kFloat32, {2, 40, 3, 5}, Format::kNCHW16c};
  const TensorType one{DType::kFloat32, {1, 40, 3, 5}, Format::kNCHW16c};
  EXPECT_EQ(ViewOfCuts(x, {{0, 1, {}, {}, {}}})->offset, 48 * 15 * 4);
  EXPECT_EQ(ViewOfCuts(one, {{1, 16, 32, {}, {}}})->offset, 16 * 15 * 4);
  EXPECT_EQ(ViewOfCuts(one, {{1, 16, {}, {}, {}}})->offset,
            16 * 15 * 4);                              // to the end, partial block
  EXPECT_FALSE(ViewOfCuts(x, {{1, 16, 32, {}, {}}}));  // in two images
  EXPECT_FALSE(ViewOfCuts(one, {{1, 8, 24, {}, {}}}));
  EXPECT_FALSE(ViewOfCuts(one, {{1, 0, 8, {}, {}}}));
  EXPECT_FALSE(ViewOfCuts(one, {{2, 1, 2, {}, {}}}));
}

// Expects that neither these channels nor columns are views.
void ExpectOnlyRowsAreViews(const TensorType& image, int64_t offset_of_row_1, const Cut& channels) {
  EXPECT_EQ(ViewOfCuts(image, {{2, 1, 3, {}, {}}})->offset, offset_of_row_1);
  EXPECT_FALSE(ViewOfCuts(image, {channels}));
  EXPECT_FALSE(ViewOfCuts(image, {{3, 1, 2, {}, {}}}));
}

TEST(Subtensor, IsAViewOfRowsWhereTheyAreContiguous) {
  const TensorType one{DType::kFloat32, {1, 40, 3, 5}, Format::kNHCW16c};
  ExpectOnlyRowsAreViews(one, 48 * 5 * 4, {1, 16, 32, {}, {}});
  const TensorType two{DType::kFloat32, {2, 40, 3, 5}, Format::kNHCW16c};
  EXPECT_FALSE(ViewOfCuts(two, {{2, 1, 3, {}, {}}}));
}

TEST(Subtensor, IsAViewOfRowsWithChannelsLast) {
  const TensorType one{DType::kFloat32, {1, 7, 3, 5}, Format::kNHWC};
  ExpectOnlyRowsAreViews(one, 5 * 7 * 4, {1, 0, 3, {}, {}});
}

TEST(Subtensor, KeepsOneAxisWhereRankIsAtLeastOne) {
  const std::vector<Cut> cuts = {{0, {}, {}, {}, -1}};
  SubtensorParam param = ParamOf(cuts);
  param.min_rank = 1;
  const HostTensor x = HostTensor::FromValues<int32_t>(DType::kInt32, Shape{3}, {5, 6, 7});
  const HostTensor y = Evaluate(Subtensor(param), InputsOf(x, cuts));
  EXPECT_EQ(y.shape(), Shape{1});
  EXPECT_EQ(y.At(0), 7);
  EXPECT_TRUE(IsOk(Operators().Make("Subtensor", Subtensor(param).params()).status()));
  param.min_rank = 2;
  const std::vector<HostTensor> inputs = InputsOf(x, cuts);
  EXPECT_TRUE(FailsWith(Subtensor(param).Infer(InfosOf(inputs)).status(), "min_rank is 2"));
}

TEST(Subtensor, ParametersTravel) {
  const Subtensor op(ParamOf({{0, 1, {}, 2, {}}, {-1, {}, {}, {}, 0}}));
  EXPECT_EQ(ToString(op.params()), "axis=[0,-1] begin=[1,0] end=[0,0] step=[1,0] idx=[0,1]");
  EXPECT_TRUE(IsOk(Operators().Make("Subtensor", op.params()).status()));
}

}  // namespace
}  // namespace ashlar::testing
