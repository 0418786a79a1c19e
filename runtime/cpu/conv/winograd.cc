// The algorithm of Lavin and Gray 2016, "Fast Algorithms for Convolutional Neural Networks". The
// transformed inputs V of some patches are (m + 2)^2 matrices of patches by input channels, one for
// each place in the patch. Each is multiplied by the matrix of transformed weights for its place.
// This gives M, matrices of patches by output channels. The products are a 1x1 convolution whose
// pixels are patches.
#include "runtime/cpu/conv/winograd.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "graph/region.h"
#include "runtime/cpu/conv/activation.h"
#include "runtime/cpu/conv/code_of_isa.h"
#include "runtime/cpu/conv/panel_plan.h"
#include "runtime/cpu/conv/tensors.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kBlockBytes = kChannelBlock * kFloatBytes;

// Returns how many blocks of input channels are summed before they are added: their weights for two
// blocks of output channels fill half of the first-level cache.
int64_t PartBlocks(const Processor& processor) {
  return std::max<int64_t>(1, processor.l1_bytes / (4 * kChannelBlock * kBlockBytes));
}

// Returns part `i` of `parts` nearly equal parts of [0, count).
Range Part(int64_t i, int64_t parts, int64_t count) {
  return {i * count / parts, (i + 1) * count / parts};
}

// Returns the transform of a column of a 3x3 window, by row: G of F(m, 3). The row of a point x is
// (1, x, x^2), divided by the product of its distances from the other points (Toom and Cook).
std::vector<std::array<double, 3>> WeightTransform(int m) {
  if (m == 2) return {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  const auto [a, b] = m == 3 ? kWinogradPoints3 : kWinogradPoints4;
  std::vector<double> points = {a, -a, b, -b};
  if (m == 4) points.insert(points.begin(), 0);
  std::vector<std::array<double, 3>> rows;
  for (double x : points) {
    double scale = 1;
    for (double other : points) scale *= other == x ? 1 : x - other;
    rows.push_back({1 / scale, x / scale, x * x / scale});
  }
  rows.push_back({0, 0, 1});
  return rows;
}

class WinogradConvolution final : public Kernel {
 public:
  WinogradConvolution(const ConvProblem& problem, const ConvStrides& strides, int m,
                      const WinogradBlocking& blocking, double relative_time,
                      double relative_arithmetic);

  std::string implementation() const override {
    return absl::StrCat("winograd", m_, ":", Name(isa_), "/", most_, " patches",
                        together_ ? " together" : "");
  }
  int64_t workspace_bytes() const override { return slots_ * SlotBytes(); }
  double relative_time() const override { return relative_time_; }
  double relative_arithmetic() const override { return relative_arithmetic_; }
  // Compares root mean square errors, measured over random images
  // (tests/runtime/cpu/conv/conv_test.cc). F(2x2) sums fewer products than a direct convolution.
  double relative_rounding() const override { return m_ == 2 ? 1 : m_ == 3 ? 2 : 5; }

  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter) return std::nullopt;
    return Packing{
        absl::StrCat("winograd ", m_, " of ", panel_blocks_, " ", problem_.filter.shape.ToString(),
                     problem_.flipped() ? " flipped" : ""),
        places_ * in_blocks_ * out_blocks_ * kChannelBlock * kBlockBytes};
  }
  absl::Status Pack(int input, const HostTensor& value, void* packed) const override;
  absl::Status Run(const KernelArgs& args, KernelState* state) const override;

 private:
  struct Patch {
    int64_t image, y, x;  // the patch's first output pixel
  };

  int64_t SlotBytes() const { return places_ * (v_step_ + m_step_); }
  int64_t BlocksOf(int64_t panel) const {
    return std::min(panel_blocks_, out_blocks_ - panel * panel_blocks_);
  }
  Patch PatchAt(int64_t index) const {
    return {index / (patches_h_ * patches_w_), index / patches_w_ % patches_h_ * m_,
            index % patches_w_ * m_};
  }
  // Moves to the next patch, without divisions.
  void Advance(Patch& patch) const {
    patch.x += m_;
    if (patch.x < patches_w_ * m_) return;
    patch.x = 0, patch.y += m_;
    if (patch.y < patches_h_ * m_) return;
    patch.y = 0, ++patch.image;
  }
  void TransformInput(const ConvTensors& tensors, Range patches, Range blocks, char* v) const;
  void Multiply(const ConvTensors& tensors, int64_t patches, int64_t place, int64_t panel,
                const char* v, char* product) const;
  void TransformOutput(const ConvTensors& tensors, Range patches, Range blocks,
                       const char* product) const;
  void ActivateFloat16(const WinogradOutput& output) const;

  const ConvProblem problem_;
  const bool float16_ = problem_.src.dtype == DType::kFloat16;  // images and bias
  const WindowAxis h_, w_;
  const int m_;
  const int64_t places_;  // in a patch
  const Isa isa_;
  const int64_t part_blocks_;
  const ConvTileCode& tile_code_;
  const WinogradCode& code_;
  const ConvFinish finish_;
  const BlockActivation behind_finish_;
  const WidenFunction widen_ = WidenFor(problem_.src.dtype, isa_);
  const NarrowFunction narrow_ = NarrowFor(problem_.src.dtype, isa_);
  const int64_t in_blocks_, last_lanes_, out_blocks_, panel_blocks_, panels_;
  const ImageStrides src_, z_, dst_;  // in bytes
  const int64_t patches_h_, patches_w_, patches_;
  const bool together_;
  const double relative_time_, relative_arithmetic_;
  int64_t steps_;            // steps over all patches
  int64_t slots_;            // steps with workspace of their own
  int64_t most_;             // patches per step
  int64_t v_step_, m_step_;  // bytes between places
};

WinogradConvolution::WinogradConvolution(const ConvProblem& problem, const ConvStrides& strides,
                                         int m, const WinogradBlocking& blocking,
                                         double relative_time, double relative_arithmetic)
    : problem_(problem),
      h_(problem.geometry.h),
      w_(problem.geometry.w),
      m_(m),
      places_((m + 2) * (m + 2)),
      isa_(problem.processor.isa),
      part_blocks_(PartBlocks(problem.processor)),
      tile_code_(ConvTileCodeFor(isa_)),
      code_(WinogradCodeFor(isa_, m)),
      finish_(FinishOf(problem.param)),
      behind_finish_(BlockActivation::BehindFinish(problem.param, problem.processor.isa)),
      in_blocks_(ChannelBlocks(problem.geometry.in_channels)),
      last_lanes_(problem.geometry.in_channels - (in_blocks_ - 1) * kChannelBlock),
      out_blocks_(ChannelBlocks(problem.geometry.out_channels)),
      panel_blocks_(tile_code_.blocks),
      panels_(CeilDivide(out_blocks_, panel_blocks_)),
      src_(InBytes(strides.src, SizeOf(problem.src.dtype))),
      z_(InBytes(strides.z, SizeOf(problem.dst.dtype))),
      dst_(InBytes(strides.dst, SizeOf(problem.dst.dtype))),
      patches_h_(CeilDivide(h_.output, m)),
      patches_w_(CeilDivide(w_.output, m)),
      patches_(problem.geometry.batch * patches_h_ * patches_w_),
      together_(blocking.together && problem.threads > 1),
      relative_time_(relative_time),
      relative_arithmetic_(relative_arithmetic) {
  steps_ = CeilDivide(patches_, std::min(blocking.patches, patches_));
  slots_ = together_ || steps_ == 1 ? 1 : problem.threads;
  most_ = CeilDivide(patches_, steps_);
  // An odd number of lines, so that the places of a patch fall into different cache sets.
  v_step_ = (in_blocks_ * most_ | 1) * kBlockBytes;
  m_step_ = (out_blocks_ * most_ | 1) * kBlockBytes;
}

// Packs the weights of each place, by panel, input channel and output channel of the panel.
absl::Status WinogradConvolution::Pack(int /*input*/, const HostTensor& value, void* packed) const {
  std::vector<float> wide;
  if (value.dtype() == DType::kFloat16) {
    wide.resize(value.num_elements());
    widen_(value.data<uint16_t>().data(), wide.data(), value.num_elements());
  }
  const float* const filter = wide.empty() ? value.data<float>().data() : wide.data();
  const std::vector<std::array<double, 3>> transform = WeightTransform(m_);
  const int64_t in_channels = problem_.geometry.in_channels, n = m_ + 2;
  const int64_t out_channels = problem_.geometry.out_channels;
  const bool flipped = problem_.flipped();
  const int64_t place_floats = in_blocks_ * out_blocks_ * kChannelBlock * kChannelBlock;
  ParallelFor(problem_.threads, out_blocks_, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t panel = block / panel_blocks_, width = BlocksOf(panel) * kChannelBlock;
      float* const of_panel = static_cast<float*>(packed) +
                              panel * panel_blocks_ * kChannelBlock * in_blocks_ * kChannelBlock +
                              block % panel_blocks_ * kChannelBlock;
      for (int64_t in = 0; in < in_blocks_ * kChannelBlock; ++in) {
        for (int64_t lane = 0; lane < kChannelBlock; ++lane) {
          const int64_t out = block * kChannelBlock + lane;
          float* const to = of_panel + in * width + lane;
          if (in >= in_channels || out >= out_channels) {
            for (int64_t place = 0; place < places_; ++place) to[place * place_floats] = 0;
            continue;
          }
          const float* const window = filter + (out * in_channels + in) * 9;
          double half[6][3];
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t column = 0; column < 3; ++column) {
              half[i][column] = 0;
              for (int64_t row = 0; row < 3; ++row) {
                const int64_t tap = row * 3 + column;
                half[i][column] += transform[i][row] * window[flipped ? 8 - tap : tap];
              }
            }
          }
          for (int64_t i = 0; i < n; ++i) {
            for (int64_t j = 0; j < n; ++j) {
              const double sum = half[i][0] * transform[j][0] + half[i][1] * transform[j][1] +
                                 half[i][2] * transform[j][2];
              to[(i * n + j) * place_floats] = static_cast<float>(sum);
            }
          }
        }
      }
    }
  });
  return absl::OkStatus();
}

// Returns the part of [origin, origin + length) inside [0, limit), relative to origin.
std::pair<int, int> PartInside(int64_t origin, int64_t length, int64_t limit) {
  const int64_t begin = std::clamp<int64_t>(-origin, 0, length);
  const int64_t end = std::clamp<int64_t>(limit - origin, begin, length);
  return {static_cast<int>(begin), static_cast<int>(end)};
}

// Goes through the patches of one block of channels before the next block, so that it reads few
// rows at a time: the processor fetches these ahead.
void WinogradConvolution::TransformInput(const ConvTensors& tensors, Range patches, Range blocks,
                                         char* v) const {
  const int64_t count = patches.size();
  WinogradInput input;
  input.row_step = src_.h, input.column_step = src_.w, input.to_step = v_step_;
  input.float16 = float16_;
  const Patch first = PatchAt(patches.begin);
  for (int64_t block = blocks.begin; block < blocks.end; ++block) {
    Patch patch = first;
    for (int64_t i = 0; i < count; ++i, Advance(patch)) {
      const int64_t y = h_.Origin(patch.y), x = w_.Origin(patch.x);
      std::tie(input.row_begin, input.row_end) = PartInside(y, m_ + 2, h_.input);
      std::tie(input.column_begin, input.column_end) = PartInside(x, m_ + 2, w_.input);
      input.src = tensors.src + patch.image * src_.n + block * src_.c + y * src_.h + x * src_.w;
      input.to = v + (block * count + i) * kBlockBytes;
      code_.input(input);
    }
  }
}

// Computes the products of one place for one panel of output channels.
void WinogradConvolution::Multiply(const ConvTensors& tensors, int64_t patches, int64_t place,
                                   int64_t panel, const char* v, char* product) const {
  const int64_t blocks = BlocksOf(panel), lane_bytes = blocks * kBlockBytes;
  const int64_t place_bytes = in_blocks_ * out_blocks_ * kChannelBlock * kBlockBytes;
  const int64_t runs = CeilDivide(patches, tile_code_.pixels);
  ConvTile tile = {};
  tile.pixel_step = kBlockBytes, tile.lane_step = kFloatBytes;
  tile.block_step = patches * kBlockBytes;
  tile.lanes = kChannelBlock;
  tile.rows = tile.columns = 1;
  tile.weights_block_step = kChannelBlock * lane_bytes;
  tile.prefetch_step = CeilDivide(lane_bytes, runs);
  tile.prefetch_block_step = kChannelBlock * tile.prefetch_step;
  tile.dst_pixel_step = tile.sums_pixel_step = kBlockBytes;
  tile.dst_block_step = tile.sums_block_step = patches * kBlockBytes;
  tile.last_channels = kChannelBlock;
  const char* const weights = tensors.weights + place * place_bytes +
                              panel * panel_blocks_ * kBlockBytes * in_blocks_ * kChannelBlock;
  char* const dst = product + place * m_step_ + panel * panel_blocks_ * patches * kBlockBytes;
  for (int64_t begin = 0; begin < in_blocks_; begin += part_blocks_) {
    const int64_t count = std::min(part_blocks_, in_blocks_ - begin);
    tile.blocks = static_cast<int>(count);
    tile.last_lanes = static_cast<int>(begin + count == in_blocks_ ? last_lanes_ : kChannelBlock);
    tile.weights = weights + begin * tile.weights_block_step;
    // Prefetches the same part of the next panel, or of the next place's first panel, which follows
    // this one.
    tile.prefetch = tile.weights + in_blocks_ * tile.weights_block_step;
    const char* const src = v + place * v_step_ + begin * tile.block_step;
    for (int64_t run = 0; run < runs; ++run) {
      const Range range = Part(run, runs, patches);
      tile.src = src + range.begin * kBlockBytes;
      tile.dst = dst + range.begin * kBlockBytes;
      tile.sums = begin > 0 ? tile.dst : nullptr;
      tile_code_.run[blocks][range.size()](tile);
      tile.prefetch += count * tile.weights_block_step / runs;
    }
  }
}

void WinogradConvolution::TransformOutput(const ConvTensors& tensors, Range patches, Range blocks,
                                          const char* product) const {
  const int64_t count = patches.size(), channels = problem_.geometry.out_channels;
  WinogradOutput output = {};
  output.from_step = m_step_;
  output.z_row_step = z_.h, output.z_column_step = z_.w;
  output.dst_row_step = dst_.h, output.dst_column_step = dst_.w;
  output.finish = finish_;
  output.float16_z = output.float16_dst = float16_;
  const Patch first = PatchAt(patches.begin);
  for (int64_t block = blocks.begin; block < blocks.end; ++block) {
    const int64_t channel = block * kChannelBlock;
    output.channels = static_cast<int>(std::min(kChannelBlock, channels - channel));
    alignas(64) float bias[kChannelBlock] = {};
    if (tensors.bias != nullptr) {
      CopyBias(tensors.bias, widen_, channel, output.channels, bias);
    }
    output.bias = bias;
    Patch patch = first;
    for (int64_t i = 0; i < count; ++i, Advance(patch)) {
      const auto offset = [&](const ImageStrides& s) {
        return patch.image * s.n + block * s.c + patch.y * s.h + patch.x * s.w;
      };
      output.from = product + (block * count + i) * kBlockBytes;
      output.z = tensors.z == nullptr ? nullptr : tensors.z + offset(z_);
      output.dst = tensors.dst + offset(dst_);
      output.rows = static_cast<int>(std::min<int64_t>(m_, h_.output - patch.y));
      output.columns = static_cast<int>(std::min<int64_t>(m_, w_.output - patch.x));
      if (float16_ && behind_finish_) {
        ActivateFloat16(output);
        continue;
      }
      code_.output(output);
      for (int row = 0; row < output.rows && behind_finish_; ++row) {
        behind_finish_(output.dst + row * dst_.h, output.columns, dst_.w, output.channels);
      }
    }
  }
}

// Applies the activation to a patch in Float32.
void WinogradConvolution::ActivateFloat16(const WinogradOutput& output) const {
  constexpr int64_t kMost = 4;
  alignas(64) float values[kMost * kMost * kChannelBlock];
  WinogradOutput wide = output;
  wide.dst = reinterpret_cast<char*>(values);
  wide.dst_column_step = kBlockBytes, wide.dst_row_step = m_ * kBlockBytes;
  wide.float16_dst = false;
  code_.output(wide);
  for (int row = 0; row < output.rows; ++row) {
    behind_finish_(wide.dst + row * wide.dst_row_step, output.columns, kBlockBytes,
                   output.channels);
    for (int column = 0; column < output.columns; ++column) {
      narrow_(values + (row * m_ + column) * kChannelBlock,
              reinterpret_cast<uint16_t*>(output.dst + row * output.dst_row_step +
                                          column * output.dst_column_step),
              kChannelBlock);
    }
  }
}

absl::Status WinogradConvolution::Run(const KernelArgs& args, KernelState* /*state*/) const {
  const ConvTensors tensors = ConvTensorsOf(args, problem_.has_bias, problem_.z.has_value());
  char* const workspace = static_cast<char*>(args.workspace);
  const int threads = problem_.threads;
  if (together_) {
    char *const v = workspace, *const product = workspace + places_ * v_step_;
    for (int64_t step = 0; step < steps_; ++step) {
      const Range patches = Part(step, steps_, patches_);
      ParallelFor(threads, in_blocks_, 1, [&](int64_t begin, int64_t end) {
        TransformInput(tensors, patches, {begin, end}, v);
      });
      ParallelFor(threads, places_ * panels_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Multiply(tensors, patches.size(), i / panels_, i % panels_, v, product);
        }
      });
      ParallelFor(threads, out_blocks_, 1, [&](int64_t begin, int64_t end) {
        TransformOutput(tensors, patches, {begin, end}, product);
      });
    }
    return absl::OkStatus();
  }
  ParallelPieces(threads, steps_, [&](int64_t step, int thread) {
    char *const v = workspace + thread * SlotBytes(), *const product = v + places_ * v_step_;
    const Range patches = Part(step, steps_, patches_);
    TransformInput(tensors, patches, {0, in_blocks_}, v);
    for (int64_t place = 0; place < places_; ++place) {
      for (int64_t panel = 0; panel < panels_; ++panel) {
        Multiply(tensors, patches.size(), place, panel, v, product);
      }
    }
    TransformOutput(tensors, patches, {0, out_blocks_}, product);
  });
  return absl::OkStatus();
}

}  // namespace

bool WinogradConvolutionFits(const ConvProblem& problem) {
  const auto fits = [](const WindowAxis& axis) {
    return axis.window == 3 && axis.stride == 1 && axis.dilation == 1;
  };
  return problem.constant_filter && problem.src.dtype != DType::kBFloat16 &&
         fits(problem.geometry.h) && fits(problem.geometry.w) && problem.geometry.groups == 1 &&
         IsBlocked(problem.src.format) && PanelConvolutionFits(problem);
}

std::unique_ptr<Kernel> MakeWinogradConvolution(const ConvProblem& problem,
                                                const ConvStrides& strides, int m,
                                                const WinogradBlocking& blocking,
                                                double relative_time, double relative_arithmetic) {
  return std::make_unique<WinogradConvolution>(problem, strides, m, blocking, relative_time,
                                               relative_arithmetic);
}

}  // namespace ashlar::cpu
