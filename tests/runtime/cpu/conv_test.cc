// ConvolutionForward and ConvBiasForward: every candidate against the operators' own evaluation.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "opr/conv_bias.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/kernels.h"
#include "tests/runtime/cpu/kernel_harness.h"
#include "tests/support/activations.h"

namespace ashlar::cpu {
namespace {

constexpr double kTolerance = 1e-5;  // of sums of at most a few thousand products

struct Layer {
  const char* name;
  int64_t batch, in, out;  // channels over all groups
  int64_t h, w;
  int64_t fh, fw;
  int64_t groups = 1;
  ConvBiasParam param = {};
};

ConvBiasParam Window(int64_t stride, int64_t pad, int64_t dilation = 1) {
  ConvBiasParam param;
  param.stride_h = param.stride_w = stride;
  param.pad_h = param.pad_w = pad;
  param.dilate_h = param.dilate_w = dilation;
  return param;
}

ConvBiasParam Asymmetric(int64_t stride_h, int64_t stride_w, int64_t top, int64_t left,
                         int64_t bottom, int64_t right) {
  ConvBiasParam param;
  param.stride_h = stride_h, param.stride_w = stride_w;
  param.pad_h = top, param.pad_w = left, param.pad_h_end = bottom, param.pad_w_end = right;
  return param;
}

std::vector<Layer> Layers() {
  return {
      {"3x3", 2, 32, 48, 9, 10, 3, 3, 1, Window(1, 1)},
      {"3x3 stride 2", 1, 32, 32, 15, 14, 3, 3, 1, Window(2, 1)},
      {"3x3 without padding", 2, 16, 32, 7, 5, 3, 3, 1, Window(1, 0)},
      {"3x3 dilated", 1, 32, 32, 13, 12, 3, 3, 1, Window(1, 2, 2)},
      {"3x3 dilated by much, strided", 1, 16, 16, 17, 16, 3, 3, 1, Window(2, 5, 5)},
      {"1x1", 2, 64, 32, 7, 7, 1, 1, 1, Window(1, 0)},
      {"1x1 stride 2", 2, 64, 128, 14, 13, 1, 1, 1, Window(2, 0)},
      {"1x1 padded", 1, 32, 32, 6, 6, 1, 1, 1, Window(1, 1)},
      {"1x1 on one pixel", 3, 48, 32, 1, 1, 1, 1, 1, Window(1, 0)},
      {"5x5", 1, 16, 32, 12, 11, 5, 5, 1, Window(1, 2)},
      {"7x7", 1, 16, 16, 16, 16, 7, 7, 1, Window(1, 3)},
      {"1x7", 1, 32, 16, 9, 9, 1, 7, 1, Asymmetric(1, 1, 0, 3, 0, 3)},
      {"window larger than the image", 1, 16, 16, 3, 2, 7, 7, 1, Window(1, 3)},
      {"windows wholly in the padding", 1, 16, 16, 4, 4, 3, 3, 1, Window(1, 4)},
      {"wide rows", 1, 16, 16, 3, 150, 3, 3, 1, Window(1, 1)},
      {"asymmetric padding", 1, 32, 16, 11, 12, 3, 3, 1, Asymmetric(2, 2, 0, 0, 1, 1)},
      {"asymmetric in all", 1, 16, 32, 11, 17, 3, 5, 1, Asymmetric(1, 2, 2, 0, 1, 4)},
      {"stem", 2, 3, 64, 32, 30, 7, 7, 1, Window(2, 3)},
      {"stem of one channel", 1, 1, 32, 14, 14, 5, 5, 1, Window(1, 2)},
      {"odd stem", 1, 5, 20, 14, 14, 3, 3, 1, Window(2, 1)},
      {"few channels", 2, 7, 5, 9, 8, 3, 3, 1, Window(1, 1)},
      {"few channels, 1x1", 1, 7, 5, 9, 8, 1, 1, 1, Window(1, 0)},
      {"odd channels", 2, 17, 33, 9, 8, 3, 3, 1, Window(1, 1)},
      {"odd channels, 1x1 stride 2", 2, 60, 44, 9, 8, 1, 1, 1, Window(2, 0)},
      {"to one channel", 1, 32, 1, 9, 8, 3, 3, 1, Window(1, 1)},
      {"depthwise", 2, 32, 32, 9, 8, 3, 3, 32, Window(1, 1)},
      {"depthwise, odd", 2, 23, 23, 9, 8, 3, 3, 23, Window(2, 1)},
      {"depthwise 5x5, dilated", 1, 16, 16, 13, 14, 5, 5, 16, Window(1, 4, 2)},
      {"depthwise, doubling", 1, 16, 32, 9, 8, 3, 3, 16, Window(1, 1)},
      {"groups of whole blocks", 1, 64, 32, 9, 8, 3, 3, 2, Window(1, 1)},
      {"groups of part blocks", 1, 64, 64, 9, 8, 3, 3, 16, Window(1, 1)},
      {"groups of a block and a half", 1, 48, 48, 9, 8, 3, 3, 2, Window(2, 1)},
      {"odd groups", 2, 15, 25, 7, 8, 3, 3, 5, Window(1, 1)},
      {"one group", 1, 16, 16, 7, 8, 3, 3, 0, Window(1, 1)},
  };
}

enum class Residual { kNone, kApart, kInPlace };

struct Variant {
  ScalarFunction activation = ScalarFunction::kIdentity;
  Residual residual = Residual::kNone;
  bool bias = true;  // without: a ConvolutionForward
  bool constant = true;
};

// The operator and its tensors; the sums are about 1.
KernelCase MakeCase(const Layer& layer, const Variant& variant, std::mt19937_64& random) {
  ConvBiasParam param = layer.param;
  param.nonlineMode = variant.activation;
  if (variant.activation == ScalarFunction::kClamp) param.parameters = {0.25, 1.5};
  // groups 0: one group, with the dimension of groups.
  const int64_t groups = std::max<int64_t>(1, layer.groups);
  Shape filter{layer.out / groups, layer.in / groups, layer.fh, layer.fw};
  if (layer.groups != 1) {
    param.sparse = SparseMode::kGroup;
    filter = {groups, filter[0], filter[1], filter[2], filter[3]};
  }
  const double scale = 3 / std::sqrt(static_cast<double>(layer.in / groups * layer.fh * layer.fw));
  KernelCase test;
  test.inputs = {RandomTensor(random, DType::kFloat32, {layer.batch, layer.in, layer.h, layer.w}),
                 RandomTensor(random, DType::kFloat32, filter, -scale, scale)};
  test.constant = {false, variant.constant};
  if (variant.bias) {
    test.inputs.push_back(RandomTensor(random, DType::kFloat32, {1, layer.out, 1, 1}));
    test.constant.push_back(true);
    test.op = std::make_shared<ConvBiasForward>(param);
  } else {
    test.op = std::make_shared<ConvolutionForward>(param);
  }
  if (variant.residual != Residual::kNone) {
    const absl::StatusOr<ConvolutionGeometry> geometry =
        InferConvolution(param, {DType::kFloat32, test.inputs[0].shape()},
                         {DType::kFloat32, test.inputs[1].shape()});
    test.inputs.push_back(RandomTensor(random, DType::kFloat32, geometry->output()));
    test.constant.push_back(false);
    if (variant.residual == Residual::kInPlace) test.in_place = ConvBiasForward::kZ;
  }
  const absl::StatusOr<std::vector<HostTensor>> expected = test.op->Evaluate(test.inputs);
  EXPECT_TRUE(expected.ok()) << expected.status();
  if (expected.ok()) test.expected = *expected;
  return test;
}

// Row-major, blocked, and blocked behind a row-major input of few channels; with 1 and 2 threads.
std::vector<KernelOutcome> CheckEverywhere(KernelCase test) {
  const auto set_formats = [&](Format src, Format rest) {
    test.formats = {src, Format::kDefault, Format::kDefault, rest};
    test.formats.resize(test.inputs.size());
    test.output_format = rest;
  };
  std::vector<KernelOutcome> outcomes;
  const auto check = [&] {
    for (int threads : {1, 2}) {
      test.threads = threads;
      for (KernelOutcome& outcome : CheckKernels(test, kTolerance)) {
        EXPECT_FALSE(absl::StrContains(outcome.implementation, "ref")) << outcome.implementation;
        outcomes.push_back(std::move(outcome));
      }
    }
  };
  set_formats(Format::kDefault, Format::kDefault);
  check();
  set_formats(Format::kNCHW16c, Format::kNCHW16c);
  check();
  set_formats(Format::kNHCW16c, Format::kNHCW16c);
  check();
  set_formats(Format::kNHCW16c, Format::kNCHW16c);
  check();
  if (test.inputs[0].shape()[1] < kChannelBlock) {
    set_formats(Format::kDefault, Format::kNCHW16c);
    check();
    set_formats(Format::kDefault, Format::kNHCW16c);
    check();
  }
  return outcomes;
}

TEST(ConvTest, EveryGeometry) {
  std::mt19937_64 random(1);
  for (const Layer& layer : Layers()) {
    SCOPED_TRACE(layer.name);
    CheckEverywhere(MakeCase(layer, {}, random));
    CheckEverywhere(MakeCase(layer, {.bias = false}, random));
    CheckEverywhere(MakeCase(layer, {ScalarFunction::kRelu, Residual::kInPlace}, random));
  }
}

TEST(ConvTest, EveryActivationAndResidual) {
  std::mt19937_64 random(2);
  const Layer layers[] = {
      {"3x3", 1, 32, 32, 6, 7, 3, 3, 1, Window(1, 1)},
      {"odd 1x1", 2, 20, 37, 6, 7, 1, 1, 1, Window(1, 0)},
      {"odd 3x3", 1, 20, 37, 6, 7, 3, 3, 1, Window(1, 1)},
      {"few channels", 1, 6, 5, 6, 7, 3, 3, 1, Window(1, 1)},
      {"odd depthwise", 1, 19, 19, 6, 7, 3, 3, 19, Window(1, 1)},
      {"odd groups", 1, 20, 30, 6, 7, 3, 3, 10, Window(1, 1)},
  };
  for (const Layer& layer : layers) {
    for (const ScalarFunction activation : testing::Activations()) {
      for (Residual residual : {Residual::kNone, Residual::kApart, Residual::kInPlace}) {
        SCOPED_TRACE(absl::StrCat(layer.name, ", activation ", RowOf(activation).name,
                                  ", residual ", static_cast<int>(residual)));
        CheckEverywhere(MakeCase(layer, {activation, residual}, random));
      }
    }
  }
}

TEST(ConvTest, FiltersThatAreFlippedOrNotConstant) {
  std::mt19937_64 random(3);
  for (Layer layer : Layers()) {
    for (bool flipped : {false, true}) {
      for (bool constant : {false, true}) {
        if (!flipped && constant) continue;
        SCOPED_TRACE(
            absl::StrCat(layer.name, flipped ? ", flipped" : "", constant ? ", constant" : ""));
        layer.param.mode =
            flipped ? ConvolutionMode::kConvolution : ConvolutionMode::kCrossCorrelation;
        KernelCase test = MakeCase(layer, {.constant = constant}, random);
        test.unaligned = true;
        CheckEverywhere(test);
      }
    }
  }
}

// What is constant, or of another shape than the output, is not always in the output's format.
TEST(ConvTest, OperandsInOtherFormats) {
  std::mt19937_64 random(5);
  KernelCase test = MakeCase({"3x3", 2, 20, 24, 6, 7, 3, 3, 1, Window(1, 1)},
                             {ScalarFunction::kRelu, Residual::kApart, true, false}, random);
  using enum Format;
  for (const std::vector<Format>& formats : {std::vector{kDefault, kDefault, kDefault, kNCHW16c},
                                             {kNCHW16c, kDefault, kDefault, kDefault},
                                             {kNCHW16c, kNCHW16c, kNCHW16c, kNCHW16c}}) {
    for (Format output : {kDefault, kNCHW16c}) {
      test.formats = formats;
      test.output_format = output;
      CheckKernels(test, kTolerance);
    }
  }
}

TEST(ConvTest, RandomShapes) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    Layer layer{"random",    draw(1, 2),  draw(1, 40), draw(1, 40),
                draw(1, 14), draw(1, 14), draw(1, 5),  draw(1, 5)};
    if (draw(0, 2) == 0) {
      layer.groups = draw(1, 8);
      layer.in = layer.groups * draw(1, 18);
      layer.out = layer.groups * draw(1, 18);
    }
    layer.param =
        Asymmetric(draw(1, 3), draw(1, 3), draw(0, 3), draw(0, 3), draw(0, 3), draw(0, 3));
    layer.param.dilate_h = draw(1, 2);
    layer.param.dilate_w = draw(1, 2);
    // Enough image for the window.
    layer.h = std::max(layer.h, layer.param.dilate_h * (layer.fh - 1) + 1);
    layer.w = std::max(layer.w, layer.param.dilate_w * (layer.fw - 1) + 1);
    const Variant variant{static_cast<ScalarFunction>(draw(0, 4)),
                          static_cast<Residual>(draw(0, 2))};
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CheckEverywhere(MakeCase(layer, variant, random));
  }
}

// What is not a number in one group stays there.
TEST(ConvTest, GroupsDoNotMix) {
  std::mt19937_64 random(4);
  KernelCase test = MakeCase({"groups", 1, 32, 32, 5, 5, 3, 3, 8, Window(1, 1)}, {}, random);
  for (int64_t i = 0; i < 4 * 25; ++i)
    test.inputs[0].Set(i, std::numeric_limits<double>::infinity());
  test.expected = test.op->Evaluate(test.inputs).value();
  test.floor = 1;
  CheckEverywhere(test);
}

// The candidates for a layer in NCHW16c (the first layer: behind a row-major image), with constant
// weights, bias, ReLU, and z where `residual`.
KernelList Candidates(const Layer& layer, bool residual, int threads,
                      const KernelPolicy& policy = {}) {
  ConvBiasParam param = layer.param;
  param.nonlineMode = ScalarFunction::kRelu;
  const ConvBiasForward op(param);
  KernelRequest request;
  request.op = &op;
  const Format format = layer.in < kChannelBlock ? Format::kDefault : Format::kNCHW16c;
  request.inputs = {{DType::kFloat32, {layer.batch, layer.in, layer.h, layer.w}, format},
                    {DType::kFloat32, {layer.out, layer.in, layer.fh, layer.fw}},
                    {DType::kFloat32, {1, layer.out, 1, 1}}};
  const absl::StatusOr<ConvolutionGeometry> geometry =
      InferConvolution(param, request.inputs[0], request.inputs[1]);
  request.outputs = {{DType::kFloat32, geometry->output(), Format::kNCHW16c}};
  if (residual) request.inputs.push_back(request.outputs[0]);
  request.constant = {false, true, true, false};
  request.constant.resize(request.inputs.size());
  request.processor = HostProcessor();
  request.threads = threads;
  request.policy = policy;
  omp_set_num_threads(threads);
  KernelRegistry registry;
  RegisterConvolutionKernels(registry);
  absl::StatusOr<KernelList> kernels = (*registry.Find(op.type()))(request);
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  return kernels.ok() ? std::move(*kernels) : KernelList();
}

TEST(ConvTest, ResNet50NeedsNoScratch) {
  if (HostProcessor().isa == Isa::kBaseline)
    GTEST_SKIP() << "the processor has neither AVX2 nor AVX-512";
  std::vector<std::pair<Layer, bool>> layers = {
      {{"stem", 1, 3, 64, 224, 224, 7, 7, 1, Window(2, 3)}, false}};
  int64_t in = 64, size = 56;
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t middle = int64_t{64} << stage, out = 4 * middle;
    for (int64_t stride : {stage == 0 ? 1 : 2, 1}) {
      const int64_t next = size / stride;
      layers.push_back({{"reduce", 1, in, middle, size, size, 1, 1, 1, Window(1, 0)}, false});
      layers.push_back({{"3x3", 1, middle, middle, size, size, 3, 3, 1, Window(stride, 1)}, false});
      if (in != out) {
        layers.push_back({{"shortcut", 1, in, out, size, size, 1, 1, 1, Window(stride, 0)}, false});
      }
      layers.push_back({{"expand", 1, middle, out, next, next, 1, 1, 1, Window(1, 0)}, true});
      in = out, size = next;
    }
  }
  for (const auto& [layer, residual] : layers) {
    for (int threads : {1, 2}) {
      SCOPED_TRACE(absl::StrCat(layer.name, " ", layer.in, " to ", layer.out, " of ", layer.h,
                                ", threads ", threads));
      const KernelList kernels = Candidates(layer, residual, threads);
      const auto free_of_scratch = [](const std::unique_ptr<Kernel>& kernel) {
        return kernel->workspace_bytes() == 0;
      };
      const auto free = std::find_if(kernels.begin(), kernels.end(), free_of_scratch);
      ASSERT_NE(free, kernels.end());
      EXPECT_LE((*free)->relative_time(), 1.01);
      for (size_t i = 1; i < kernels.size(); ++i) {
        EXPECT_GE(kernels[i]->relative_time(), kernels[i - 1]->relative_time());
      }
    }
  }
}

TEST(ConvTest, CandidatesShareTheirPackedFilter) {
  if (HostProcessor().isa == Isa::kBaseline)
    GTEST_SKIP() << "the processor has neither AVX2 nor AVX-512";
  const KernelList kernels =
      Candidates({"shortcut", 1, 256, 512, 56, 56, 1, 1, 1, Window(2, 0)}, false, 1);
  ASSERT_GE(kernels.size(), 2u);
  const std::optional<Packing> first = kernels[0]->packing(ConvBiasForward::kFilter);
  const std::optional<Packing> second = kernels[1]->packing(ConvBiasForward::kFilter);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->key, second->key);
  EXPECT_EQ(first->bytes, 256 * 512 * 4);
  EXPECT_FALSE(kernels[0]->packing(ConvBiasForward::kBias).has_value());
}

// What gives up precision or memory is not among the candidates where that is not allowed.
TEST(ConvTest, PoliciesLeaveTheDirectKernels) {
  if (HostProcessor().isa == Isa::kBaseline)
    GTEST_SKIP() << "the processor has neither AVX2 nor AVX-512";
  const Layer layer{"3x3", 1, 128, 128, 28, 28, 3, 3, 1, Window(1, 1)};
  const auto winograd = [](const std::unique_ptr<Kernel>& kernel) {
    return absl::StartsWith(kernel->implementation(), "winograd");
  };
  for (const KernelPolicy policy :
       {KernelPolicy{}, KernelPolicy{.exact = true}, KernelPolicy{.least_memory = true}}) {
    const KernelList kernels = Candidates(layer, false, 1, policy);
    ASSERT_FALSE(kernels.empty());
    const bool any = std::any_of(kernels.begin(), kernels.end(), winograd);
    EXPECT_EQ(any, policy == KernelPolicy{});
    // Winograd's is expected to be faster where it is allowed.
    EXPECT_EQ(winograd(kernels[0]), any);
  }
}

// oneDNN looks at the machine at hand, on which a plan for a named processor must not depend.
TEST(ConvTest, KernelsForANamedProcessorAreOurOwn) {
  const ConvBiasForward op{ConvBiasParam()};
  KernelRequest request;
  request.op = &op;
  request.inputs = {{DType::kFloat32, {1, 32, 9, 9}},
                    {DType::kFloat32, {32, 32, 1, 1}},
                    {DType::kFloat32, {1, 32, 1, 1}}};
  request.outputs = {{DType::kFloat32, {1, 32, 9, 9}}};
  request.constant = {false, true, true};
  request.at_hand = false;
  KernelRegistry registry;
  RegisterConvolutionKernels(registry);
  for (const Isa isa : {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512}) {
    request.processor.isa = isa;
    const absl::StatusOr<KernelList> kernels = (*registry.Find(op.type()))(request);
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    ASSERT_EQ(kernels->size(), 1u);
    EXPECT_EQ(kernels->front()->implementation(), absl::StrCat("direct:", Name(isa)));
    EXPECT_EQ(kernels->front()->workspace_bytes(), 0);
  }
}

}  // namespace
}  // namespace ashlar::cpu
