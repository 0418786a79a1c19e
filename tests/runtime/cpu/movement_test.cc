// Operators that move elements: copies, conversions and changes of layout.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/relayout_format.h"
#include "opr/reshape.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"
#include "tests/runtime/cpu/kernel_harness.h"

namespace ashlar::cpu {
namespace {

constexpr DType kAllDTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16,
                                DType::kInt64,   DType::kInt32,   DType::kInt8,
                                DType::kUint8,   DType::kByte,    DType::kBool};

HostTensor Integers(const std::vector<int32_t>& values) {
  return HostTensor::FromValues<int32_t>(DType::kInt32, {static_cast<int64_t>(values.size())},
                                         values);
}

HostTensor Random(DType dtype, const Shape& shape, int seed = 1) {
  std::mt19937_64 random(seed);
  return RandomTensor(random, dtype, shape, -100, 100);
}

// With one thread and two, aligned and not. Copies are exact.
void CheckExact(KernelCase test) {
  for (test.threads = 1; test.threads <= 2; ++test.threads) {
    for (const bool unaligned : {false, true}) {
      test.unaligned = unaligned;
      CheckKernels(test, 0);
    }
  }
}

TEST(RelayoutTest, BothWays) {
  for (const Shape& shape : {Shape{2, 3, 9, 11}, Shape{2, 32, 9, 11}, Shape{1, 35, 20, 41},
                             Shape{3, 16, 1, 1}, Shape{1, 1, 1, 1}}) {
    for (const DType dtype : kAllDTypes) {
      for (const Format from : kFormats) {
        for (const Format to : kFormats) {
          KernelCase test;
          test.op = std::make_shared<const RelayoutFormat>(RelayoutFormatParam{to});
          test.inputs = {Random(dtype, shape)};
          test.formats = {from};
          test.output_format = to;
          CheckExact(test);
        }
      }
    }
  }
}

TEST(ConcatTest, EveryAxisAndFormat) {
  struct {
    std::vector<Shape> inputs;
    int64_t axis;
    bool image;  // may be in a blocked format
  } const kRows[] = {
      {{{2, 3, 4, 5}, {2, 7, 4, 5}}, 1, false},
      {{{2, 32, 4, 5}, {2, 16, 4, 5}, {2, 64, 4, 5}}, 1, true},
      {{{1, 32, 40, 40}, {1, 48, 40, 40}}, 1, true},
      {{{2, 35, 4, 5}, {1, 35, 4, 5}}, 0, true},
      {{{2, 35, 4, 5}, {2, 35, 3, 5}}, 2, true},
      {{{2, 35, 4, 5}, {2, 35, 4, 1}}, -1, true},
      {{{7}, {0}, {3}}, 0, false},
      {{{5, 6}}, 1, false},
  };
  for (const auto& row : kRows) {
    for (const Format format : kFormats) {
      if (IsBlocked(format) && !row.image) continue;
      for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kInt64}) {
        KernelCase test;
        test.op = std::make_shared<const Concat>(ConcatParam{row.axis});
        for (const Shape& shape : row.inputs) {
          test.inputs.push_back(Random(dtype, shape, static_cast<int>(test.inputs.size())));
        }
        test.formats.assign(test.inputs.size(), format);
        test.output_format = format;
        CheckExact(test);
      }
    }
  }
}

TEST(DimshuffleTest, Permutations) {
  struct {
    Shape input;
    std::vector<int64_t> pattern;
  } const kRows[] = {
      {{2, 3, 4, 5}, {0, 2, 3, 1}},
      {{2, 3, 4, 5}, {3, 2, 1, 0}},
      {{300, 200}, {1, 0}},
      {{1, 5, 1, 3}, {3, 1}},
      {{5, 3}, {1, -1, 0, -1}},
      {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{0, 3}, {1, 0}},
      {{64, 1, 50, 60}, {2, 0, 3}},
  };
  for (const auto& row : kRows) {
    for (const DType dtype : {DType::kFloat32, DType::kInt8, DType::kFloat16, DType::kInt64}) {
      KernelCase test;
      test.op = std::make_shared<const Dimshuffle>(DimshuffleParam{row.pattern});
      test.inputs = {Random(dtype, row.input)};
      CheckExact(test);
    }
  }
}

TEST(SubtensorTest, Boxes) {
  struct {
    SubtensorParam param;
    std::vector<int32_t> bounds;
  } const kRows[] = {
      {{{1}, {1}, {1}, {0}, {0}}, {3, 9}},                        // x[:, 3:9]
      {{{3}, {1}, {0}, {1}, {0}}, {1, 2}},                        // x[..., 1::2]
      {{{0, 2}, {0, 0}, {1, 0}, {0, 1}, {0, 0}}, {1, -1}},        // x[:1, :, ::-1]
      {{{1, -1}, {0, 1}, {0, 1}, {0, 0}, {1, 0}}, {-2, 2, 100}},  // x[:, -2, :, 2:100]
      {{{0}, {0}, {0}, {0}, {1}}, {1}},                           // x[1]
      {{{2}, {1}, {1}, {0}, {0}}, {3, 3}},                        // nothing
  };
  for (const auto& row : kRows) {
    for (const DType dtype : {DType::kFloat32, DType::kBool}) {
      KernelCase test;
      test.op = std::make_shared<const Subtensor>(row.param);
      test.inputs = {Random(dtype, {2, 11, 7, 9})};
      for (const int32_t bound : row.bounds) test.inputs.push_back(Integers({bound}));
      CheckExact(test);
    }
  }
}

TEST(PlainCopyTest, ReshapeOutputAndShape) {
  KernelCase reshape;
  reshape.op = std::make_shared<const Reshape>(ReshapeParam{});
  reshape.inputs = {Random(DType::kFloat32, {4, 50, 300}), Integers({2, -1})};
  CheckExact(reshape);

  KernelCase output;
  output.op = std::make_shared<const OutputCallback>(NoParam{});
  output.inputs = {Random(DType::kFloat16, {3, 70, 401})};
  CheckExact(output);

  KernelCase shape;
  shape.op = std::make_shared<const GetVarShape>(GetVarShapeParam{});
  shape.inputs = {Random(DType::kFloat32, {4, 50, 3})};
  CheckExact(shape);
}

TEST(TypeCvtTest, EveryPair) {
  const std::vector<double> values = {
      0,    1,    -1,    0.5,   -0.5, 1.5,   2.5,      127,      128,       -128,  -129,
      255,  256,  65504, 70000, 1e-5, 1e-30, 3e9,      -3e9,     1e19,      -1e19, 2147483647,
      1e-8, -0.1, 100.7, 33.3,  1e38, -7,    16777217, INFINITY, -INFINITY, NAN};
  for (const DType from : kAllDTypes) {
    for (const DType to : kAllDTypes) {
      if (from == DType::kByte || to == DType::kByte) continue;
      HostTensor x = HostTensor::Zeros(from, {2, 19, 3, 5});
      for (int64_t i = 0; i < x.num_elements(); ++i) x.Set(i, values[i % values.size()]);
      for (const Format format : kFormats) {
        KernelCase test;
        test.op = std::make_shared<const TypeCvt>(TypeCvtParam{to});
        test.inputs = {x};
        test.formats = {format};
        test.output_format = format;
        CheckExact(test);
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
