#include "opr/concat.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/opr/seeds.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

OperatorPtr MakeConcat(int64_t axis) { return std::make_shared<const Concat>(ConcatParam{axis}); }

TEST(Concat, RandomParts) {
  ForSeeds(150, [](int, Random& random) {
    const DType dtype = kPlainDTypes[Pick(random, 0, std::size(kPlainDTypes) - 1)];
    const Shape first = RandomShape(random, 1, 4, 4);
    const int axis = static_cast<int>(Pick(random, 0, first.rank() - 1));
    std::vector<HostTensor> inputs;
    std::vector<InputInfo> infos;
    Shape shape = first;
    shape[axis] = 0;
    for (int64_t n = Pick(random, 1, 4); n > 0; --n) {
      Shape part = first;
      part[axis] = Pick(random, 0, 3);
      shape[axis] += part[axis];
      inputs.push_back(RandomTensor(random, dtype, part, -100, 100));
      infos.push_back({{dtype, part}});
    }
    const OperatorPtr op = MakeConcat(Pick(random, 0, 1) ? axis : axis - first.rank());
    const HostTensor y = Evaluate(*op, inputs);
    ASSERT_EQ(y.shape(), shape);
    std::vector<double> expected;
    for (int64_t i = 0; i < y.num_elements(); ++i) {
      std::vector<int64_t> index = IndexOf(i, shape);
      size_t part = 0;
      while (index[axis] >= inputs[part].shape()[axis]) index[axis] -= inputs[part++].shape()[axis];
      expected.push_back(inputs[part].At(OffsetOf(index, inputs[part].shape())));
    }
    EXPECT_TRUE(Near(y, expected, 0));
    // If an input has a place in the output, its bytes must be there.
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::optional<int64_t> place =
          PlaceOf(*op, static_cast<int>(i), {infos, {{dtype, shape}}});
      if (!place || inputs[i].bytes() == 0) continue;
      EXPECT_EQ(0, std::memcmp(static_cast<const char*>(y.raw()) + *place, inputs[i].raw(),
                               inputs[i].bytes()));
    }
  });
}

TensorType Image(Shape shape, Format format = Format::kNCHW16c) {
  return {DType::kFloat32, std::move(shape), format};
}

TEST(Concat, PlacesInputsThatAreOneRun) {
  const TensorType a{DType::kFloat32, {2, 3}}, b{DType::kFloat32, {4, 3}};
  EXPECT_EQ(PlaceOf(*MakeConcat(0), 1, {{{a}, {b}}, {{DType::kFloat32, {6, 3}}}}), 24);
  const TensorType c{DType::kFloat32, {2, 5}};
  EXPECT_FALSE(PlaceOf(*MakeConcat(1), 1, {{{a}, {c}}, {{DType::kFloat32, {2, 8}}}}));
  const TensorType row{DType::kFloat32, {1, 3}}, row5{DType::kFloat32, {1, 5}};
  EXPECT_EQ(PlaceOf(*MakeConcat(1), 1, {{{row}, {row5}}, {{DType::kFloat32, {1, 8}}}}), 12);
}

TEST(Concat, PlacesWholeChannelBlocks) {
  const TensorType one = Image({1, 16, 2, 2}), two = Image({1, 32, 2, 2});
  EXPECT_EQ(PlaceOf(*MakeConcat(1), 1, {{{one}, {two}}, {Image({1, 48, 2, 2})}}), 16 * 4 * 4);
  const TensorType part = Image({1, 8, 2, 2});
  EXPECT_EQ(PlaceOf(*MakeConcat(1), 1, {{{one}, {part}}, {Image({1, 24, 2, 2})}}), 16 * 4 * 4);
  EXPECT_FALSE(PlaceOf(*MakeConcat(1), 1, {{{part}, {one}}, {Image({1, 24, 2, 2})}}));
  const TensorType batch = Image({2, 16, 2, 2});
  EXPECT_FALSE(PlaceOf(*MakeConcat(1), 1, {{{batch}, {batch}}, {Image({2, 32, 2, 2})}}));
  EXPECT_EQ(PlaceOf(*MakeConcat(0), 1, {{{one}, {batch}}, {Image({3, 16, 2, 2})}}), 16 * 4 * 4);
  // One block of one image: rows are contiguous.
  EXPECT_EQ(PlaceOf(*MakeConcat(2), 1, {{{one}, {one}}, {Image({1, 16, 4, 2})}}), 16 * 4 * 4);
  EXPECT_FALSE(PlaceOf(*MakeConcat(2), 1, {{{two}, {two}}, {Image({1, 32, 4, 2})}}));
  // Rows are contiguous in any case; blocks of channels are not.
  const TensorType rows = Image({1, 32, 2, 2}, Format::kNHCW16c);
  EXPECT_EQ(
      PlaceOf(*MakeConcat(2), 1, {{{rows}, {rows}}, {Image({1, 32, 4, 2}, Format::kNHCW16c)}}),
      32 * 4 * 4);
  EXPECT_FALSE(
      PlaceOf(*MakeConcat(1), 1, {{{rows}, {rows}}, {Image({1, 64, 2, 2}, Format::kNHCW16c)}}));
  // Channels last, for any number of them: rows of an image are contiguous, channels are not.
  const TensorType last = Image({1, 3, 2, 5}, Format::kNHWC);
  EXPECT_EQ(PlaceOf(*MakeConcat(2), 1, {{{last}, {last}}, {Image({1, 3, 4, 5}, Format::kNHWC)}}),
            2 * 5 * 3 * 4);
  EXPECT_FALSE(
      PlaceOf(*MakeConcat(1), 1, {{{last}, {last}}, {Image({1, 6, 2, 5}, Format::kNHWC)}}));
  EXPECT_FALSE(
      PlaceOf(*MakeConcat(1), 0,
              {{{Image({1, 16, 2, 2}, Format::kDefault)}, {two}}, {Image({1, 48, 2, 2})}}));
}

TEST(Concat, WorksInBlocksOfWholeOnesOnly) {
  EXPECT_EQ(MakeConcat(1)
                ->storage_rules(OwnedSite{{{Image({1, 16, 2, 2})}, {Image({1, 64, 2, 2})}}, {}})
                .format,
            FormatRule::kUniform);
  EXPECT_EQ(MakeConcat(1)
                ->storage_rules(OwnedSite{{{Image({1, 24, 2, 2})}, {Image({1, 64, 2, 2})}}, {}})
                .format,
            FormatRule::kUniformUnpadded);
  EXPECT_EQ(MakeConcat(0)->storage_rules(OwnedSite{{{{DType::kFloat32, {2, 16}}}}, {}}).format,
            FormatRule::kDefaultOnly);
}

TEST(Concat, RefusesWhatDoesNotJoin) {
  const int64_t large = int64_t{1} << 36;
  ExpectRejected({
      {MakeConcat(0), {}, "0 inputs, expected at least 1"},
      {MakeConcat(2), {{2, 3}}, "axis 2 is out of range for a tensor of rank 2"},
      {MakeConcat(-3), {{2, 3}}, "axis -3 is out of range"},
      {MakeConcat(0), {Shape()}, "axis 0 is out of range for a tensor of rank 0"},
      {MakeConcat(0),
       {{2, 3}, {2, 4}},
       "input 1 is Float32{2,4}, which does not continue Float32{2,3}"},
      {MakeConcat(0), {{2, 3}, {2, 3, 1}}, "input 1 is Float32{2,3,1}"},
      {MakeConcat(0), {{large}, {large}, {large}}, "is larger than"},
  });
  const InputInfo f{{DType::kFloat32, {2}}}, i{{DType::kInt32, {2}}};
  EXPECT_TRUE(FailsWith(MakeConcat(0)->Infer({f, i}).status(), "input 1 is Int32{2}"));
}

}  // namespace
}  // namespace ashlar::testing
