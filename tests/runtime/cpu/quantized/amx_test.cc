// Runs the kernels of AMX's tiles: on its instructions, or on their emulation on processors with
// AVX2 alone. Results must have the bits of the operator's own evaluation, as all 8-bit kernels'.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "opr/quantized_conv.h"
#include "tests/cases/convolution_layer.h"
#include "tests/cases/kernel_check.h"
#include "tests/cases/quantized.h"
#include "tests/runtime/cpu/opened_device.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr char kAmx[] = "int8:amx_int8";

// The second one's caches hold neither weights nor pixels.
std::vector<Processor> Processors() {
  std::vector<Processor> processors;
  for (const char* text : {"amx_int8/48K/2M", "amx_int8/4K/16K"}) {
    processors.push_back(Value(Processor::Parse(text)));
  }
  return processors;
}

class AmxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Contains(CpuDevice().processor().isa, Isa::kAvx2)) GTEST_SKIP() << "rounding needs AVX2";
  }

  // Checks the case on one and on three threads; returns whether there is a kernel.
  static bool Check(const KernelCase& test, const Processor& processor) {
    bool found = false;
    KernelCase each = test;
    for (each.threads = 1; each.threads <= 3; each.threads += 2) {
      each.unaligned = each.threads == 3;
      found = !CheckKernels(CpuDevice(), each, processor, kAmx).empty();
    }
    return found;
  }
};

TEST_F(AmxTest, GivesTheBitsOfEveryCase) {
  constexpr uint64_t kSeed = 5;
  int run = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    if (HasFailure() || !IsQuantized(test.inputs[0].dtype())) return;
    for (const Processor& processor : Processors()) run += Check(test, processor) ? 1 : 0;
  });
  AddCases<ConvBiasForward>(cases);
  EXPECT_GE(run, 600);
}

// Adds the layer with arbitrary integers, in channels last or from planes, perhaps with a sum over
// its residual. Adds nothing if its windows do not fit.
void AddLayer(Cases& cases, const Layer& layer, bool from_planes, bool adds) {
  ConvBiasParam param = layer.param;
  const bool is_signed = cases.Pick(0, 1) != 0;
  const DType dtype = is_signed ? DType::kQuantizedS8 : DType::kQuantized8Asymm;
  const auto zero_point = static_cast<int32_t>(cases.Pick(0, 127));
  const Shape src_shape = {layer.batch, layer.in, layer.h, layer.w};
  const Shape filter_shape = {layer.out, layer.in, layer.fh, layer.fw};
  const absl::StatusOr<ConvolutionGeometry> geometry = InferConvolution(
      param, TensorType(dtype, src_shape), TensorType(DType::kQuantizedS8, filter_shape));
  if (!geometry.ok()) return;
  const double products = static_cast<double>(layer.in * layer.fh * layer.fw);
  param.output = {dtype, static_cast<float>(0.001 * std::sqrt(products)), zero_point};
  const HostTensor src = QuantizedTensor(cases, dtype, src_shape, {0.03125f}, zero_point);
  const HostTensor filter = QuantizedTensor(cases, DType::kQuantizedS8, filter_shape, {0.001f});
  KernelCase test = {layer.name, nullptr, {src, filter}};
  test.inputs.push_back(QuantizedTensor(cases, DType::kQuantizedS32, {1, layer.out, 1, 1},
                                        SumScales(src.quantization(), filter.quantization())));
  test.formats = {from_planes ? Format::kDefault : Format::kNHWC, Format::kDefault,
                  Format::kDefault};
  test.constant = {false, true, false};
  if (adds) {
    param.addend = {dtype, param.output.scale / 2, 3};
    test.inputs.push_back(QuantizedTensor(cases, dtype, geometry->output(),
                                          {static_cast<float>(param.addend.scale)}, 5));
    test.formats.push_back(Format::kNHWC);
    test.constant.push_back(false);
    test.in_place = ConvBiasForward::kZ;
  }
  test.op = Make<ConvBiasForward>(param);
  test.tolerance = 0;
  test.output_format = Format::kNHWC;
  cases.Add(std::move(test));
}

// Shapes around the limits of tiles, blocks and runs.
TEST_F(AmxTest, GivesTheBitsOfAnyShape) {
  constexpr uint64_t kSeed = 7;
  constexpr int kShapes = kSanitized ? 40 : 300;
  const std::vector<Processor> processors = Processors();
  int run = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    EXPECT_TRUE(Check(test, processors[static_cast<size_t>(run++) % processors.size()]));
  });
  const auto any = [&](std::initializer_list<int64_t> values) {
    return values.begin()[cases.Pick(0, static_cast<int64_t>(values.size()) - 1)];
  };
  for (int i = 0; i < kShapes && !HasFailure(); ++i) {
    SCOPED_TRACE(absl::StrCat("seed ", kSeed, ", shape ", i));
    Layer layer = {};
    layer.name = "any shape";
    layer.batch = any({1, 1, 2, 5});
    layer.in = any({1, 3, 4, 5, 20, 60, 64, 68, 96, 132});
    layer.out = any({1, 7, 16, 17, 32, 33, 80});
    layer.h = cases.Pick(1, 20), layer.w = cases.Pick(1, 40);
    layer.fh = any({1, 1, 2, 3, 5}), layer.fw = any({1, 1, 2, 3, 7});
    ConvBiasParam& param = layer.param;
    param.stride_h = any({1, 1, 2, 3}), param.stride_w = any({1, 1, 2, 3});
    param.dilate_h = any({1, 1, 1, 2}), param.dilate_w = any({1, 1, 1, 2, 3});
    param.pad_h = cases.Pick(0, layer.fh), param.pad_w = cases.Pick(0, layer.fw);
    param.pad_h_end = cases.Pick(0, layer.fh), param.pad_w_end = cases.Pick(0, layer.fw);
    if (cases.Pick(0, 1) != 0) param.nonlineMode = ScalarFunction::kRelu;
    AddLayer(cases, layer, /*from_planes=*/cases.Pick(0, 2) == 0, /*adds=*/cases.Pick(0, 1) != 0);
  }
  EXPECT_GE(run, kShapes / 2);
}

// Copies of some rows of an image, the last one overlapping the one before, and of some images.
TEST_F(AmxTest, GivesTheBitsOfImagesThatAreCopiedInParts) {
  const std::vector<Layer> layers = {
      {"bands", 1, 64, 3, 121, 130, 3, 3, 1, Window(1, 1)},
      {"bands of every other row", 1, 32, 5, 253, 140, 3, 3, 1, Window(2, 1)},
      {"two images at a time", 5, 64, 7, 60, 70, 3, 3, 1, Window(1, 1)},
      {"a matrix product", 33, 200, 100, 1, 1, 1, 1},
  };
  constexpr uint64_t kSeed = 9;
  int run = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    for (const Processor& processor : Processors()) run += Check(test, processor) ? 1 : 0;
  });
  for (const Layer& layer : layers) AddLayer(cases, layer, false, /*adds=*/true);
  EXPECT_EQ(run, 8);
}

}  // namespace
}  // namespace ashlar::testing
