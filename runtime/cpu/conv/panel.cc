// Direct convolution with blocking for registers and caches (panel.h).
//
// - The output is cut into tiles: up to 14 pixels of a row by a panel of up to 32 channels.
// - A task is one panel for a run of tiles. The run's input stays in the second-level cache while
//   all panels pass over it.
// - In a task, a chunk of the panel's weights stays in that cache while all tiles pass over it.
//   Meanwhile the next chunk is prefetched.
#include "runtime/cpu/conv/panel.h"

#include <algorithm>
#include <cstdlib>

#include "graph/region.h"
#include "runtime/cpu/conv/activation.h"
#include "runtime/cpu/conv/code_of_isa.h"
#include "runtime/cpu/conv/panel_plan.h"
#include "runtime/cpu/conv/tensors.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/matrix_tile.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kLine = 64;

// Returns the taps of a window inside the image.
Range TapsInside(const WindowAxis& axis, int64_t output) {
  const int64_t origin = axis.Origin(output);
  Range taps{0, axis.window};
  if (origin < 0) taps.begin = std::min(CeilDivide(-origin, axis.dilation), axis.window);
  if (origin + axis.extent() > axis.input) {
    taps.end = origin < axis.input ? (axis.input - 1 - origin) / axis.dilation + 1 : 0;
  }
  taps.end = std::max(taps.begin, taps.end);
  return taps;
}

class PanelConvolution final : public PanelKernel {
 public:
  PanelConvolution(const ConvProblem& problem, const ConvStrides& strides, double relative_time,
                   int64_t input_bytes, FilterPacking filter_packing)
      : plan_(problem, strides, ConvTileCodeFor(problem.processor.isa), input_bytes),
        finish_(FinishOf(problem.param)),
        behind_finish_(BlockActivation::BehindFinish(problem.param, problem.processor.isa)),
        filter_shape_(problem.filter.shape),
        weights_(problem.weights),
        flipped_(problem.flipped()),
        constant_(problem.constant_filter),
        by_chunks_(!constant_ && !plan_.depthwise && !plan_.halves &&
                   filter_packing == FilterPacking::kChunks),
        has_bias_(problem.has_bias),
        has_z_(problem.z.has_value()),
        threads_(problem.threads),
        isa_(problem.processor.isa),
        narrow_(NarrowFor(problem.src.dtype, isa_)),
        relative_time_(relative_time) {}

  std::string implementation() const override {
    return absl::StrCat(plan_.depthwise ? "depthwise:" : "panel:", Name(isa_), "/", plan_.runs,
                        plan_.runs == 1 ? " run" : " runs", by_chunks_ ? " by chunks" : "");
  }
  int64_t workspace_bytes() const override {
    if (plan_.widens) return threads_ * ThreadBytes();
    return constant_ ? 0 : by_chunks_ ? threads_ * plan_.ChunkBytes() : packed_bytes();
  }
  double relative_time() const override { return relative_time_; }

  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter || !constant_) return std::nullopt;
    return Packing{
        absl::StrCat(plan_.depthwise ? "depthwise" : "", "panels of ", plan_.panel_blocks, " by ",
                     plan_.lanes, " ", filter_shape_.ToString(), flipped_ ? " flipped" : "",
                     plan_.filter_float == StoredFloat::kBFloat16 ? " BFloat16" : ""),
        packed_bytes()};
  }
  absl::Status Pack(int /*input*/, const HostTensor& value, void* packed) const override {
    if (!plan_.widens) {
      PackFilter(value.data<float>().data(), packed);
      return absl::OkStatus();
    }
    std::vector<float> wide(value.num_elements());
    plan_.widening.widen(value.data<uint16_t>().data(), wide.data(), value.num_elements());
    if (plan_.filter_float == StoredFloat::kFloat32) {
      PackFilter(wide.data(), packed);
      return absl::OkStatus();
    }
    std::vector<float> panels(packed_bytes() / kHalfBytes);
    PackFilter(wide.data(), panels.data());
    narrow_(panels.data(), static_cast<uint16_t*>(packed), packed_bytes() / kHalfBytes);
    return absl::OkStatus();
  }
  int64_t packed_bytes() const override { return plan_.groups * plan_.GroupBytes(); }
  void PackFilter(const float* filter, void* packed) const override;
  void RunPacked(const ConvTensors& tensors, void* workspace) const override;
  void RunFilter(const ConvTensors& tensors, void* workspace) const override;
  absl::Status Run(const KernelArgs& args, KernelState* state) const override;

 private:
  void PackChannels(const float* filter, float* packed) const;
  void PackHalves(const float* filter, float* packed) const;
  void PackBlocks(const float* filter, int64_t panel, const Range& blocks, float* packed) const;
  void PackRows(const float* from, int64_t lanes, int64_t outs, int64_t width, float* packed) const;
  void PackTaps(const float* from, int64_t lanes, int64_t outs, int64_t width, float* packed) const;
  // The parts of a thread's workspace.
  struct Own {
    float* chunk_weights = nullptr;
    float *input = nullptr, *sums = nullptr;  // if images are 16-bit floats
    int64_t run = -1, group = -1;             // to which `input` belongs
  };
  int64_t ThreadBytes() const { return RoundUp(plan_.InputBytes() + plan_.SumsBytes(), kLine); }
  void RunTask(const ConvTensors& tensors, int64_t task, Own& own) const;
  const char* InputOf(const char* src, int64_t index) const;
  void RunTiles(ConvTile tile, int64_t origin, const Range& tiles, int64_t blocks,
                int64_t prefetch_part, bool last) const;
  void RunTile(ConvTileFunction run, const ConvTile& tile, int64_t blocks, int64_t pixels) const;
  void Activate(const ConvTile& tile, int64_t blocks, int64_t pixels) const;

  const PanelPlan plan_;
  const ConvFinish finish_;
  const BlockActivation behind_finish_;
  const Shape filter_shape_;
  const FilterView weights_;
  const bool rows_ = std::abs(weights_.column) == 1 &&
                     weights_.row == plan_.w.window * weights_.column &&
                     weights_.in == plan_.h.window * plan_.w.window;
  const bool flipped_, constant_, by_chunks_, has_bias_, has_z_;
  const int threads_;
  const Isa isa_;
  const PackPanelFunction pack_ = PackPanelFor(isa_);
  const NarrowFunction narrow_;
  const double relative_time_;
};

// Packs each channel's own weights by block, tap and lane.
void PanelConvolution::PackChannels(const float* filter, float* packed) const {
  const PanelPlan& plan = plan_;
  const int64_t taps = plan.h.window * plan.w.window;
  for (int64_t block = 0; block < plan.groups; ++block) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t at = weights_.first + tap / plan.w.window * weights_.row +
                         tap % plan.w.window * weights_.column;
      for (int64_t lane = 0; lane < kChannelBlock; ++lane) {
        const int64_t channel = block * kChannelBlock + lane;
        *packed++ = channel < plan.out_channels ? filter[at + channel * weights_.group] : 0.0f;
      }
    }
  }
}

// Packs by block, tap, lane and channel, with zeros if lane and channel are in different groups.
void PanelConvolution::PackHalves(const float* filter, float* packed) const {
  const PanelPlan& plan = plan_;
  constexpr int64_t kHalf = kChannelBlock / 2;
  for (int64_t block = 0; block < plan.groups; ++block) {
    for (int64_t tap = 0; tap < plan.h.window * plan.w.window; ++tap) {
      const int64_t at = weights_.first + tap / plan.w.window * weights_.row +
                         tap % plan.w.window * weights_.column;
      for (int64_t lane = 0; lane < kChannelBlock; ++lane) {
        for (int64_t out = 0; out < kChannelBlock; ++out) {
          const bool alike =
              lane / kHalf == out / kHalf && block * kChannelBlock + out < plan.out_channels;
          *packed++ = alike ? filter[at + (2 * block + out / kHalf) * weights_.group +
                                     out % kHalf * weights_.out + lane % kHalf * weights_.in]
                            : 0.0f;
        }
      }
    }
  }
}

// Packs some blocks of input channels of a panel by block, tap, lane and channel of the panel, with
// zeros for missing channels.
void PanelConvolution::PackBlocks(const float* filter, int64_t panel, const Range& blocks,
                                  float* packed) const {
  const PanelPlan& plan = plan_;
  const int64_t width = plan.BlocksOf(panel) * kChannelBlock;
  const int64_t first = panel % plan.panels * plan.panel_blocks * kChannelBlock;
  const int64_t outs = std::min(width, plan.out_channels / plan.groups - first);
  const int64_t block_floats = plan.h.window * plan.w.window * plan.lanes * width;
  if (outs < width || plan.last_lanes < plan.lanes) {
    std::fill_n(packed, blocks.size() * block_floats, 0.0f);
  }
  const float* from = filter + weights_.first + panel / plan.panels * weights_.group +
                      first * weights_.out + blocks.begin * plan.lanes * weights_.in;
  for (int64_t block = blocks.begin; block < blocks.end; ++block, packed += block_floats) {
    const int64_t lanes = block + 1 < plan.in_blocks ? plan.lanes : plan.last_lanes;
    if (rows_) {
      PackRows(from, lanes, outs, width, packed);
    } else {
      PackTaps(from, lanes, outs, width, packed);
    }
    from += plan.lanes * weights_.in;
  }
}

// Packs a block in which all weights of an output channel are contiguous, by transposing such rows.
void PanelConvolution::PackRows(const float* from, int64_t lanes, int64_t outs, int64_t width,
                                float* packed) const {
  constexpr int64_t kMostLines = 64;
  alignas(64) float lines[kMostLines * ConvTileCode::kMostBlocks * kChannelBlock];
  const int64_t taps = plan_.h.window * plan_.w.window, count = lanes * taps;
  const bool backwards = weights_.column < 0;
  if (backwards) from -= taps - 1;
  for (int64_t begin = 0; begin < count; begin += kMostLines) {
    const int64_t end = std::min(begin + kMostLines, count);
    pack_({from + begin, 1, weights_.out}, end - begin, outs, width, lines);
    for (int64_t line = begin; line < end; ++line) {
      const int64_t tap = backwards ? taps - 1 - line % taps : line % taps;
      std::copy_n(lines + (line - begin) * width, width,
                  packed + (tap * plan_.lanes + line / taps) * width);
    }
  }
}

// Packs a block in which the taps of an input channel are adjacent.
void PanelConvolution::PackTaps(const float* from, int64_t lanes, int64_t outs, int64_t width,
                                float* packed) const {
  const int64_t step = weights_.out;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    float* to = packed + lane * width;
    for (int64_t row = 0; row < plan_.h.window; ++row) {
      const float* tap = from + lane * weights_.in + row * weights_.row;
      for (int64_t column = 0; column < plan_.w.window; ++column) {
        if (step == 1) {
          std::copy_n(tap, outs, to);
        } else {
          for (int64_t out = 0; out < outs; ++out) to[out] = tap[out * step];
        }
        tap += weights_.column;
        to += plan_.lanes * width;
      }
    }
  }
}

void PanelConvolution::PackFilter(const float* filter, void* packed) const {
  if (plan_.depthwise) return PackChannels(filter, static_cast<float*>(packed));
  if (plan_.halves) return PackHalves(filter, static_cast<float*>(packed));
  ParallelFor(threads_, plan_.groups * plan_.panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      PackBlocks(filter, panel, {0, plan_.in_blocks},
                 static_cast<float*>(packed) + plan_.PanelOffset(panel) / plan_.weight_bytes);
    }
  });
}

// Returns the start of the input of tile `index`, for plans that prefetch it.
const char* PanelConvolution::InputOf(const char* src, int64_t index) const {
  const PanelPlan& plan = plan_;
  const int64_t row = index / plan.tiles_per_row, in_row = index % plan.tiles_per_row;
  return src + row / plan.h.output * plan.src.n + plan.h.Origin(row % plan.h.output) * plan.src.h +
         plan.w.Origin(plan.ColumnOf(in_row)) * plan.src.w;
}

// Computes all tiles of a run with one chunk of weights. `tile` holds the shared arguments. Its
// pointers refer to the first pixel of each tensor and the first row of the window; the input's
// first pixel is `origin` bytes after tile.src. The prefetch address advances by `prefetch_part`
// per tile; 0 means to prefetch the input of the next run. `last`: this is the last chunk.
void PanelConvolution::RunTiles(ConvTile tile, int64_t origin, const Range& tiles, int64_t blocks,
                                int64_t prefetch_part, bool last) const {
  const PanelPlan& plan = plan_;
  const ConvTileCode& code = *plan.code;
  // If only half a block is left, two adjacent tiles become one.
  const bool half =
      blocks == 1 && tile.last_channels <= kChannelBlock / 2 && code.half[1] != nullptr;
  const ConvTileCode::ByPixels& run = plan.depthwise ? (half ? code.half_depthwise : code.depthwise)
                                      : half         ? code.half
                                                     : code.run[blocks];
  const char *const src = tile.src, *const weights = tile.weights, *const z = tile.z;
  char* const dst = tile.dst;
  const bool add = tile.sums != nullptr;
  // Sums in workspace belong to the run's tiles, stored one after the other.
  const bool sums_apart = plan.run_pixels > 0;
  int64_t row = tiles.begin / plan.tiles_per_row, in_row = tiles.begin % plan.tiles_per_row;
  for (int64_t left = tiles.size(); left > 0; ++row, in_row = 0) {
    const int64_t image = row / plan.h.output, y = row % plan.h.output;
    const int64_t x = plan.ColumnOf(in_row);
    const Range taps = TapsInside(plan.h, y);
    int64_t column = plan.w.Origin(x);
    tile.rows = static_cast<int>(taps.end - taps.begin);
    tile.weights = weights + taps.begin * plan.w.window * plan.TapBytes(blocks);
    tile.src = src + (origin + image * plan.src.n +
                      (plan.h.Origin(y) + taps.begin * plan.h.dilation) * plan.src.h +
                      column * plan.src.w);
    if (last || !sums_apart) tile.dst = dst + image * plan.dst.n + y * plan.dst.h + x * plan.dst.w;
    if (add && !sums_apart) tile.sums = tile.dst;
    if (z != nullptr) tile.z = z + image * plan.z.n + y * plan.z.h + x * plan.z.w;
    while (in_row < plan.tiles_per_row && left > 0) {
      int64_t pixels = 0;
      const int64_t end = std::min({in_row + (half ? 2 : 1), plan.tiles_per_row, in_row + left});
      for (; in_row < end; ++in_row, --left)
        pixels += plan.tile_pixels + (in_row < plan.longer_tiles);
      tile.first_column = static_cast<int>(column);
      tile.trim =
          column < 0 || column + (pixels - 1) * plan.w.stride + plan.w.extent() > plan.w.input;
      if (prefetch_part == 0) {
        tile.prefetch = InputOf(src, std::min(tiles.end + tiles.size() - left - 1, plan.tiles - 1));
      }
      if (last && behind_finish_) {
        RunTile(run[pixels], tile, blocks, pixels);
      } else {
        run[pixels](tile);
      }
      column += pixels * plan.w.stride;
      tile.src += pixels * tile.pixel_step;
      tile.dst += pixels * tile.dst_pixel_step;
      if (add) tile.sums += pixels * tile.sums_pixel_step;
      if (z != nullptr) tile.z += pixels * tile.z_pixel_step;
      tile.prefetch += prefetch_part;
    }
  }
}

// Computes a tile, followed by an activation in Float32.
void PanelConvolution::RunTile(ConvTileFunction run, const ConvTile& tile, int64_t blocks,
                               int64_t pixels) const {
  if (tile.dst_float == StoredFloat::kFloat32) {
    run(tile);
    return Activate(tile, blocks, pixels);
  }
  constexpr int64_t kMost = ConvTileCode::kMostPixels * ConvTileCode::kMostBlocks * kChannelBlock;
  alignas(64) float values[kMost];
  ConvTile wide = tile;
  wide.dst = reinterpret_cast<char*>(values);
  wide.dst_pixel_step = kChannelBlock * kFloatBytes;
  wide.dst_block_step = pixels * wide.dst_pixel_step;
  wide.dst_float = StoredFloat::kFloat32;
  run(wide);
  Activate(wide, blocks, pixels);
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t pixel = 0; pixel < pixels; ++pixel) {
      narrow_(values + (block * pixels + pixel) * kChannelBlock,
              reinterpret_cast<uint16_t*>(tile.dst + block * tile.dst_block_step +
                                          pixel * tile.dst_pixel_step),
              kChannelBlock);
    }
  }
}

void PanelConvolution::Activate(const ConvTile& tile, int64_t blocks, int64_t pixels) const {
  for (int64_t block = 0; block < blocks; ++block) {
    behind_finish_(tile.dst + block * tile.dst_block_step, pixels, tile.dst_pixel_step,
                   block + 1 < blocks ? kChannelBlock : tile.last_channels);
  }
}

// Computes one panel for one run of tiles. Packs chunks of the weights if they are not packed;
// widens the run's input if it is stored in 16 bits.
void PanelConvolution::RunTask(const ConvTensors& tensors, int64_t task, Own& own) const {
  const PanelPlan& plan = plan_;
  const int64_t all_panels = plan.groups * plan.panels;
  const int64_t panel = task % all_panels, run = task / all_panels;
  const Range tiles = plan.TilesOf(run);
  const int64_t blocks = plan.BlocksOf(panel), group = panel / plan.panels;
  const int64_t out_block = group * plan.out_blocks + panel % plan.panels * plan.panel_blocks;
  const int64_t channels =
      std::min(blocks * kChannelBlock, plan.out_channels - out_block * kChannelBlock);
  alignas(64) float bias[ConvTileCode::kMostBlocks * kChannelBlock] = {};
  if (tensors.bias != nullptr) {
    CopyBias(tensors.bias, plan.widening.widen, out_block * kChannelBlock, channels, bias);
  }

  ConvTile tile;
  tile.pixel_step = plan.w.stride * plan.src.w;
  tile.lane_step = plan.src_lane;
  tile.block_step = plan.src.c;
  tile.row_step = plan.h.dilation * plan.src.h;
  tile.column_step = plan.w.dilation * plan.src.w;
  tile.lanes = static_cast<int>(plan.lanes);
  tile.columns = static_cast<int>(plan.w.window);
  tile.stride = static_cast<int>(plan.w.stride);
  tile.dilation = static_cast<int>(plan.w.dilation);
  tile.width = static_cast<int>(plan.w.input);
  tile.weights_block_step = plan.BlockBytes(blocks);
  tile.z_pixel_step = plan.z.w, tile.z_block_step = plan.z.c;
  tile.weights_float = plan.filter_float;
  tile.z_float = plan.image_float;
  tile.last_channels = static_cast<int>(channels - (blocks - 1) * kChannelBlock);

  // The start of the group's input; pixel (0, 0) of its first image is `origin` bytes after.
  const char* src = tensors.src + group * plan.in_blocks * plan.src.c;
  int64_t origin = 0;
  if (plan.widens) {
    const InputBox box = plan.InputOf(tiles);
    if (own.run != run || own.group != group) {
      plan.widening.Widen(tensors.src + group * plan.in_blocks * plan.widening.from.c, box,
                          own.input);
      own.run = run, own.group = group;
    }
    src = reinterpret_cast<const char*>(own.input);
    origin = plan.widening.Origin(box);
  }

  const char* const weights = tensors.weights + plan.PanelOffset(panel);
  const char* const next_panel =
      tensors.weights + plan.PanelOffset(panel + 1 < all_panels ? panel + 1 : 0);
  for (int64_t begin = 0; begin < plan.in_blocks; begin += plan.chunk_blocks) {
    const int64_t count = std::min(plan.chunk_blocks, plan.in_blocks - begin);
    const bool last = begin + count == plan.in_blocks;
    tile.src = src + begin * plan.src.c;
    tile.weights = weights + begin * tile.weights_block_step;
    tile.blocks = static_cast<int>(count);
    tile.last_lanes = static_cast<int>(last ? plan.last_lanes : plan.lanes);
    tile.bias = begin == 0 ? bias : nullptr;
    const bool apart = plan.run_pixels > 0;  // sums are in workspace
    char* const dst = tensors.dst + out_block * plan.dst.c;
    char* const sums = apart ? reinterpret_cast<char*>(own.sums) : dst;
    tile.sums = begin > 0 ? sums : nullptr;
    tile.sums_pixel_step = apart ? kChannelBlock * kFloatBytes : plan.dst.w;
    tile.sums_block_step = apart ? plan.run_pixels * tile.sums_pixel_step : plan.dst.c;
    tile.dst = last ? dst : sums;
    tile.dst_pixel_step = last ? plan.dst.w : tile.sums_pixel_step;
    tile.dst_block_step = last ? plan.dst.c : tile.sums_block_step;
    tile.dst_float = last ? plan.image_float : StoredFloat::kFloat32;
    tile.z = begin == 0 && tensors.z != nullptr ? tensors.z + out_block * plan.z.c : nullptr;
    tile.fetch_z = tile.z != nullptr && plan.fetch_z;
    tile.finish = last ? finish_ : ConvFinish{};
    if (by_chunks_) {
      PackBlocks(reinterpret_cast<const float*>(tensors.weights), panel, {begin, begin + count},
                 own.chunk_weights);
      tile.weights = tile.prefetch = reinterpret_cast<const char*>(own.chunk_weights);
      tile.prefetch_step = tile.prefetch_block_step = 0;
      RunTiles(tile, origin, tiles, blocks, /*prefetch_part=*/1, last);
      continue;
    }
    if (plan.fetch_input && panel + 1 == all_panels) {
      tile.prefetch_step = tile.pixel_step, tile.prefetch_block_step = plan.src.c;
      RunTiles(tile, origin, tiles, blocks, /*prefetch_part=*/0, last);
      continue;
    }
    // Together the tiles prefetch the next chunk, each an equal part.
    const int64_t bytes = count * tile.weights_block_step;
    const char* const next = last ? next_panel : tile.weights + bytes;
    tile.prefetch_step =
        CeilDivide(CeilDivide(bytes, tiles.size()), bytes / plan.TapBytes(blocks) * plan.lanes);
    tile.prefetch_block_step = plan.h.window * plan.w.window * plan.lanes * tile.prefetch_step;
    tile.prefetch = next;
    RunTiles(tile, origin, tiles, blocks, std::max<int64_t>(bytes / tiles.size(), 1), last);
  }
}

void PanelConvolution::RunPacked(const ConvTensors& tensors, void* workspace) const {
  ParallelRanges(threads_, plan_.runs * plan_.groups * plan_.panels, 1,
                 [&](int64_t begin, int64_t end, int thread) {
                   Own own;
                   if (plan_.widens) {
                     char* const at = static_cast<char*>(workspace) + thread * ThreadBytes();
                     own.input = reinterpret_cast<float*>(at);
                     own.sums = reinterpret_cast<float*>(at + plan_.InputBytes());
                   }
                   for (int64_t task = begin; task < end; ++task) RunTask(tensors, task, own);
                 });
}

void PanelConvolution::RunFilter(const ConvTensors& tensors, void* workspace) const {
  if (by_chunks_) {
    const auto run = [&](int64_t task, int thread) {
      char* const at = static_cast<char*>(workspace) + thread * plan_.ChunkBytes();
      Own own{.chunk_weights = reinterpret_cast<float*>(at)};
      RunTask(tensors, task, own);
    };
    return ParallelPieces(threads_, plan_.runs * plan_.groups * plan_.panels, run);
  }
  PackFilter(reinterpret_cast<const float*>(tensors.weights), workspace);
  ConvTensors packed = tensors;
  packed.weights = static_cast<const char*>(workspace);
  RunPacked(packed, nullptr);
}

absl::Status PanelConvolution::Run(const KernelArgs& args, KernelState* /*state*/) const {
  const ConvTensors tensors = ConvTensorsOf(args, has_bias_, has_z_);
  if (constant_) {
    RunPacked(tensors, args.workspace);
  } else {
    RunFilter(tensors, args.workspace);
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<PanelKernel> MakePanelConvolution(const ConvProblem& problem,
                                                  const ConvStrides& strides, double relative_time,
                                                  int64_t input_bytes,
                                                  FilterPacking filter_packing) {
  return std::make_unique<PanelConvolution>(problem, strides, relative_time, input_bytes,
                                            filter_packing);
}

}  // namespace ashlar::cpu
