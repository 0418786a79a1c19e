// Operators that read images in one format and make them in another, as the tiled rewrite and the
// first operators of a graph want it.
#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "opr/batch_norm.h"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/lrn.h"
#include "opr/pooling.h"
#include "opr/type_cvt.h"
#include "tests/runtime/cpu/kernel_harness.h"

namespace ashlar::cpu {
namespace {

struct Case {
  const char* name;
  OperatorPtr op;
  std::vector<Shape> operands;  // after the image
  bool from_planes = false;     // an image of less than a block of channels may be row-major
};

std::vector<Case> Cases(int64_t channels) {
  ConvBiasParam conv;
  conv.pad_h = conv.pad_w = 1;
  PoolingParam pool;
  pool.window_h = pool.window_w = 3;
  pool.stride_h = pool.stride_w = 2;
  pool.pad_h = pool.pad_w = 1;
  const Shape each = {channels};
  std::vector<Case> cases = {
      {"convolution",
       std::make_shared<const ConvBiasForward>(conv),
       {{20, channels, 3, 3}, {1, 20, 1, 1}},
       true},
      {"pool", std::make_shared<const PoolingForward>(pool), {}, true},
      {"batch norm", std::make_shared<const BatchNorm>(BatchNormParam{}), {each, each, each, each}},
      {"relu", std::make_shared<const Elemwise>(ElemwiseParam{ScalarFunction::kRelu}), {}},
      {"scale",
       std::make_shared<const Elemwise>(ElemwiseParam{ScalarFunction::kMul}),
       {{1, channels, 1, 1}}},
      {"conversion", std::make_shared<const TypeCvt>(TypeCvtParam{DType::kFloat32}), {}},
  };
  for (const int64_t window : {5, 40}) {  // in groups of pixels, and in any window
    for (const double beta : {0.75, 0.4}) {
      // Without a bias the padding of channels is 0/0.
      cases.push_back(
          {"lrn", std::make_shared<const LRN>(LRNParam{window, 0.3, beta, 0}), {}, true});
    }
  }
  return cases;
}

class FormatPairsTest : public ::testing::TestWithParam<std::pair<Format, Format>> {};

TEST_P(FormatPairsTest, EveryOperatorReadsOneFormatAndMakesAnother) {
  const auto [from, to] = GetParam();
  for (const Shape& shape : {Shape{2, 3, 9, 13}, Shape{1, 16, 1, 5}, Shape{2, 35, 7, 6}}) {
    for (const Case& c : Cases(shape[1])) {
      if (from == Format::kDefault && (!c.from_planes || shape[1] >= kChannelBlock)) continue;
      SCOPED_TRACE(absl::StrCat(c.name, " of ", shape.ToString()));
      std::mt19937_64 random(1);
      KernelCase test;
      test.op = c.op;
      test.inputs = {RandomTensor(random, DType::kFloat32, shape, 0.5, 3)};
      test.formats = {from};
      test.constant = {false};
      for (const Shape& operand : c.operands) {
        test.inputs.push_back(RandomTensor(random, DType::kFloat32, operand, 0.5, 3));
        test.formats.push_back(Format::kDefault);
        test.constant.push_back(true);
      }
      test.output_format = to;
      for (test.threads = 1; test.threads <= 2; ++test.threads) {
        test.unaligned = test.threads == 2;
        CheckKernels(test, 1e-5);
      }
    }
  }
}

std::string PairName(const ::testing::TestParamInfo<std::pair<Format, Format>>& info) {
  return absl::StrCat(Name(info.param.first), "To", Name(info.param.second));
}

INSTANTIATE_TEST_SUITE_P(AllPairs, FormatPairsTest,
                         ::testing::Values(std::pair(Format::kDefault, Format::kNCHW16c),
                                           std::pair(Format::kDefault, Format::kNHCW16c),
                                           std::pair(Format::kNCHW16c, Format::kNCHW16c),
                                           std::pair(Format::kNCHW16c, Format::kNHCW16c),
                                           std::pair(Format::kNHCW16c, Format::kNCHW16c),
                                           std::pair(Format::kNHCW16c, Format::kNHCW16c)),
                         PairName);

}  // namespace
}  // namespace ashlar::cpu
