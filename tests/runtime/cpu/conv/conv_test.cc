// The CPU's kernels for convolutions, and their memory. tests/cases/convolution.cc checks their
// results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/kernels.h"
#include "tests/cases/convolution_layer.h"
#include "tests/cases/kernel_check.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::cpu {
namespace {

using testing::Layer;
using testing::Window;

// Returns the candidates for a layer in NCHW16c, with constant weights, bias, ReLU, and z if
// `residual`. The first layer reads a row-major image.
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
  KernelRegistry registry;
  RegisterConvolutionKernels(registry);
  absl::StatusOr<KernelList> kernels = (*registry.Find(op.type()))(request);
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  return kernels.ok() ? std::move(*kernels) : KernelList();
}

TEST(ConvTest, ResNet50NeedsNoWorkspace) {
  if (HostProcessor().isa == Isa::kBaseline)
    GTEST_SKIP() << "the processor has no vectors that it needs";
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
      const auto free_of_workspace = [](const std::unique_ptr<Kernel>& kernel) {
        return kernel->workspace_bytes() == 0;
      };
      const auto free = std::find_if(kernels.begin(), kernels.end(), free_of_workspace);
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
    GTEST_SKIP() << "the processor has no vectors that it needs";
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

// Kernels that cost precision or memory are candidates only if the policy allows it.
TEST(ConvTest, PoliciesLeaveTheDirectKernels) {
  if (HostProcessor().isa == Isa::kBaseline)
    GTEST_SKIP() << "the processor has no vectors that it needs";
  const Layer layer{"3x3", 1, 128, 128, 28, 28, 3, 3, 1, Window(1, 1)};
  const auto winograd = [](const std::unique_ptr<Kernel>& kernel) {
    return absl::StartsWith(kernel->implementation(), "winograd");
  };
  for (const KernelPolicy policy :
       {KernelPolicy{}, KernelPolicy{.exact = true}, KernelPolicy{.low_workspace = true}}) {
    const KernelList kernels = Candidates(layer, false, 1, policy);
    ASSERT_FALSE(kernels.empty());
    const bool any = std::any_of(kernels.begin(), kernels.end(), winograd);
    EXPECT_EQ(any, policy == KernelPolicy{});
    // Winograd's kernel is expected to be faster, if it is allowed.
    EXPECT_EQ(winograd(kernels[0]), any);
  }
}

// Regression: along a column kernels compute one pixel at a time. A convolution of sequences with
// their time along H took three times as long as with their time along W.
TEST(ConvTest, AColumnIsComputedAsARow) {
  Layer column{"column", 1, 256, 256, 512, 1, 5, 1, 1, Window(1, 0)};
  column.param.pad_h = 2;
  column.param.pad_h_end = 1;
  Layer row{"row", 1, 256, 256, 1, 512, 1, 5, 1, Window(1, 0)};
  row.param.pad_w = 2;
  row.param.pad_w_end = 1;
  for (const bool residual : {false, true}) {
    const KernelList a = Candidates(column, residual, 2), b = Candidates(row, residual, 2);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i]->implementation(), b[i]->implementation());
      EXPECT_EQ(a[i]->workspace_bytes(), b[i]->workspace_bytes());
    }
  }
}

// Winograd's kernel does not multiply the operands themselves.
TEST(ConvTest, ProductsThatAreToBeSummedAsTheyAreAreNotTransformed) {
  Layer layer{"3x3", 1, 128, 128, 28, 28, 3, 3, 1, Window(1, 1)};
  layer.param.compute_mode = ComputeMode::kFloat32;
  for (const auto& kernel : Candidates(layer, false, 1)) {
    EXPECT_FALSE(absl::StartsWith(kernel->implementation(), "winograd"));
  }
}

// Returns the root mean square of the difference of Float32 bytes and doubles.
double RmsError(const std::string& bytes, const HostTensor& want) {
  double squares = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    float got;
    std::memcpy(&got, bytes.data() + i * sizeof(float), sizeof(float));
    squares += (got - want.At(i)) * (got - want.At(i));
  }
  return std::sqrt(squares / static_cast<double>(want.num_elements()));
}

// Compares with sums in double; plans and `compare` state the factor.
TEST(ConvTest, WinogradRoundsNoFurtherThanStated) {
  if (HostProcessor().isa == Isa::kBaseline)
    GTEST_SKIP() << "the processor has no vectors that it needs";
  RegisterDevice();
  Device& device = *testing::Value(OpenDevice(CompNode{}));
  std::mt19937_64 random(5);
  for (const int64_t channels : {16, 64, 256}) {
    const Layer layer{"3x3", 1, channels, 32, 24, 24, 3, 3, 1, Window(1, 1)};
    std::map<std::string, double> factors;
    const KernelPolicy all = {.all_candidates = true};
    for (const auto& kernel : Candidates(layer, false, 1, all)) {
      factors[kernel->implementation()] = kernel->relative_rounding();
    }
    testing::KernelCase test;
    test.op = std::make_shared<const ConvBiasForward>(layer.param);
    test.inputs = {testing::RandomTensor(random, {1, channels, 24, 24}),
                   testing::RandomTensor(random, {32, channels, 3, 3}),
                   testing::RandomTensor(random, {1, 32, 1, 1})};
    test.formats = {Format::kNCHW16c, Format::kDefault, Format::kDefault};
    test.output_format = Format::kNCHW16c;
    test.constant = {false, true, true};
    test.policy = all;
    test.tolerance = 1e-4;  // compared below
    std::vector<HostTensor> wide;
    for (const HostTensor& input : test.inputs) {
      wide.push_back(HostTensor::Zeros(DType::kFloat64, input.shape()));
      for (int64_t i = 0; i < input.num_elements(); ++i) wide.back().Set(i, input.At(i));
    }
    const HostTensor want = testing::Value(test.op->Evaluate(wide))[0];
    double direct = 0;
    const std::vector<testing::KernelOutcome> outcomes = testing::CheckKernels(device, test);
    for (const auto& outcome : outcomes) {
      if (absl::StartsWith(outcome.implementation, "winograd")) continue;
      direct = std::max(direct, RmsError(outcome.outputs[0], want));
    }
    ASSERT_GT(direct, 0);
    for (const auto& outcome : outcomes) {
      SCOPED_TRACE(absl::StrCat(channels, " channels, ", outcome.implementation));
      ASSERT_TRUE(factors.contains(outcome.implementation));
      EXPECT_LE(RmsError(outcome.outputs[0], want), direct * factors[outcome.implementation]);
    }
  }
}

// Images outside of blocks have one kernel, which needs no workspace.
TEST(ConvTest, RowMajorImagesHaveTheDirectKernel) {
  const ConvBiasForward op{ConvBiasParam()};
  KernelRequest request;
  request.op = &op;
  request.inputs = {{DType::kFloat32, {1, 32, 9, 9}},
                    {DType::kFloat32, {32, 32, 1, 1}},
                    {DType::kFloat32, {1, 32, 1, 1}}};
  request.outputs = {{DType::kFloat32, {1, 32, 9, 9}}};
  request.constant = {false, true, true};
  KernelRegistry registry;
  RegisterConvolutionKernels(registry);
  for (const Isa isa : kIsas) {
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
