#include "runtime/cpu/amx/positions.h"

#include <cstring>

namespace ashlar::cpu {
namespace {

// Weights that stay in the first-level cache with the pixels of a block.
constexpr int64_t kNearWeights = 24 * 1024;
// From this many bytes on, pixels would displace the weights of a block there.
constexpr int64_t kManyBytes = 512;
constexpr int64_t kMostUnits = kAmxRowBytes / kDepth;  // of kDepth bytes in a step

}  // namespace

AmxPositions::AmxPositions(const AmxProblem& problem, const Processor& processor)
    : problem_(problem), merges_(problem.copies && problem.geometry.w.dilation == 1) {
  const ConvolutionGeometry& g = problem_.geometry;
  pixel_bytes_ = RoundUp(g.in_channels * problem_.channel_bytes, kDepth);
  if (problem_.copies && !problem_.overlaps) PadPixels();
  Place();
  SplitRuns();
  tiles_of_image_ = CeilDivide(positions_, problem_.most_rows);
  shape_.rows = CeilDivide(positions_, tiles_of_image_);
  near_ = weight_bytes() <= processor.l2_bytes / 2;
  stream_ = weight_bytes() <= kNearWeights                         ? AmxStream::kNone
            : near_                                                ? AmxStream::kWeights
            : g.in_channels * problem_.channel_bytes >= kManyBytes ? AmxStream::kPixels
                                                                   : AmxStream::kNone;
  chunk_tiles_ = TilesOfChunk(processor);
}

// Returns the most units of a step that divides a run of `units` evenly.
int64_t AmxPositions::DepthUnits(int64_t units) {
  int64_t result = std::min(units, kMostUnits);
  while (units % result != 0) --result;
  return result;
}

double AmxPositions::Excess(const AmxProblem& problem) {
  const int64_t units = CeilDivide(problem.geometry.in_channels * problem.channel_bytes, kDepth);
  const int64_t steps = units / DepthUnits(units), least = CeilDivide(units, kMostUnits);
  return static_cast<double>(steps) / static_cast<double>(least) - 1;
}

// Appends zeros to pixels for the fewest steps.
void AmxPositions::PadPixels() {
  const int64_t taps = merges_ ? problem_.geometry.w.window : 1;
  const int64_t units = pixel_bytes_ / kDepth;
  int64_t best = 0, fewest = 0;
  for (int64_t padded = units; padded <= RoundUp(units, kMostUnits); ++padded) {
    const int64_t steps = taps * padded / DepthUnits(taps * padded);
    if (best == 0 || steps < fewest) best = padded, fewest = steps;
  }
  pixel_bytes_ = best * kDepth;
}

// Numbers the positions.
void AmxPositions::Place() {
  const ConvolutionGeometry& g = problem_.geometry;
  if (problem_.copies) return PlaceCopy();
  if (problem_.block_step > 0) {
    position_step_ = kChannelBlock * problem_.channel_bytes;
    pixel_bytes_ = RoundUp(pixel_bytes_, position_step_);
    row_positions_ = row_outputs_ = g.w.output;
    positions_ = g.h.output * g.w.output;
    images_ = g.batch, image_bytes_ = problem_.image_step;
    return;
  }
  position_step_ = pixel_bytes_;
  positions_ = row_positions_ = row_outputs_ = g.batch * g.h.output * g.w.output;
}

void AmxPositions::PlaceCopy() {
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
  position_step_ = w.stride * pixel_bytes_;
  last_columns_ = std::max(columns, row_positions_ * w.stride);
  band_ = h.output;
  for (int64_t bands = 2; band_ > 1 && BytesOfBand(band_) > problem_.most_copied; ++bands) {
    band_ = CeilDivide(h.output, bands);
  }
  image_bytes_ = BytesOfBand(band_);
  plane_bytes_ = image_bytes_ / static_cast<int64_t>(planes_.size());
  plane_rows_ = band_ + (h.extent() - 1) / h.stride;
  positions_ = (band_ - 1) * row_positions_ + row_outputs_;
  if (band_ == h.output) {
    images_ = std::clamp<int64_t>(problem_.most_copied / image_bytes_, 1, problem_.geometry.batch);
  }
}

int64_t AmxPositions::BytesOfBand(int64_t rows) const {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const int64_t before = rows - 1 + (h.extent() - 1) / h.stride;
  const int64_t pixels = before * row_positions_ * w.stride + last_columns_;
  return static_cast<int64_t>(planes_.size()) * RoundUp(pixels * pixel_bytes_, kLine);
}

void AmxPositions::SplitRuns() {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const int64_t taps = merges_ ? w.window : 1;
  run_bytes_ = taps * pixel_bytes_;
  if (problem_.block_step > 0) {
    shape_.depth = position_step_;
    run_steps_ = run_bytes_ / shape_.depth;
    for (int64_t i = 0; i < run_steps_; ++i) offsets_.push_back(i * problem_.block_step);
    return;
  }
  run_steps_ = problem_.overlaps ? CeilDivide(run_bytes_, kAmxRowBytes)
                                 : run_bytes_ / kDepth / DepthUnits(run_bytes_ / kDepth);
  shape_.depth = RoundUp(CeilDivide(run_bytes_, run_steps_), kDepth);
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const int64_t row = kh * h.dilation;
    const auto plane = std::find(planes_.begin(), planes_.end(), row % h.stride) - planes_.begin();
    const int64_t of_row = plane * plane_bytes_ + row / h.stride * row_positions_ * position_step_;
    for (int64_t kw = 0; kw < w.window; kw += taps) {
      for (int64_t step = 0; step < run_steps_; ++step) {
        offsets_.push_back(of_row + kw * w.dilation * pixel_bytes_ +
                           std::min(step * shape_.depth, run_bytes_ - shape_.depth));
      }
    }
  }
}

// Returns the tiles whose pixels are read for one block of weights after the other. Weights that
// stay in the second-level cache are read for each block of pixels, or without AMX's tiles for as
// many pixels as stay in the first-level one; others as rarely as possible.
int64_t AmxPositions::TilesOfChunk(const Processor& processor) const {
  const int64_t tiles = images_ * tiles_of_image_;
  if (near_ && problem_.most_rows == kAmxRows) return kAmxTiles;
  if (near_) {
    const int64_t most =
        std::min(AmxPixels::kMostTiles, processor.l1_bytes / 2 / (shape_.rows * pixel_bytes_));
    return std::max(kAmxTiles, most / kAmxTiles * kAmxTiles);
  }
  const int64_t of_tile =
      shape_.rows * (position_step_ + problem_.geometry.out_channels * problem_.channel_bytes);
  int64_t most = std::min(AmxPixels::kMostTiles, processor.l2_bytes / 2 / of_tile);
  if (problem_.threads > 1) {
    most = std::min(most, tiles * blocks() / (kRangesPerThread * problem_.threads));
  }
  return std::max(kAmxTiles, most / kAmxTiles * kAmxTiles);
}

int64_t AmxPositions::WeightOffset(int64_t channel, int64_t tap, int64_t in_channel) const {
  const int64_t block = channel / kAmxBlockChannels, of_block = channel % kAmxBlockChannels;
  const int64_t panels = PanelsOf(block), panel = of_block / kPanel, lane = of_block % kPanel;
  const int64_t window = problem_.geometry.w.window, depth = shape_.depth;
  const int64_t run = merges_ ? tap / window : tap;
  const int64_t begin = merges_ ? tap % window * pixel_bytes_ : 0;
  // The last step may begin earlier than a multiple of the depth.
  const int64_t in_run = begin + in_channel * problem_.channel_bytes, step = in_run / depth;
  const int64_t k = in_run - std::min(step * depth, run_bytes_ - depth);
  return BlockOffset(block) + problem_.header +
         ((run * run_steps_ + step) * panels + panel) * depth * kPanel +
         (k / kDepth * kPanel + lane) * kDepth + k % kDepth;
}

// Copies row y of an image, or padding, to `columns` pixels.
void AmxPositions::CopyRow(int64_t image, int64_t y, int64_t columns, uint8_t* to,
                           const CopyPixels& copy) const {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const auto bytes = [&](int64_t pixels) { return static_cast<size_t>(pixels * pixel_bytes_); };
  const bool exists = y >= 0 && y < h.input;
  const int64_t begin = exists ? std::clamp<int64_t>(w.pad_begin, 0, columns) : columns;
  const int64_t end = std::clamp(w.input + w.pad_begin, begin, columns);
  std::memset(to, problem_.outside, bytes(begin));
  std::memset(to + bytes(end), problem_.outside, bytes(columns - end));
  if (begin < end) copy(image, y, begin - w.pad_begin, end - begin, to + bytes(begin));
}

void AmxPositions::Copy(const Pass& pass, uint8_t* to, const CopyPixels& copy) const {
  const WindowAxis &h = problem_.geometry.h, &w = problem_.geometry.w;
  const auto planes = static_cast<int64_t>(planes_.size());
  const int64_t of_row = row_positions_ * w.stride;
  const int64_t grain = std::max<int64_t>(1, 4 * kElementsPerThread / (of_row * pixel_bytes_));
  ParallelFor(
      problem_.threads, pass.images * planes * plane_rows_, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = i % plane_rows_, plane = i / plane_rows_ % planes;
          const int64_t image = i / plane_rows_ / planes;
          const int64_t y = h.Origin(pass.row + row) + planes_[static_cast<size_t>(plane)];
          CopyRow(pass.image + image, y, row + 1 < plane_rows_ ? of_row : last_columns_,
                  to + image * image_bytes_ + plane * plane_bytes_ + row * of_row * pixel_bytes_,
                  copy);
        }
      });
}

// Finds the tiles of a chunk, from number `first` of the pass on.
void AmxPositions::FindTiles(const Pass& pass, int64_t first, const Addresses& at,
                             AmxPixels& to) const {
  to.tiles = std::min(chunk_tiles_, pass.images * tiles_of_image_ - first);
  int32_t count = 0;
  for (int64_t tile = 0; tile < to.tiles; ++tile) {
    const int64_t image = (first + tile) / tiles_of_image_;
    const int64_t begin = (first + tile) % tiles_of_image_ * shape_.rows;
    const int64_t from = std::min(begin, positions_ - shape_.rows);
    to.src[tile] = pass.src + image * image_bytes_ + from * position_step_;
    to.begin[tile] = count;
    int64_t row = pass.row + begin / row_positions_, column = begin % row_positions_ - 1;
    for (int64_t p = begin; p < from + shape_.rows; ++p) {
      if (++column == row_positions_) ++row, column = 0;
      if (row < pass.stored || column >= row_outputs_) continue;
      to.row[count] = static_cast<uint8_t>(tile % kAmxTiles * kAmxRows + p - from);
      at.of_pixel(pass.image + image, row, column, to.dst[count], to.z[count]);
      ++count;
    }
  }
  to.begin[to.tiles] = count;
}

}  // namespace ashlar::cpu
