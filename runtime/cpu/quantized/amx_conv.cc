// How convolutions become products of AMX's tiles (amx.h).
//
// Outputs are numbered positions; the window of the next position begins `stride` columns later. A
// window is one run of bytes per row, or one per tap if it is dilated; each run is cut into equal
// steps of at most 64 bytes. The last step ends where the run ends, so nothing is read after it;
// the weights of bytes that the step before has read are zero.
//
// - 1x1 windows that move by one pixel read the image itself: positions are its pixels, in order.
// - Others read a copy in the workspace, padded with the zero point. For a vertical stride of s,
// the
//   copy has s planes, each with every s-th row. The padding at the right of a row is also that at
//   the left of the next one, and positions run on across rows. Positions between the last output
//   of a row and the first of the next are computed but not stored.
// - A copy has at most kMostCopied bytes: several images, one, or some of its rows.
//
// If the last tile has less rows than others, it begins earlier and stores only the rest, so
// nothing is read after the image, and one configuration serves all tiles. In the same way the last
// copy of an image begins earlier.
//
// Pixels are adjacent: tensors have one group of channels, which come last. (Images of one pixel
// may be row-major, too: their strides of rows and columns then say nothing.)
//
// The weights of a block are packed in the order in which its steps read them, after their sums.
#include "runtime/cpu/quantized/amx_conv.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/quantized/amx.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kMostCopied = 768 * 1024;
constexpr int64_t kBlockChannels = kAmxPanels * kPanel;
constexpr int64_t kSumBytes = kBlockChannels * sizeof(int32_t);
// Weights that stay in the first-level cache with the pixels of a block.
constexpr int64_t kNearWeights = 24 * 1024;
// From this many channels on, pixels would displace the weights of a block there.
constexpr int64_t kManyChannels = 512;

class AmxKernel final : public Kernel {
 public:
  AmxKernel(QuantizedConvProblem problem, const Processor& processor)
      : problem_(std::move(problem)), code_(AmxCodeHere()), copies_(Copies(problem_)) {
    Place();
    SplitRuns();
    const ConvolutionGeometry& g = problem_.geometry;
    tiles_of_image_ = CeilDivide(positions_, kAmxRows);
    shape_.rows = CeilDivide(positions_, tiles_of_image_);
    near_ = weight_bytes() <= processor.l2_bytes / 2;
    stream_ = weight_bytes() <= kNearWeights   ? AmxStream::kNone
              : near_                          ? AmxStream::kWeights
              : g.in_channels >= kManyChannels ? AmxStream::kPixels
                                               : AmxStream::kNone;
    chunk_tiles_ = TilesOfChunk(processor);
    factors_ = problem_.to.factors;
    factors_.resize(static_cast<size_t>(RoundUp(g.out_channels, kBlockChannels)));
  }

  static bool Fits(const QuantizedConvProblem& problem) {
    return problem.geometry.groups == 1 && problem.dst.c == 1 && (!problem.sum || problem.z.c == 1);
  }

  std::string implementation() const override { return "int8:amx_int8"; }
  int64_t workspace_bytes() const override { return copies_ ? images_ * image_bytes_ : 0; }
  std::optional<Packing> packing(int input) const override {
    if (input != ConvBiasForward::kFilter) return std::nullopt;
    return Packing{absl::StrCat("int8 amx ", kBlockChannels, "x", shape_.depth,
                                merges_ ? " rows" : " taps", problem_.flipped ? " flipped" : ""),
                   weight_bytes()};
  }
  absl::Status Pack(int, const HostTensor& value, void* packed) const override;
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    if (absl::Status status = code_.request(); !status.ok()) return status;
    return std::unique_ptr<KernelState>();
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override;

 private:
  // A part of the outputs: rows [row, row + band_) of images [image, image + images). Rows before
  // `stored` are there already.
  struct Pass {
    int64_t image, images, row, stored;
    const uint8_t* src;  // the first position's window
  };

  static bool Copies(const QuantizedConvProblem& problem) {
    const auto moves = [](const WindowAxis& axis) {
      return axis.window != 1 || axis.stride != 1 || axis.padded() || axis.output != axis.input;
    };
    const ConvolutionGeometry& g = problem.geometry;
    return moves(g.h) || moves(g.w) || problem.src.c != 1 || g.in_channels % kDepth != 0;
  }

  void Place();
  void PlaceCopy();
  void SplitRuns();
  int64_t TilesOfChunk(const Processor& processor) const;
  int64_t BytesOfBand(int64_t rows) const;

  int64_t blocks() const { return CeilDivide(problem_.geometry.out_channels, kBlockChannels); }
  int64_t PanelsOf(int64_t block) const {
    const int64_t rest = problem_.geometry.out_channels - block * kBlockChannels;
    return std::min(kAmxPanels, CeilDivide(rest, kPanel));
  }
  int64_t BytesOf(int64_t panels) const {
    return kSumBytes + static_cast<int64_t>(offsets_.size()) * panels * shape_.depth * kPanel;
  }
  int64_t weight_bytes() const {
    return (blocks() - 1) * BytesOf(kAmxPanels) + BytesOf(PanelsOf(blocks() - 1));
  }

  void CopyRow(const uint8_t* src, int64_t y, int64_t columns, uint8_t* to) const;
  void Copy(const Pass& pass, const uint8_t* src, uint8_t* to) const;
  void FindTiles(const Pass& pass, int64_t first, const KernelArgs& args, AmxPixels& to) const;
  void RunBlock(const AmxPixels& pixels, int64_t block, bool is_first, const KernelArgs& args,
                AmxState& state) const;
  void RunPass(const Pass& pass, const KernelArgs& args) const;

  QuantizedConvProblem problem_;
  const AmxCode& code_;
  bool copies_;
  bool merges_;  // a run is a row of the window, otherwise a tap
  AmxShape shape_;
  int64_t channel_bytes_;                // of a pixel that tiles read
  int64_t position_step_;                // bytes
  int64_t row_positions_, row_outputs_;  // in a row; the outputs come first
  int64_t positions_;                    // of an image in a pass
  int64_t tiles_of_image_;
  // A copy's images and rows of outputs; a plane's rows, its bytes and an image's; the columns of a
  // plane's last row; the planes' first rows.
  int64_t images_ = 1, band_ = 1, plane_rows_ = 0, plane_bytes_ = 0, image_bytes_ = 0;
  int64_t last_columns_ = 0;
  std::vector<int64_t> planes_;
  int64_t run_bytes_ = 0, run_steps_ = 0;
  std::vector<int64_t> offsets_;  // by step
  bool near_;                     // the weights stay in the second-level cache
  AmxStream stream_;
  int64_t chunk_tiles_;  // even, or all of a pass
  std::vector<float> factors_;
};

// Numbers the positions.
void AmxKernel::Place() {
  const ConvolutionGeometry& g = problem_.geometry;
  channel_bytes_ = RoundUp(g.in_channels, kDepth);
  merges_ = copies_ && g.w.dilation == 1;
  if (copies_) return PlaceCopy();
  position_step_ = g.in_channels;
  positions_ = row_positions_ = row_outputs_ = g.batch * g.h.output * g.w.output;
}

void AmxKernel::PlaceCopy() {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const int64_t plane = kh * h.dilation % h.stride;
    if (std::find(planes_.begin(), planes_.end(), plane) == planes_.end()) {
      planes_.push_back(plane);
    }
  }
  // Columns from a row's first to its last tap, and those in its padding at both ends.
  const int64_t columns = (w.output - 1) * w.stride + w.extent();
  const int64_t left = std::max<int64_t>(0, w.pad_begin);
  const int64_t right = std::max<int64_t>(0, columns - w.pad_begin - w.input);
  row_outputs_ = w.output;
  row_positions_ = std::max(w.output, CeilDivide(columns - std::min(left, right), w.stride));
  position_step_ = w.stride * channel_bytes_;
  last_columns_ = std::max(columns, row_positions_ * w.stride);
  band_ = h.output;
  for (int64_t bands = 2; band_ > 1 && BytesOfBand(band_) > kMostCopied; ++bands) {
    band_ = CeilDivide(h.output, bands);
  }
  image_bytes_ = BytesOfBand(band_);
  plane_bytes_ = image_bytes_ / static_cast<int64_t>(planes_.size());
  plane_rows_ = band_ + (h.extent() - 1) / h.stride;
  positions_ = (band_ - 1) * row_positions_ + row_outputs_;
  if (band_ == h.output) {
    images_ = std::clamp<int64_t>(kMostCopied / image_bytes_, 1, problem_.geometry.batch);
  }
}

int64_t AmxKernel::BytesOfBand(int64_t rows) const {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const int64_t before = rows - 1 + (h.extent() - 1) / h.stride;
  const int64_t pixels = before * row_positions_ * w.stride + last_columns_;
  return static_cast<int64_t>(planes_.size()) * RoundUp(pixels * channel_bytes_, kLine);
}

void AmxKernel::SplitRuns() {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const int64_t taps = merges_ ? w.window : 1;
  run_bytes_ = taps * channel_bytes_;
  run_steps_ = CeilDivide(run_bytes_, kAmxRowBytes);
  shape_.depth = RoundUp(CeilDivide(run_bytes_, run_steps_), kDepth);
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const int64_t row = kh * h.dilation;
    const auto plane = std::find(planes_.begin(), planes_.end(), row % h.stride) - planes_.begin();
    const int64_t of_row = plane * plane_bytes_ + row / h.stride * row_positions_ * position_step_;
    for (int64_t kw = 0; kw < w.window; kw += taps) {
      for (int64_t step = 0; step < run_steps_; ++step) {
        offsets_.push_back(of_row + kw * w.dilation * channel_bytes_ +
                           std::min(step * shape_.depth, run_bytes_ - shape_.depth));
      }
    }
  }
}

// Returns the tiles whose pixels are read for one block of weights after the other. Weights that
// stay in the second-level cache are read for each block of pixels, others as rarely as possible.
int64_t AmxKernel::TilesOfChunk(const Processor& processor) const {
  const int64_t tiles = images_ * tiles_of_image_;
  if (near_) return kAmxTiles;
  const int64_t of_tile = shape_.rows * (position_step_ + problem_.geometry.out_channels);
  int64_t most = std::min(AmxPixels::kMostTiles, processor.l2_bytes / 2 / of_tile);
  if (problem_.threads > 1) {
    most = std::min(most, tiles * blocks() / (2 * kRangesPerThread * problem_.threads));
  }
  return std::max(kAmxTiles, most / kAmxTiles * kAmxTiles);
}

absl::Status AmxKernel::Pack(int, const HostTensor& value, void* packed) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const int8_t* const filter = value.data<int8_t>().data();
  const int64_t taps = problem_.taps(), depth = shape_.depth;
  std::memset(packed, 0, static_cast<size_t>(weight_bytes()));
  for (int64_t channel = 0; channel < g.out_channels; ++channel) {
    const int64_t block = channel / kBlockChannels, of_block = channel % kBlockChannels;
    int8_t* const sums = static_cast<int8_t*>(packed) + block * BytesOf(kAmxPanels);
    const int64_t panels = PanelsOf(block), panel = of_block / kPanel, lane = of_block % kPanel;
    int32_t sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t run = merges_ ? tap / g.w.window : tap;
      const int64_t begin = merges_ ? tap % g.w.window * channel_bytes_ : 0;
      for (int64_t c = 0; c < g.in_channels; ++c) {
        const int8_t weight =
            filter[(channel * g.in_channels + c) * taps + problem_.FilterTap(tap)];
        sum += weight;
        // The last step begins earlier than `in_run`'s multiple of the depth.
        const int64_t in_run = begin + c, step = in_run / depth;
        const int64_t k = in_run - std::min(step * depth, run_bytes_ - depth);
        sums[kSumBytes + ((run * run_steps_ + step) * panels + panel) * depth * kPanel +
             (k / kDepth * kPanel + lane) * kDepth + k % kDepth] = weight;
      }
    }
    std::memcpy(sums + of_block * static_cast<int64_t>(sizeof(sum)), &sum, sizeof(sum));
  }
  return absl::OkStatus();
}

// Copies row y of an image, or padding, to `columns` pixels.
void AmxKernel::CopyRow(const uint8_t* src, int64_t y, int64_t columns, uint8_t* to) const {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const int64_t channels = problem_.geometry.in_channels;
  const auto outside = problem_.to.source_zero_point & 0xff;
  const auto bytes = [&](int64_t pixels) { return static_cast<size_t>(pixels * channel_bytes_); };
  const bool exists = y >= 0 && y < h.input;
  const int64_t begin = exists ? std::clamp<int64_t>(w.pad_begin, 0, columns) : columns;
  const int64_t end = std::clamp(w.input + w.pad_begin, begin, columns);
  std::memset(to, outside, bytes(begin));
  std::memset(to + bytes(end), outside, bytes(columns - end));
  if (begin == end) return;
  const uint8_t* const from = src + y * problem_.src.h + (begin - w.pad_begin) * problem_.src.w;
  to += bytes(begin);
  if (problem_.src.c == 1 && channels == channel_bytes_) {
    std::memcpy(to, from, bytes(end - begin));
    return;
  }
  for (int64_t x = 0; x < end - begin; ++x, to += channel_bytes_) {
    const uint8_t* const pixel = from + x * problem_.src.w;
    for (int64_t c = 0; c < channels; ++c) to[c] = pixel[c * problem_.src.c];
    std::fill(to + channels, to + channel_bytes_, uint8_t{0});
  }
}

void AmxKernel::Copy(const Pass& pass, const uint8_t* src, uint8_t* to) const {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const auto planes = static_cast<int64_t>(planes_.size());
  const int64_t of_row = row_positions_ * w.stride;
  const int64_t grain = std::max<int64_t>(1, 4 * kElementsPerThread / (of_row * channel_bytes_));
  ParallelFor(
      problem_.threads, pass.images * planes * plane_rows_, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = i % plane_rows_, plane = i / plane_rows_ % planes;
          const int64_t image = i / plane_rows_ / planes;
          const int64_t y = h.Origin(pass.row + row) + planes_[static_cast<size_t>(plane)];
          CopyRow(src + (pass.image + image) * problem_.src.n, y,
                  row + 1 < plane_rows_ ? of_row : last_columns_,
                  to + image * image_bytes_ + plane * plane_bytes_ + row * of_row * channel_bytes_);
        }
      });
}

// Finds the tiles of a chunk, from number `first` of the pass on.
void AmxKernel::FindTiles(const Pass& pass, int64_t first, const KernelArgs& args,
                          AmxPixels& to) const {
  const ConvolutionGeometry& g = problem_.geometry;
  auto* const dst = args.Output<uint8_t>(0);
  const auto* const z = problem_.sum ? args.Input<uint8_t>(ConvBiasForward::kZ) : nullptr;
  to.tiles = std::min(chunk_tiles_, pass.images * tiles_of_image_ - first);
  int32_t count = 0;
  for (int64_t tile = 0; tile < to.tiles; ++tile) {
    const int64_t image = (first + tile) / tiles_of_image_;
    const int64_t begin = (first + tile) % tiles_of_image_ * shape_.rows;
    const int64_t from = std::min(begin, positions_ - shape_.rows);
    to.src[tile] = pass.src + image * image_bytes_ + from * position_step_;
    to.begin[tile] = count;
    for (int64_t p = begin; p < from + shape_.rows; ++p) {
      const int64_t row = pass.row + p / row_positions_, column = p % row_positions_;
      if (row < pass.stored || column >= row_outputs_) continue;
      const int64_t output = ((pass.image + image) * g.h.output + row) * row_outputs_ + column;
      to.row[count] = static_cast<uint8_t>(tile % kAmxTiles * kAmxRows + p - from);
      to.dst[count] = dst + output * g.out_channels;
      if (z != nullptr) to.z[count] = z + output * g.out_channels;
      ++count;
    }
  }
  to.begin[to.tiles] = count;
}

void AmxKernel::RunBlock(const AmxPixels& pixels, int64_t block, bool is_first,
                         const KernelArgs& args, AmxState& state) const {
  const int64_t channel = block * kBlockChannels;
  const int64_t channels = std::min(kBlockChannels, problem_.geometry.out_channels - channel);
  const auto* const packed =
      args.Input<int8_t>(ConvBiasForward::kFilter) + block * BytesOf(kAmxPanels);
  const bool is_last = block == blocks() - 1 || PanelsOf(block + 1) < kAmxPanels;
  int32_t start[kBlockChannels] = {};
  StartOf(packed, kPanel * static_cast<int64_t>(sizeof(int32_t)),
          args.Input<int32_t>(ConvBiasForward::kBias) + channel, channels,
          problem_.to.source_zero_point, start);
  code_.run[problem_.is_signed](
      {.pixels = &pixels,
       .pixel_step = position_step_,
       .shape = shape_,
       .offsets = offsets_.data(),
       .steps = static_cast<int64_t>(offsets_.size()),
       .weights = packed + kSumBytes,
       .ahead = near_ || !is_first || is_last ? nullptr : packed + BytesOf(kAmxPanels),
       .stream = stream_,
       .start = start,
       .factors = factors_.data() + channel,
       .rounding = problem_.rounding,
       .sum = problem_.sum ? &*problem_.sum : nullptr,
       .channel = channel,
       .channels = channels},
      state);
}

void AmxKernel::RunPass(const Pass& pass, const KernelArgs& args) const {
  const int64_t chunks = CeilDivide(pass.images * tiles_of_image_, chunk_tiles_);
  const int64_t products = chunk_tiles_ * shape_.rows * kBlockChannels * shape_.depth *
                           static_cast<int64_t>(offsets_.size());
  const int64_t grain = std::max<int64_t>(1, 16 * kElementsPerThread / products);
  ParallelFor(problem_.threads, chunks * blocks(), grain, [&](int64_t begin, int64_t end) {
    AmxPixels pixels;
    AmxState state;
    code_.configure(shape_);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t chunk = i / blocks(), block = i % blocks();
      if (i == begin || block == 0) {
        code_.finish(state);
        FindTiles(pass, chunk * chunk_tiles_, args, pixels);
      }
      RunBlock(pixels, block, chunk == 0, args, state);
    }
    code_.finish(state);
    code_.release();
  });
}

absl::Status AmxKernel::Run(const KernelArgs& args, KernelState*) const {
  const ConvolutionGeometry& g = problem_.geometry;
  const auto* const src = args.Input<uint8_t>(ConvBiasForward::kSrc);
  if (!copies_) {
    RunPass({.image = 0, .images = 1, .row = 0, .stored = 0, .src = src}, args);
    return absl::OkStatus();
  }
  auto* const copy = static_cast<uint8_t*>(args.workspace);
  for (int64_t image = 0; image < g.batch; image += images_) {
    for (int64_t stored = 0; stored < g.h.output; stored += band_) {
      const Pass pass = {.image = image,
                         .images = std::min(images_, g.batch - image),
                         .row = std::min(stored, g.h.output - band_),
                         .stored = stored,
                         .src = copy};
      Copy(pass, src, copy);
      RunPass(pass, args);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Kernel> AmxConvolution(const QuantizedConvProblem& problem,
                                       const Processor& processor) {
  if (!processor.amx_int8 || TileCodeFor(processor) == nullptr || !AmxKernel::Fits(problem)) {
    return nullptr;
  }
  if (HostProcessor().amx_int8 && !RequestAmx().ok()) return nullptr;
  return std::make_unique<AmxKernel>(problem, processor);
}

}  // namespace ashlar::cpu
