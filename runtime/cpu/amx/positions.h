// How convolutions become products of AMX's tiles (tiles.h).
//
// Outputs are numbered positions; the window of the next position begins `stride` columns later. A
// window is one run of bytes per row, or one per tap if it is dilated; each run is cut into equal
// steps of at most 64 bytes.
//
// - 1x1 windows that move by one pixel may read the image itself: positions are its pixels, in
//   order. Channels may lie in blocks: then a step of the sum is a block.
// - Others read a copy in the workspace, padded. For a vertical stride of s, the copy has s planes,
//   each with every s-th row. The padding at the right of a row is also that at the left of the
//   next one, and positions run on across rows. Positions between the last output of a row and the
//   first of the next are computed but not stored.
// - A copy has at most `most_copied` bytes: several images, one, or some of its rows.
//
// If the last tile has less rows than others, it begins earlier and stores only the rest, so
// nothing is read after the image, and one configuration serves all tiles. In the same way the last
// copy of an image begins earlier.
//
// The weights of a block are packed in the order in which its steps read them.
#ifndef ASHLAR_RUNTIME_CPU_AMX_POSITIONS_H_
#define ASHLAR_RUNTIME_CPU_AMX_POSITIONS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/region.h"
#include "opr/base/window.h"
#include "opr/convolution.h"
#include "runtime/cpu/amx/tiles.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {

// A convolution of one group.
struct AmxProblem {
  ConvolutionGeometry geometry;
  int64_t channel_bytes;  // of a channel of a pixel
  // Whether pixels are copied. If not, windows are 1x1 and move by one pixel, whose channels are
  // adjacent and fill groups of kDepth bytes, or lie in blocks.
  bool copies;
  // Whether the last step of a run may read bytes again that the step before has read, with weights
  // of zero. Otherwise steps fit exactly; if pixels are copied, zeros are appended to them for it.
  bool overlaps;
  uint8_t outside;      // the bytes of the padding
  int64_t header;       // bytes before the weights of a block, a multiple of a cache line
  int64_t most_copied;  // bytes
  int threads;
  int64_t most_rows = kAmxRows;  // pixels of a tile
  // If pixels in blocks are not copied: bytes between blocks, and between images; otherwise 0.
  int64_t block_step = 0, image_step = 0;
};

class AmxPositions {
 public:
  AmxPositions(const AmxProblem& problem, const Processor& processor);

  // The largest part of a run's steps that are not needed for its bytes, if pixels are not copied.
  static double Excess(const AmxProblem& problem);

  const AmxShape& shape() const { return shape_; }
  bool merges() const { return merges_; }
  int64_t workspace_bytes() const { return problem_.copies ? images_ * image_bytes_ : 0; }
  int64_t blocks() const { return CeilDivide(problem_.geometry.out_channels, kAmxBlockChannels); }
  int64_t weight_bytes() const {
    return (blocks() - 1) * BlockBytes(kAmxPanels) + BlockBytes(PanelsOf(blocks() - 1));
  }
  // The offset of a block's header, then the weights, in packed weights.
  int64_t BlockOffset(int64_t block) const { return block * BlockBytes(kAmxPanels); }
  // The offset of the first byte of a weight of a channel in its block.
  int64_t WeightOffset(int64_t channel, int64_t tap, int64_t in_channel) const;

  // A part of the outputs: rows [row, row + rows of a copy) of images [image, image + images). Rows
  // before `stored` are there already.
  struct Pass {
    int64_t image, images, row, stored;
    const uint8_t* src;  // the first position's window
  };
  // Copies `count` pixels of a row of an image from column x on, `pixel_bytes` apart.
  using CopyPixels =
      absl::FunctionRef<void(int64_t image, int64_t y, int64_t x, int64_t count, uint8_t* to)>;
  int64_t pixel_bytes() const { return pixel_bytes_; }  // of a copied pixel

  // The addresses of a convolution's tensors; `of_pixel` finds the addresses of a pixel's results.
  struct Addresses {
    const uint8_t* src;
    void* workspace;
    absl::FunctionRef<void(int64_t image, int64_t row, int64_t column, uint8_t*& dst,
                           const uint8_t*& z)>
        of_pixel;
    const char* weights;  // packed
  };
  // Runs all blocks. `complete` fills in what calls have beside pixels and weights: the start and
  // results of a block, whose weights are packed at `packed`; `start` has room for it.
  template <typename Results, typename Complete>
  void Run(const AmxCode& code, bool is_signed, const Addresses& at, const CopyPixels& copy,
           const Complete& complete) const;

 private:
  static int64_t DepthUnits(int64_t units);
  void PadPixels();
  void Place();
  void PlaceCopy();
  void SplitRuns();
  int64_t TilesOfChunk(const Processor& processor) const;
  int64_t BytesOfBand(int64_t rows) const;
  int64_t PanelsOf(int64_t block) const {
    const int64_t rest = problem_.geometry.out_channels - block * kAmxBlockChannels;
    return std::min(kAmxPanels, CeilDivide(rest, kPanel));
  }
  int64_t BlockBytes(int64_t panels) const {
    return problem_.header + static_cast<int64_t>(offsets_.size()) * panels * shape_.depth * kPanel;
  }
  void CopyRow(int64_t image, int64_t y, int64_t columns, uint8_t* to,
               const CopyPixels& copy) const;
  void Copy(const Pass& pass, uint8_t* to, const CopyPixels& copy) const;
  void FindTiles(const Pass& pass, int64_t first, const Addresses& at, AmxPixels& to) const;
  template <typename Results, typename Complete>
  void RunPass(const AmxCode& code, bool is_signed, const Pass& pass, const Addresses& at,
               const Complete& complete) const;

  const AmxProblem problem_;
  bool merges_;  // a run is a row of the window, otherwise a tap
  AmxShape shape_;
  int64_t pixel_bytes_;                  // of a pixel that tiles read
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
};

template <typename Results, typename Complete>
void AmxPositions::RunPass(const AmxCode& code, bool is_signed, const Pass& pass,
                           const Addresses& at, const Complete& complete) const {
  const AmxFunctions<Results>& functions = code.of<Results>();
  const int64_t chunks = CeilDivide(pass.images * tiles_of_image_, chunk_tiles_);
  const int64_t products = chunk_tiles_ * shape_.rows * kAmxBlockChannels * shape_.depth /
                           problem_.channel_bytes * static_cast<int64_t>(offsets_.size());
  const int64_t grain = std::max<int64_t>(1, 16 * kElementsPerThread / products);
  ParallelFor(problem_.threads, chunks * blocks(), grain, [&](int64_t begin, int64_t end) {
    AmxPixels pixels;
    AmxState<Results> state;
    code.configure(shape_);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t chunk = i / blocks(), block = i % blocks();
      if (i == begin || block == 0) {
        functions.finish(state);
        FindTiles(pass, chunk * chunk_tiles_, at, pixels);
      }
      const char* const packed = at.weights + BlockOffset(block);
      const bool is_last = block == blocks() - 1 || PanelsOf(block + 1) < kAmxPanels;
      const bool fetches = !near_ && chunk == 0 && !is_last;
      const int64_t channel = block * kAmxBlockChannels;
      int32_t start[kAmxBlockChannels] = {};
      AmxCall<Results> call = {
          .pixels = &pixels,
          .pixel_step = position_step_,
          .shape = shape_,
          .offsets = offsets_.data(),
          .steps = static_cast<int64_t>(offsets_.size()),
          .weights = packed + problem_.header,
          .ahead = fetches ? packed + BlockBytes(kAmxPanels) + problem_.header : nullptr,
          .stream = stream_,
          .start = start,
          .channel = channel,
          .channels = std::min(kAmxBlockChannels, problem_.geometry.out_channels - channel),
          .results = {}};
      complete(call, packed, start);
      functions.run[is_signed](call, state);
    }
    functions.finish(state);
    code.release();
  });
}

template <typename Results, typename Complete>
void AmxPositions::Run(const AmxCode& code, bool is_signed, const Addresses& at,
                       const CopyPixels& copy, const Complete& complete) const {
  if (!problem_.copies) {
    const Pass all = {.image = 0, .images = images_, .row = 0, .stored = 0, .src = at.src};
    return RunPass<Results>(code, is_signed, all, at, complete);
  }
  auto* const to = static_cast<uint8_t*>(at.workspace);
  const ConvolutionGeometry& g = problem_.geometry;
  for (int64_t image = 0; image < g.batch; image += images_) {
    for (int64_t stored = 0; stored < g.h.output; stored += band_) {
      const Pass pass = {.image = image,
                         .images = std::min(images_, g.batch - image),
                         .row = std::min(stored, g.h.output - band_),
                         .stored = stored,
                         .src = to};
      Copy(pass, to, copy);
      RunPass<Results>(code, is_signed, pass, at, complete);
    }
  }
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_AMX_POSITIONS_H_
