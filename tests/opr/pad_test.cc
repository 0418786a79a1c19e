#include "opr/pad.h"

#include <gtest/gtest.h>

#include "opr/base/host_value.h"
#include "tests/opr/parts.h"
#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

HostTensor Line(std::vector<float> values) {
  return HostTensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(values.size())},
                                       values);
}

OperatorPtr MakePad(PadMode mode, std::vector<int64_t> begin, std::vector<int64_t> end,
                    double value = 0) {
  return std::make_shared<const Pad>(PadParam{mode, std::move(begin), std::move(end), value});
}

TEST(Pad, EachModeFillsAsItSays) {
  const struct {
    PadMode mode;
    int64_t begin, end;
    std::vector<double> expected;
  } kRows[] = {
      {PadMode::kConstant, 2, 1, {9, 9, 1, 2, 3, 9}},
      {PadMode::kEdge, 2, 1, {1, 1, 1, 2, 3, 3}},
      {PadMode::kReflect, 2, 1, {3, 2, 1, 2, 3, 2}},
      {PadMode::kReflect, 5, 0, {2, 1, 2, 3, 2, 1, 2, 3}},  // reflected repeatedly
      {PadMode::kWrap, 2, 4, {2, 3, 1, 2, 3, 1, 2, 3, 1}},
      {PadMode::kConstant, -1, 1, {2, 3, 9}},
      {PadMode::kEdge, -1, 1, {2, 3, 3}},  // cropping comes first
      {PadMode::kReflect, 1, -1, {2, 1, 2}},
      {PadMode::kWrap, 1, -1, {2, 1, 2}},
      {PadMode::kConstant, -3, 2, {9, 9}},
  };
  for (const auto& row : kRows) {
    const OperatorPtr op = MakePad(row.mode, {row.begin}, {row.end}, 9);
    EXPECT_TRUE(Near(Evaluate(*op, {Line({1, 2, 3})}), row.expected, 0)) << ToString(op->params());
  }
}

// Padding several dimensions equals padding one after another.
TEST(Pad, DimensionsAreIndependent) {
  ForSeeds(80, [&](int seed, Random& random) {
    const auto mode = static_cast<PadMode>(seed % 4);
    const HostTensor x = RandomTensor(random, RandomShape(random, 2, 4, 5));
    const auto rank = static_cast<size_t>(x.shape().rank());
    std::vector<int64_t> begin, end;
    for (size_t i = 0; i < rank; ++i) {
      begin.push_back(Pick(random, 0, 6));
      end.push_back(Pick(random, x.shape()[static_cast<int>(i)] > 1 ? -1 : 0, 6));
    }
    HostTensor expected = x;
    for (size_t i = 0; i < rank; ++i) {
      std::vector<int64_t> one_begin(rank, 0), one_end(rank, 0);
      one_begin[i] = begin[i];
      one_end[i] = end[i];
      expected = Evaluate(*MakePad(mode, one_begin, one_end, 3), {expected});
    }
    EXPECT_TRUE(Near(Evaluate(*MakePad(mode, begin, end, 3), {x}), expected, 0));
  });
}

TEST(Pad, KeepsEveryBitOfIntegers) {
  const int64_t large = (int64_t{1} << 60) + 1;
  const HostTensor x = HostTensor::FromValues<int64_t>(DType::kInt64, {2}, {large, -large});
  const HostTensor y = Evaluate(*MakePad(PadMode::kEdge, {1}, {1}), {x});
  EXPECT_EQ(y.data<int64_t>()[0], large);
  EXPECT_EQ(y.data<int64_t>()[3], -large);
}

TEST(Pad, PartsAreThoseOfTheWhole) {
  ForSeeds(200, [](int, Random& random) {
    const HostTensor x =
        RandomTensor(random, DType::kFloat32, {1, 2, Pick(random, 1, 8), Pick(random, 1, 8)});
    PadParam param{PadMode::kConstant, {0, 0, 0, 0}, {0, 0, 0, 0}, 5};
    for (int axis : {2, 3}) {
      param.begin[axis] = Pick(random, -2, 6);
      param.end[axis] = Pick(random, -1, 6);
    }
    const Pad op(param);
    if (!op.Infer({InfoOf(x)}).ok()) return;
    const HostTensor whole = Evaluate(op, {x});
    if (whole.num_elements() == 0) return;
    ExpectPartOfTheWhole(random, op, {x}, whole, RandomPart(random, op, {x}, whole), 2);
  });
}

TEST(Pad, OnlyConstantsHaveParts) {
  const OwnedSite site{{{{DType::kFloat32, {1, 1, 4, 4}}}}, {{DType::kFloat32, {1, 1, 4, 6}}}};
  const Region part = {{0, 1}, {0, 1}, {0, 2}, {0, 6}};
  EXPECT_TRUE(Pad({PadMode::kConstant, {0, 0, 0, 1}, {0, 0, 0, 1}}).InputRegions(part, site));
  EXPECT_FALSE(Pad({PadMode::kReflect, {0, 0, 0, 1}, {0, 0, 0, 1}}).InputRegions(part, site));
}

TEST(Pad, RefusesWhatItCannotCompute) {
  ExpectRejected({
      {MakePad(PadMode::kConstant, {1}, {1}), {}, "0 inputs, expected 1"},
      {MakePad(PadMode::kConstant, {1}, {1}), {{2, 3}}, "padding of 1 and 1 dimensions"},
      {MakePad(PadMode::kConstant, {1, 0}, {1}), {{2, 3}}, "padding of 2 and 1 dimensions"},
      {MakePad(PadMode::kConstant, {-2}, {-2}), {{3}}, "takes away more than there are"},
      {MakePad(PadMode::kEdge, {1}, {0}), {{0}}, "repeats none"},
      {MakePad(PadMode::kReflect, {-3}, {1}), {{3}}, "repeats none"},
      {MakePad(PadMode::kConstant, {int64_t{1} << 50}, {0}), {{3}}, "at most"},
      {MakePad(PadMode::kConstant, {int64_t{1} << 39, 0}, {0, 0}), {{3, 5}}, "is larger than"},
  });
}

}  // namespace
}  // namespace ashlar::testing
