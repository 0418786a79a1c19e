// 8-bit convolution by register tiles (tile.h) over packed weights.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/quantized/conv_problem.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kMostWindow = 2048;  // bytes of a gathered window
constexpr int64_t kCopied = 32;        // bytes copied for each shorter row of a window
// Size of arrays on the stack for a piece of work.
constexpr int64_t kChunkPixels = 1024;
constexpr int64_t kChunkWindows = TileCode::kMostPixels * kMostWindow;

// A kernel that packs weights in panels of kPanel output channels: their sums, then the weights in
// tile order. A pixel of the zero point comes first. Work is split into chunks of pixels, which may
// span rows and images, and blocks of as many channels as a tile has.
class TiledConvolution final : public Kernel {
 public:
  TiledConvolution(QuantizedConvProblem problem, const Processor& processor, double relative_time)
      : problem_(std::move(problem)),
        set_(processor.vectors()),
        relative_time_(relative_time),
        code_(*TileCodeFor(processor)),
        gathers_(Gathers(problem_)),
        near_(panels() * panel_bytes() <= processor.l2_bytes / 2),
        chunk_tiles_(TilesOfChunk(processor)) {
    // Pads the factors to whole panels, so that tiles load whole vectors.
    const ConvolutionGeometry& g = problem_.geometry;
    for (int64_t group = 0; group < g.groups && !problem_.unfinished(); ++group) {
      for (int64_t c = 0; c < panels() * kPanel; ++c) {
        const int64_t channel = group * g.out_channels + std::min(c, g.out_channels - 1);
        factors_.push_back(problem_.to.factors[static_cast<size_t>(channel)]);
      }
    }
  }

  // Row-major planes are only read by gathering windows.
  static bool Fits(const QuantizedConvProblem& problem) {
    const int64_t z_bytes = problem.joins() ? sizeof(int32_t) : 1;
    return problem.dst.c == (problem.unfinished() ? z_bytes : 1) &&
           (!problem.adds() || problem.z.c == z_bytes) && problem.taps() <= kMostTaps &&
           (problem.src.c == 1 || Gathers(problem));
  }

  std::string implementation() const override { return absl::StrCat("int8:", set_.ToString()); }
  double relative_time() const override { return relative_time_; }
  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter) return std::nullopt;
    const int64_t bytes = outside_bytes() + problem_.geometry.groups * panels() * panel_bytes();
    return Packing{absl::StrCat("int8 ", kPanel, "x", kDepth, gathers_ ? " windows " : " ",
                                problem_.to.source_zero_point, problem_.flipped ? " flipped" : ""),
                   bytes};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override;
  absl::Status Run(const KernelArgs& args, KernelState*) const override;

 private:
  // The addresses at which a chunk's pixels are read and written.
  struct Chunk {
    int64_t pixels;
    uint8_t* dst[kChunkPixels];                // at channel 0
    const uint8_t* z[kChunkPixels];            // at channel 0
    const uint8_t* taps[kChunkTaps];           // by tile, tap and pixel
    uint8_t windows[kChunkWindows + kCopied];  // gathered, by pixel
  };

  // Whether a window's bytes are gathered before tiles read them: for row-major planes, and if
  // channels do not fill whole steps.
  static bool Gathers(const QuantizedConvProblem& problem) {
    const bool whole = problem.src.c == 1 && problem.geometry.in_channels % kDepth == 0;
    return !whole && WindowBytes(problem) <= kMostWindow;
  }
  static int64_t WindowBytes(const QuantizedConvProblem& problem) {
    return RoundUp(problem.taps() * problem.geometry.in_channels, kDepth);
  }

  int64_t panels() const { return CeilDivide(problem_.geometry.out_channels, kPanel); }
  int64_t blocks() const { return CeilDivide(panels(), code_.panels); }
  // From the tiles' point of view: a gathered window counts as one tap.
  int64_t taps() const { return gathers_ ? 1 : problem_.taps(); }
  int64_t depth() const { return gathers_ ? WindowBytes(problem_) : problem_.geometry.in_channels; }
  int64_t steps() const { return CeilDivide(depth(), kDepth); }
  int64_t pixels() const {
    return problem_.geometry.batch * problem_.geometry.h.output * problem_.geometry.w.output;
  }
  int64_t tiles() const { return CeilDivide(pixels(), code_.pixels); }
  int64_t outside_bytes() const { return RoundUp(problem_.geometry.in_channels, 64); }
  int64_t panel_bytes() const {
    return kPanel * static_cast<int64_t>(sizeof(int32_t)) + taps() * steps() * kPanel * kDepth;
  }
  int64_t TilesOfChunk(const Processor& processor) const;
  void FindChunk(int64_t chunk, int64_t group, const KernelArgs& args, Chunk& to) const;
  void FetchAhead(const uint8_t* const* sources, int64_t count) const;
  void GatherRow(const uint8_t* image, const uint8_t* end, int64_t oh, int64_t ow, int64_t count,
                 uint8_t* to) const;
  void Gather(const uint8_t* image, int64_t y, int64_t x, uint8_t* to) const;
  void RunBlock(const Chunk& chunk, int64_t group, int64_t block, const KernelArgs& args) const;

  QuantizedConvProblem problem_;
  InstructionSet set_;
  double relative_time_;
  const TileCode& code_;
  bool gathers_;
  bool near_;  // the weights stay in the second-level cache
  int64_t chunk_tiles_;
  std::vector<float> factors_;
};

// Returns the tiles per chunk, at most as many as Chunk can hold. The chunk's input and output
// should stay in the first-level cache while all blocks are computed. There are at least kSome
// tiles, to reuse each weight. If weights come from beyond the second-level cache, the input and
// output may fill that cache. There are fewer if threads would have nothing to share.
int64_t TiledConvolution::TilesOfChunk(const Processor& processor) const {
  constexpr int64_t kSome = 4;
  const ConvolutionGeometry& g = problem_.geometry;
  int64_t most = std::min(kChunkTaps / taps(), kChunkPixels) / code_.pixels;
  if (gathers_) most = std::min(most, kChunkWindows / (code_.pixels * depth()));
  const int64_t image = g.h.stride * g.w.stride * g.in_channels + g.out_channels;
  const int64_t cached = near_ ? processor.l1_bytes / 2 : processor.l2_bytes / 4;
  most = std::min(most, std::max(kSome, cached / (code_.pixels * image)));
  const int64_t pieces = tiles() * g.groups * blocks();
  if (problem_.threads > 1) {
    most = std::min(most, pieces / (2 * kRangesPerThread * problem_.threads));
  }
  return std::max<int64_t>(1, most);
}

absl::Status TiledConvolution::Pack(int, const HostTensor& value, void* packed) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const int8_t* const filter = value.data<int8_t>().data();
  uint8_t* const outside = static_cast<uint8_t*>(packed);
  std::memset(outside, problem_.to.source_zero_point & 0xff, static_cast<size_t>(outside_bytes()));
  int8_t* panel = static_cast<int8_t*>(packed) + outside_bytes();
  const int64_t taps = problem_.taps();
  for (int64_t i = 0; i < g.groups * panels(); ++i, panel += panel_bytes()) {
    std::memset(panel, 0, static_cast<size_t>(panel_bytes()));
    int8_t* const weights = panel + kPanel * sizeof(int32_t);
    const int64_t group = i / panels(), first = i % panels() * kPanel;
    for (int64_t lane = 0; lane < std::min(kPanel, g.out_channels - first); ++lane) {
      const int8_t* const own =
          filter + (group * g.out_channels + first + lane) * g.in_channels * taps;
      int32_t sum = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t c = 0; c < g.in_channels; ++c) {
          const int8_t weight = own[c * taps + problem_.FilterTap(tap)];
          const int64_t place = gathers_ ? tap * g.in_channels + c : tap * steps() * kDepth + c;
          sum += weight;
          weights[(place / kDepth * kPanel + lane) * kDepth + place % kDepth] = weight;
        }
      }
      std::memcpy(panel + lane * static_cast<int64_t>(sizeof(sum)), &sum, sizeof(sum));
    }
  }
  return absl::OkStatus();
}

// Gathers the windows of `count` pixels of row oh from column ow on into `to`; it may write some
// bytes after them. `end` is the end of the image's memory. Bytes after a window meet weights of
// zero.
void TiledConvolution::GatherRow(const uint8_t* image, const uint8_t* end, int64_t oh, int64_t ow,
                                 int64_t count, uint8_t* to) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const ImageStrides& src = problem_.src;
  const int64_t row = g.w.window * g.in_channels, y = g.h.Origin(oh);
  const bool side_by_side = src.c == 1 && g.w.dilation == 1 && src.w == g.in_channels;
  const bool inside = y >= 0 && y + g.h.extent() <= g.h.input;
  for (int64_t i = 0; i < count; ++i, to += depth()) {
    const int64_t x = g.w.Origin(ow + i);
    const uint8_t* from = image + y * src.h + x * src.w;
    const bool whole = side_by_side && inside && x >= 0 && x + g.w.window <= g.w.input;
    if (!whole || row > kCopied || end - from < (g.h.extent() - 1) * src.h + kCopied) {
      Gather(image, y, x, to);
      continue;
    }
    uint8_t* copied = to;
    for (int64_t kh = 0; kh < g.h.window; ++kh, copied += row, from += g.h.dilation * src.h) {
      std::memcpy(copied, from, kCopied);  // excess bytes are overwritten later
    }
  }
}

// The same for any single window, whose first tap is at row y, column x.
void TiledConvolution::Gather(const uint8_t* image, int64_t y, int64_t x, uint8_t* to) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const ImageStrides& src = problem_.src;
  const int64_t row = g.w.window * g.in_channels;
  const bool side_by_side = src.c == 1 && g.w.dilation == 1 && src.w == g.in_channels;
  const bool inside = x >= 0 && x + g.w.window <= g.w.input;
  std::fill(to + g.h.window * row, to + depth(), uint8_t{0});
  for (int64_t kh = 0; kh < g.h.window; ++kh, y += g.h.dilation, to += row) {
    if (y < 0 || y >= g.h.input) {
      std::memset(to, problem_.to.source_zero_point & 0xff, static_cast<size_t>(row));
      continue;
    }
    if (side_by_side && inside) {
      std::memcpy(to, image + y * src.h + x * src.w, static_cast<size_t>(row));
      continue;
    }
    for (int64_t kw = 0; kw < g.w.window; ++kw) {
      const int64_t column = x + kw * g.w.dilation;
      const bool exists = column >= 0 && column < g.w.input;
      const uint8_t* const from = image + y * src.h + column * src.w;
      for (int64_t c = 0; c < g.in_channels; ++c) {
        to[kw * g.in_channels + c] =
            exists ? from[c * src.c] : static_cast<uint8_t>(problem_.to.source_zero_point);
      }
    }
  }
}

void TiledConvolution::FindChunk(int64_t chunk, int64_t group, const KernelArgs& args,
                                 Chunk& to) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const ImageStrides& src = problem_.src;
  const auto* const outside = args.Input<uint8_t>(ConvBiasForward::kFilter);
  const auto* const first = args.Input<uint8_t>(ConvBiasForward::kSrc);
  const auto* const z = problem_.adds() ? args.Input<uint8_t>(ConvBiasForward::kZ) : nullptr;
  const uint8_t* const end = first + (g.batch - 1) * src.n + (g.h.input - 1) * src.h +
                             (g.w.input - 1) * src.w + (g.groups * g.in_channels - 1) * src.c + 1;
  const int64_t begin = chunk * chunk_tiles_ * code_.pixels;
  to.pixels = std::min(chunk_tiles_ * code_.pixels, pixels() - begin);
  PixelCursor at(problem_, begin);
  for (int64_t tile = 0; tile < to.pixels; tile += code_.pixels) {
    const int64_t count = std::min(code_.pixels, to.pixels - tile);
    for (int64_t p = 0, row; p < count; p += row, at.Advance(row)) {
      row = at.RestOfRow(count - p);
      const uint8_t* const image = first + at.n * src.n + group * g.in_channels * src.c;
      const uint8_t** const taps = to.taps + tile * this->taps() + p;
      if (gathers_) {
        uint8_t* const windows = to.windows + (tile + p) * depth();
        GatherRow(image, end, at.oh, at.ow, row, windows);
        for (int64_t i = 0; i < row; ++i) taps[i] = windows + i * depth();
      } else {
        SourcesOfRow(problem_, image, at.oh, at.ow, row, outside, taps, count);
        if (this->taps() == 1) FetchAhead(taps, row);
      }
      uint8_t* const dst = args.Output<uint8_t>(0) + at.OffsetIn(problem_.dst);
      for (int64_t i = 0; i < row; ++i) to.dst[tile + p + i] = dst + i * problem_.dst.w;
      if (z == nullptr) continue;
      const uint8_t* const addend = z + at.OffsetIn(problem_.z);
      for (int64_t i = 0; i < row; ++i) to.z[tile + p + i] = addend + i * problem_.z.w;
    }
  }
}

// Prefetches the pixels that the next chunk will read into the second-level cache. A tile reads
// from many rows at once, which hardware prefetchers do not follow.
void TiledConvolution::FetchAhead(const uint8_t* const* sources, int64_t count) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const int64_t ahead = chunk_tiles_ * code_.pixels * g.w.stride * problem_.src.w;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t c = 0; c < g.in_channels; c += kLine) {
      __builtin_prefetch(sources[i] + ahead + c, /*rw=*/0, /*locality=*/2);
    }
  }
}

void TiledConvolution::RunBlock(const Chunk& chunk, int64_t group, int64_t block,
                                const KernelArgs& args) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const int64_t panel = group * panels() + block * code_.panels;
  const int64_t first = block * code_.panels * kPanel, channel = group * g.out_channels + first;
  const int64_t channels = std::min(code_.panels * kPanel, g.out_channels - first);
  const auto* const bias = args.Input<int32_t>(ConvBiasForward::kBias);
  const auto* const packed =
      args.Input<int8_t>(ConvBiasForward::kFilter) + outside_bytes() + panel * panel_bytes();
  const int32_t zero_point = problem_.to.source_zero_point + code_.offset[problem_.is_signed];
  int32_t start[TileCode::kMostPanels * kPanel] = {};
  StartOf(packed, panel_bytes(), bias + channel, channels, zero_point, start);
  TileCall call = {.taps = chunk.taps,
                   .num_taps = taps(),
                   .depth = depth(),
                   .weights = packed + kPanel * sizeof(int32_t),
                   .panel_step = panel_bytes(),
                   .ahead = packed,
                   .ahead_step = 0,
                   .start = start,
                   .factors = factors_.empty() ? nullptr : factors_.data() + panel * kPanel,
                   .rounding = problem_.rounding,
                   .dst = chunk.dst,
                   .sum = problem_.sum ? &*problem_.sum : nullptr,
                   .z = chunk.z,
                   .channel = channel,
                   .channels = channels};
  const auto& run = code_.run[problem_.is_signed][CeilDivide(channels, kPanel)];
  const int64_t of_block = code_.panels * panel_bytes(), of_tile = taps() * steps() * kLine;
  const bool is_last = group == g.groups - 1 && block == blocks() - 1;
  int64_t fetched = near_ || is_last ? of_block : 0;
  for (int64_t tile = 0; tile < chunk.pixels; tile += code_.pixels, fetched += of_tile) {
    call.ahead_step = fetched < of_block ? kLine : 0;
    call.ahead = packed + (fetched < of_block ? of_block + fetched : 0);
    call.taps = chunk.taps + tile * taps();
    call.dst = chunk.dst + tile;
    call.z = chunk.z + tile;
    run[std::min(code_.pixels, chunk.pixels - tile)](call);
  }
}

absl::Status TiledConvolution::Run(const KernelArgs& args, KernelState*) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const int64_t chunks = CeilDivide(tiles(), chunk_tiles_);
  const int64_t products = chunk_tiles_ * code_.pixels * code_.panels * kPanel * taps() * depth();
  const int64_t grain = std::max<int64_t>(1, 16 * kElementsPerThread / products);
  ParallelFor(problem_.threads, chunks * g.groups * blocks(), grain,
              [&](int64_t begin, int64_t end) {
                Chunk chunk;
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t of = i / blocks(), block = i % blocks();
                  if (i == begin || block == 0)
                    FindChunk(of / g.groups, of % g.groups, args, chunk);
                  RunBlock(chunk, of % g.groups, block, args);
                }
              });
  return absl::OkStatus();
}

}  // namespace

bool FitsRegisterTiles(const QuantizedConvProblem& problem, const Processor& processor) {
  return TiledConvolution::Fits(problem) && TileCodeFor(processor) != nullptr;
}

std::unique_ptr<Kernel> RegisterTiles(const QuantizedConvProblem& problem,
                                      const Processor& processor, double relative_time) {
  return std::make_unique<TiledConvolution>(problem, processor, relative_time);
}

}  // namespace ashlar::cpu
