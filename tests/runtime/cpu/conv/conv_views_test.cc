// Our convolution kernels on views of larger buffers, for every instruction set of the host.
// Results are compared with the operator's evaluation in double precision, and bitwise between
// numbers of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "opr/conv_bias.h"
#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/panel.h"
#include "runtime/cpu/conv/panel_plan.h"
#include "runtime/cpu/conv/winograd.h"
#include "runtime/cpu/host_processor.h"
#include "tests/support/tensors.h"

namespace ashlar::cpu {
namespace {

using testing::RandomTensor;

constexpr double kTolerance = 1e-5;  // relative to the root mean square of the output
constexpr float kCanary = -12345.5f;

// A blocked image inside a larger buffer, like a row strip, a tile or a range of channels.
class ImageView {
 public:
  enum class Lie { kContiguous, kRowStrip, kTile };

  ImageView(const Shape& shape, Lie lie) : shape_(shape) {
    // The buffer's image has this many more blocks, rows and columns around the view.
    const int64_t more = lie == Lie::kContiguous ? 0 : 2, columns = lie == Lie::kTile ? 3 : 0;
    const Format format = lie == Lie::kRowStrip ? Format::kNHCW16c : Format::kNCHW16c;
    const TensorType whole{DType::kFloat32,
                           {shape[0], (ChannelBlocks(shape[1]) + more) * kChannelBlock,
                            shape[2] + more, shape[3] + 2 * columns},
                           format};
    strides_ = StridesOf(whole);
    offset_ = more / 2 * (strides_.c + strides_.h) + columns * strides_.w;
    values_.assign(whole.bytes() / 4, kCanary);
  }

  const ImageStrides& strides() const { return strides_; }
  float* data() { return values_.data() + offset_; }
  const std::vector<float>& values() const { return values_; }
  void Fill(float value) { std::fill(values_.begin(), values_.end(), value); }

  // Calls visit(place in the view, index of the logical element or -1 in the padding).
  void ForEach(const std::function<void(int64_t, int64_t)>& visit) const {
    for (int64_t n = 0; n < shape_[0]; ++n) {
      for (int64_t c = 0; c < ChannelBlocks(shape_[1]) * kChannelBlock; ++c) {
        for (int64_t y = 0; y < shape_[2]; ++y) {
          for (int64_t x = 0; x < shape_[3]; ++x) {
            const int64_t place = n * strides_.n + c / kChannelBlock * strides_.c + y * strides_.h +
                                  x * strides_.w + c % kChannelBlock;
            const int64_t index = ((n * shape_[1] + c) * shape_[2] + y) * shape_[3] + x;
            visit(offset_ + place, c < shape_[1] ? index : -1);
          }
        }
      }
    }
  }
  void Set(const HostTensor& tensor) {
    ForEach([&](int64_t place, int64_t index) {
      values_[place] = index < 0 ? 0.0f : tensor.data<float>()[index];
    });
  }

 private:
  Shape shape_;
  ImageStrides strides_;
  int64_t offset_ = 0;
  std::vector<float> values_;
};

struct Case {
  const char* name;
  int64_t batch, in, out, h, w, window;
  int64_t stride = 1, dilation = 1, groups = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;  // padding
  ScalarFunction activation = ScalarFunction::kRelu;
  bool residual = false;
};

const Case kCases[] = {
    {"1x1", 2, 48, 64, 5, 7, 1},
    {"1x1 of many pixels", 1, 32, 32, 9, 31, 1},
    {"1x1 on one pixel", 3, 20, 40, 1, 1, 1},
    {"1x1 stride 2", 1, 32, 48, 9, 8, 1, 2},
    {"1x1 of many channels", 1, 640, 40, 3, 7, 1},
    {"3x3", 2, 32, 48, 9, 13, 3, 1, 1, 1, 1, 1, 1, 1},
    {"3x3 of many channels", 1, 256, 32, 5, 6, 3, 1, 1, 1, 1, 1, 1, 1},
    {"strip at the top", 1, 32, 32, 3, 15, 3, 1, 1, 1, 1, 1, 0, 1},
    {"strip between", 1, 32, 32, 4, 15, 3, 1, 1, 1, 0, 1, 0, 1},
    {"strip at the bottom", 1, 32, 32, 3, 15, 3, 1, 1, 1, 0, 1, 1, 1},
    {"strip of one row out", 1, 32, 32, 3, 29, 3, 1, 1, 1, 0, 1, 0, 1},
    {"strip of one row in", 1, 32, 32, 1, 29, 3, 1, 1, 1, 1, 1, 1, 1},
    {"strided strip", 1, 32, 32, 5, 15, 3, 2, 1, 1, 0, 1, 0, 1},
    {"odd channels", 2, 21, 37, 6, 5, 3, 1, 1, 1, 1, 1, 1, 1, ScalarFunction::kSigmoid},
    {"5x5 dilated, residual", 1, 16, 32, 13, 12, 5, 1, 2, 1, 4, 4, 4, 4, ScalarFunction::kRelu,
     true},
    {"padding wider than the image", 1, 16, 16, 3, 3, 3, 1, 4, 1, 4, 4, 4, 4},
    {"groups", 2, 64, 96, 7, 6, 3, 1, 1, 2, 1, 1, 1, 1, ScalarFunction::kHSwish},
    {"depthwise", 2, 32, 32, 9, 17, 3, 1, 1, 32, 1, 1, 1, 1},
    {"depthwise strip", 1, 40, 40, 3, 30, 3, 1, 1, 40, 0, 1, 0, 1, ScalarFunction::kRelu, true},
    {"depthwise 5x5, stride 2", 1, 23, 23, 9, 11, 5, 2, 1, 23, 2, 2, 2, 2, ScalarFunction::kClamp},
    {"residual", 2, 32, 33, 7, 10, 3, 1, 1, 1, 1, 1, 1, 1, ScalarFunction::kClamp, true},
};

struct Problem {
  std::shared_ptr<ConvBiasForward> op;
  std::vector<HostTensor> inputs;
  HostTensor expected;
  KernelRequest request;
};

Problem MakeProblem(const Case& c, std::mt19937_64& random) {
  Problem problem;
  ConvBiasParam param;
  param.stride_h = param.stride_w = c.stride;
  param.dilate_h = param.dilate_w = c.dilation;
  param.pad_h = c.top, param.pad_w = c.left, param.pad_h_end = c.bottom, param.pad_w_end = c.right;
  param.nonlineMode = c.activation;
  if (c.activation == ScalarFunction::kClamp) param.parameters = {0.25, 1.5};
  Shape filter{c.out / c.groups, c.in / c.groups, c.window, c.window};
  if (c.groups > 1) {
    param.sparse = SparseMode::kGroup;
    filter = {c.groups, filter[0], filter[1], c.window, c.window};
  }
  const double scale = 3 / std::sqrt(static_cast<double>(c.in / c.groups * c.window * c.window));
  problem.op = std::make_shared<ConvBiasForward>(param);
  problem.inputs = {RandomTensor(random, DType::kFloat32, {c.batch, c.in, c.h, c.w}),
                    RandomTensor(random, DType::kFloat32, filter, -scale, scale),
                    RandomTensor(random, DType::kFloat32, {1, c.out, 1, 1})};
  const Shape output = InferConvolution(param, {DType::kFloat32, problem.inputs[0].shape()},
                                        {DType::kFloat32, filter})
                           ->output();
  if (c.residual) problem.inputs.push_back(RandomTensor(random, DType::kFloat32, output));
  problem.expected = std::move(problem.op->Evaluate(problem.inputs)->front());
  KernelRequest& request = problem.request;
  request.op = problem.op.get();
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const bool image = i == ConvBiasForward::kSrc || i == ConvBiasForward::kZ;
    request.inputs.push_back(
        {DType::kFloat32, problem.inputs[i].shape(), image ? Format::kNCHW16c : Format::kDefault});
    request.constant.push_back(!image);
  }
  request.outputs = {{DType::kFloat32, output, Format::kNCHW16c}};
  return problem;
}

using Maker = std::function<std::unique_ptr<Kernel>(const ConvProblem&, const ConvStrides&)>;

// Returns the output's whole buffer after the kernel; z is a separate tensor, or the output.
std::vector<float> Result(const Problem& problem, Isa isa, int threads, ImageView::Lie lie,
                          bool in_place, const Maker& make) {
  KernelRequest request = problem.request;
  request.processor.isa = isa;
  request.threads = threads;
  const ConvProblem convolution = *ReadConvolution(request, problem.op->param());
  ImageView src(problem.inputs[0].shape(), lie), dst(problem.expected.shape(), lie),
      z(problem.expected.shape(), lie);
  src.Fill(std::numeric_limits<float>::quiet_NaN());
  src.Set(problem.inputs[0]);
  const bool has_z = convolution.z.has_value();
  ImageView& z_or_dst = in_place ? dst : z;
  if (has_z) z_or_dst.Set(problem.inputs[ConvBiasForward::kZ]);
  ConvStrides strides(convolution);
  strides.src = src.strides(), strides.dst = dst.strides(), strides.z = z_or_dst.strides();
  const std::unique_ptr<Kernel> kernel = make(convolution, strides);
  const HostTensor& filter = problem.inputs[ConvBiasForward::kFilter];
  std::vector<float> packed(kernel->packing(ConvBiasForward::kFilter)->bytes / 4);
  EXPECT_TRUE(kernel->Pack(ConvBiasForward::kFilter, filter, packed.data()).ok());
  // A canary follows the workspace.
  std::vector<float> workspace(kernel->workspace_bytes() / 4 + 1,
                               std::numeric_limits<float>::quiet_NaN());
  workspace.back() = kCanary;
  const void* inputs[] = {src.data(), packed.data(), problem.inputs[2].raw(), z_or_dst.data()};
  void* outputs[] = {dst.data()};
  const KernelArgs args{absl::MakeConstSpan(inputs, has_z ? 4 : 3), absl::MakeSpan(outputs),
                        workspace.data()};
  EXPECT_TRUE(kernel->Run(args, nullptr).ok());
  EXPECT_EQ(workspace.back(), kCanary);

  // Every value is in its place, and nothing was written anywhere else.
  double square = 0, worst = 0;
  const absl::Span<const float> expected = problem.expected.data<float>();
  std::vector<float> outside = dst.values();
  dst.ForEach([&](int64_t place, int64_t index) {
    outside[place] = kCanary;
    const double value = dst.values()[place];
    if (index < 0) {
      EXPECT_EQ(value, 0) << "in the padding of channels";
      return;
    }
    square += expected[index] * expected[index];
    worst = std::max(worst, std::isnan(value) ? 1e30 : std::abs(value - expected[index]));
  });
  EXPECT_LE(worst, kTolerance * std::sqrt(square / static_cast<double>(expected.size())));
  EXPECT_EQ(outside, std::vector<float>(outside.size(), kCanary)) << "outside of the view";
  return dst.values();
}

void CheckEverywhere(const Problem& problem, Isa isa, const std::vector<Maker>& makers) {
  using Lie = ImageView::Lie;
  for (Lie lie : {Lie::kContiguous, Lie::kRowStrip, Lie::kTile}) {
    for (bool in_place : {false, true}) {
      if (in_place && problem.inputs.size() == 3) continue;
      SCOPED_TRACE(absl::StrCat("lie ", static_cast<int>(lie), in_place ? ", in place" : ""));
      std::vector<float> first;
      for (const Maker& make : makers) {
        for (int threads : {1, 2}) {
          SCOPED_TRACE(absl::StrCat("threads ", threads));
          const std::vector<float> result = Result(problem, isa, threads, lie, in_place, make);
          if (first.empty()) first = result;
          EXPECT_EQ(std::memcmp(first.data(), result.data(), first.size() * sizeof(float)), 0);
        }
      }
    }
  }
}

// Returns the instruction sets whose code runs here. NEON's always does: it is written with vectors
// of four floats.
std::vector<Isa> HostIsas() {
  std::vector<Isa> isas = {Isa::kNeon};
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (Contains(HostProcessor().isa, isa)) isas.push_back(isa);
  }
  return isas;
}

TEST(ConvViewsTest, Panels) {
  std::mt19937_64 random(1);
  for (const Case& c : kCases) {
    const Problem problem = MakeProblem(c, random);
    for (Isa isa : HostIsas()) {
      SCOPED_TRACE(absl::StrCat(c.name, ", ", Name(isa)));
      CheckEverywhere(problem, isa,
                      {[&](const ConvProblem& convolution, const ConvStrides& strides) {
                        EXPECT_TRUE(PanelConvolutionFits(convolution));
                        return MakePanelConvolution(convolution, strides, 1.0,
                                                    PanelInputBytes(convolution.processor));
                      }});
    }
  }
}

// Blocking does not change a bit either.
TEST(ConvViewsTest, Winograd) {
  std::mt19937_64 random(2);
  const WinogradBlocking blockings[] = {{14, false}, {3, false}, {1000, false}, {5, true}};
  for (const Case& c : kCases) {
    if (c.window != 3 || c.stride != 1 || c.dilation != 1 || c.groups != 1) continue;
    const Problem problem = MakeProblem(c, random);
    for (Isa isa : HostIsas()) {
      for (int m : {2, 3, 4}) {
        SCOPED_TRACE(absl::StrCat(c.name, ", ", Name(isa), ", m ", m));
        std::vector<Maker> makers;
        for (const WinogradBlocking& blocking : blockings) {
          makers.push_back([=](const ConvProblem& convolution, const ConvStrides& strides) {
            EXPECT_TRUE(WinogradConvolutionFits(convolution));
            return MakeWinogradConvolution(convolution, strides, m, blocking, 1.0, 1.0);
          });
        }
        CheckEverywhere(problem, isa, makers);
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::cpu
