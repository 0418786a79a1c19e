// Runs the kernels of AMX's tiles and of AVX512_BF16: on their instructions, or on an emulation on
// processors with AVX2 alone. Results of 8 bits must have the bits of the operator's own
// evaluation, as all 8-bit kernels'. BFloat16 results are near it; in tiles they have the bits that
// the instruction's rules give.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/matrix_mul.h"
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
std::vector<Processor> Processors(absl::string_view set = "amx_int8") {
  std::vector<Processor> processors;
  for (const char* caches : {"/48K/2M", "/4K/16K"}) {
    processors.push_back(Value(Processor::Parse(absl::StrCat(set, caches))));
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

  // The same for BFloat16. All kernels have the same bits, on one thread and on three.
  static bool CheckBFloat16(const KernelCase& test, const Processor& processor) {
    std::vector<std::string> results;
    KernelCase each = test;
    for (each.threads = 1; each.threads <= 3; each.threads += 2) {
      each.unaligned = each.threads == 3;
      const std::string kernel = processor.amx_bf16 ? "bf16:amx_bf16" : "bf16:avx512_bf16";
      for (const KernelOutcome& outcome : CheckKernels(CpuDevice(), each, processor, kernel)) {
        results.push_back(outcome.outputs[0]);
      }
    }
    for (const std::string& result : results) EXPECT_TRUE(result == results[0]) << test.name;
    return !results.empty();
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
    param.fixed_point_sum = cases.Pick(0, 1) != 0;
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

TEST_F(AmxTest, SumsBFloat16OfEveryCase) {
  constexpr uint64_t kSeed = 5;
  int run = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    if (HasFailure() || test.inputs[0].dtype() != DType::kBFloat16) return;
    KernelCase packed = test;
    packed.constant.resize(test.inputs.size());
    packed.constant[1] = true;
    for (const char* set : {"amx_bf16", "avx512_bf16"}) {
      for (const Processor& processor : Processors(set)) {
        run += CheckBFloat16(packed, processor) ? 1 : 0;
      }
    }
  });
  AddCases<ConvolutionForward>(cases);
  AddCases<ConvBiasForward>(cases);
  AddCases<MatrixMul>(cases);
  EXPECT_GE(run, 200);
}

// Shapes around the limits of tiles, blocks, runs and copies.
TEST_F(AmxTest, SumsBFloat16OfAnyShape) {
  constexpr uint64_t kSeed = 7;
  constexpr int kShapes = kSanitized ? 40 : 300;
  std::vector<Processor> processors = Processors("amx_bf16");
  for (const Processor& processor : Processors("avx512_bf16")) processors.push_back(processor);
  int run = 0;
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    EXPECT_TRUE(CheckBFloat16(test, processors[static_cast<size_t>(run++) % processors.size()]));
  });
  const auto any = [&](std::initializer_list<int64_t> values) {
    return values.begin()[cases.Pick(0, static_cast<int64_t>(values.size()) - 1)];
  };
  constexpr Format kBlocked[] = {Format::kNCHW16c, Format::kNHCW16c};
  for (int i = 0; i < kShapes && !HasFailure(); ++i) {
    SCOPED_TRACE(absl::StrCat("seed ", kSeed, ", shape ", i));
    const bool from_planes = cases.Pick(0, 3) == 0;
    ConvBiasParam param;
    const int64_t fh = any({1, 1, 2, 3, 5}), fw = any({1, 1, 2, 3, 7});
    param.stride_h = any({1, 1, 2, 3}), param.stride_w = any({1, 1, 2, 3});
    param.dilate_h = any({1, 1, 1, 2}), param.dilate_w = any({1, 1, 1, 2, 3});
    param.pad_h = cases.Pick(0, fh), param.pad_w = cases.Pick(0, fw);
    param.pad_h_end = cases.Pick(0, fh), param.pad_w_end = cases.Pick(0, fw);
    // In registers, in memory, and one that changes zeros.
    constexpr ScalarFunction kActivations[] = {ScalarFunction::kIdentity, ScalarFunction::kRelu,
                                               ScalarFunction::kSigmoid, ScalarFunction::kClamp};
    param.nonlineMode = kActivations[cases.Pick(0, 3)];
    if (param.nonlineMode == ScalarFunction::kClamp) param.parameters = {0.25, 6};
    const Shape src_shape = {any({1, 1, 2, 5}),
                             from_planes ? cases.Pick(1, 8) : any({1, 3, 16, 17, 40, 64, 70, 130}),
                             cases.Pick(1, 20), cases.Pick(1, 40)};
    const Shape filter_shape = {any({1, 7, 16, 17, 32, 33, 80}), src_shape[1], fh, fw};
    const TensorType src_type(DType::kBFloat16, src_shape);
    const absl::StatusOr<ConvolutionGeometry> geometry =
        InferConvolution(param, src_type, TensorType(DType::kBFloat16, filter_shape));
    if (!geometry.ok()) continue;
    KernelCase test = {"any shape", nullptr, {}};
    const double scale = 1 / std::sqrt(static_cast<double>(src_shape[1] * fh * fw));
    test.inputs = {cases.Tensor(DType::kBFloat16, src_shape),
                   cases.Tensor(DType::kBFloat16, filter_shape, -scale, scale),
                   cases.Tensor(DType::kBFloat16, {1, filter_shape[0], 1, 1})};
    const Format format = kBlocked[cases.Pick(0, 1)];
    test.formats = {from_planes ? Format::kDefault : format, Format::kDefault, Format::kDefault};
    test.constant = {false, true, true};
    test.output_format = format;
    if (cases.Pick(0, 1) != 0) {
      test.inputs.push_back(cases.Tensor(DType::kBFloat16, geometry->output()));
      test.formats.push_back(format);
      test.constant.push_back(false);
      test.in_place = ConvBiasForward::kZ;
    }
    test.op = Make<ConvBiasForward>(param);
    cases.Add(std::move(test));
  }
  EXPECT_GE(run, kShapes / 2);
}

// TDPBF16PS by its rules, in scalar code: subnormal operands count as zero, and results that are
// tiny after rounding become zero.
float Normal(float x) { return std::abs(x) < 0x1p-126f ? 0 : x; }
float FusedAdd(float a, float b, float c) {
  a = Normal(a), b = Normal(b), c = Normal(c);
  const float sum = std::fmaf(a, b, c);
  if (std::abs(sum) > 0x1p-125f || !std::isfinite(sum)) return sum;
  // With more room for the exponent, to see how it rounds. (No factor here is that large.)
  return std::abs(std::fmaf(a * 0x1p40f, b, c * 0x1p40f)) < 0x1p-86f ? 0 : Normal(sum);
}
// Adds the products of a step's channels, of which there are an even number.
float AddStep(float sum, absl::Span<const float> x, absl::Span<const float> w) {
  float even = 0, odd = 0;
  for (size_t k = 0; k < x.size(); k += 2) {
    even = FusedAdd(x[k], w[k], even);
    odd = FusedAdd(x[k + 1], w[k + 1], odd);
  }
  return Normal(Normal(sum) + Normal(even + odd));
}

// BFloat16 of any exponent around 1, or around the least, with subnormal ones.
HostTensor Wide(Cases& cases, const Shape& shape, bool tiny) {
  HostTensor tensor = HostTensor::Zeros(DType::kBFloat16, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const int exponent = static_cast<int>(tiny ? cases.Pick(-70, -58) : cases.Pick(-12, 12));
    const double fraction = 1 + static_cast<double>(cases.Pick(0, 127)) / 128;
    tensor.Set(i, std::ldexp(cases.Pick(0, 1) != 0 ? fraction : -fraction, exponent));
    if (tiny && cases.Pick(0, 7) == 0) tensor.Set(i, std::ldexp(fraction, -130));
  }
  return tensor;
}

// Matrix products in steps of at most 32 channels. Rows that cannot be cut into few equal steps get
// zeros appended.
TEST_F(AmxTest, SumsBFloat16InTheInstructionsOrder) {
  constexpr uint64_t kSeed = 3;
  struct {
    int64_t k, padded, step;
  } const kDepths[] = {{2, 2, 2},    {7, 8, 8},    {32, 32, 32},   {33, 36, 18},
                       {40, 40, 20}, {96, 96, 32}, {200, 210, 30}, {500, 512, 32}};
  Cases cases(CpuScope(), kSeed, [&](const KernelCase& test) {
    for (const Processor& processor : Processors("amx_bf16")) {
      EXPECT_TRUE(CheckBFloat16(test, processor));
    }
  });
  for (const auto& depth : kDepths) {
    for (const bool tiny : {false, true}) {
      SCOPED_TRACE(
          absl::StrCat("seed ", kSeed, ", depth ", depth.k, tiny ? " of tiny values" : ""));
      constexpr int64_t kRows = 19, kColumns = 37;
      const HostTensor a = Wide(cases, {kRows, depth.k}, tiny);
      const HostTensor b = Wide(cases, {depth.k, kColumns}, tiny);
      HostTensor expected = HostTensor::Zeros(DType::kBFloat16, {kRows, kColumns});
      for (int64_t i = 0; i < kRows; ++i) {
        for (int64_t j = 0; j < kColumns; ++j) {
          std::vector<float> x(static_cast<size_t>(depth.padded)), w = x;
          for (int64_t k = 0; k < depth.k; ++k) {
            x[static_cast<size_t>(k)] = static_cast<float>(a.At(i * depth.k + k));
            w[static_cast<size_t>(k)] = static_cast<float>(b.At(k * kColumns + j));
          }
          float sum = 0;
          for (int64_t k = 0; k < depth.padded; k += depth.step) {
            const auto step = static_cast<size_t>(depth.step), at = static_cast<size_t>(k);
            sum = AddStep(sum, absl::MakeSpan(x).subspan(at, step),
                          absl::MakeSpan(w).subspan(at, step));
          }
          expected.Set(i * kColumns + j, sum);
        }
      }
      KernelCase test = {"in order", Make<MatrixMul>({}), {a, b}};
      test.constant = {false, true};
      test.tolerance = 0;
      test.expected = {expected};
      cases.Add(test);
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
