// How the convolution of panel.h is cut into loops: tiles, runs of tiles, panels, chunks of
// weights.
#ifndef ASHLAR_RUNTIME_CPU_CONV_PANEL_PLAN_H_
#define ASHLAR_RUNTIME_CPU_CONV_PANEL_PLAN_H_

#include <algorithm>
#include <cstdint>

#include "graph/region.h"
#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/tensors.h"
#include "runtime/cpu/conv/tile.h"
#include "runtime/cpu/conv/widened_input.h"
#include "runtime/cpu/element.h"

namespace ashlar::cpu {

// Whether the kernel of panel.h takes the problem. It requires:
// - NEON, AVX2 or AVX-512;
// - a row-major filter, blocked output and z;
// - groups of whole blocks, of half a block, or of one channel each (depthwise);
// - an input that is blocked, or row-major with few channels.
// Images may be 16-bit floats if the filter is constant.
bool PanelConvolutionFits(const ConvProblem& problem);

// The loops of a problem. Strides are in bytes; for an input of 16 bits, in bytes of its Float32
// copy.
struct PanelPlan {
  PanelPlan(const ConvProblem& problem, const ConvStrides& strides, const ConvTileCode& code,
            int64_t run_bytes);

  const ConvTileCode* code;
  bool depthwise;  // one input channel per group, stored in blocks: see ConvTileCode
  bool halves;     // each group here is two groups of the problem
  WindowAxis h, w;
  int64_t images, groups;
  int64_t lanes, last_lanes;      // input channels of a block, of the last block
  int64_t in_blocks, out_blocks;  // in a group
  int64_t panel_blocks, panels;   // blocks in a panel, panels in a group
  int64_t out_channels;           // in all groups
  ImageStrides src, z, dst;
  int64_t src_lane;

  int64_t tiles_per_row, tiles;       // tiles: over all images and rows
  int64_t tile_pixels, longer_tiles;  // in a row: pixels of a shorter tile, number of longer ones
  int64_t runs;                       // runs of tiles
  int64_t chunk_blocks;               // input blocks of a chunk
  bool fetch_input;                   // the last panel of a run prefetches the next run's input
  bool fetch_z;                       // tiles prefetch the z that they add

  StoredFloat image_float;  // of images and bias
  bool widens;              // they are 16-bit floats
  // The type of the packed filter: BFloat16 if images are, otherwise Float32. (For Float16 images,
  // users' files of packed weights have Float32.)
  StoredFloat filter_float;
  int64_t weight_bytes;
  // 16-bit floats only. One of the two is 1: a run covers several images, or an image has several
  // runs.
  int64_t images_per_run = 1, runs_per_image = 1;
  WideningPlan widening;   // for the input of a group
  int64_t run_pixels = 0;  // pixels of the longest run, if its sums are Float32 in workspace

  // Sizes in a packed filter.
  int64_t TapBytes(int64_t blocks) const { return lanes * blocks * kChannelBlock * weight_bytes; }
  int64_t BlockBytes(int64_t blocks) const { return h.window * w.window * TapBytes(blocks); }
  int64_t ChunkBytes() const { return chunk_blocks * BlockBytes(panel_blocks); }
  int64_t GroupBytes() const { return in_blocks * BlockBytes(out_blocks); }
  int64_t BlocksOf(int64_t panel) const {
    return std::min(panel_blocks, out_blocks - panel % panels * panel_blocks);
  }
  // Returns the tiles of a run.
  Range TilesOf(int64_t run) const {
    if (!widens) return {run * tiles / runs, (run + 1) * tiles / runs};
    const int64_t of_image = tiles / images;
    if (images_per_run > 1) {
      return {run * images_per_run * of_image,
              std::min((run + 1) * images_per_run, images) * of_image};
    }
    const int64_t first = run / runs_per_image * of_image, part = run % runs_per_image;
    return {first + part * of_image / runs_per_image,
            first + (part + 1) * of_image / runs_per_image};
  }
  InputBox InputOf(const Range& of_run) const;
  // Returns the column at which tile `index` of a row begins. The first `longer_tiles` tiles have
  // one more pixel.
  int64_t ColumnOf(int64_t index) const {
    return index * tile_pixels + std::min(index, longer_tiles);
  }
  // Workspace per thread, in bytes, for images of 16-bit floats.
  int64_t InputBytes() const { return widens ? widening.bytes() : 0; }
  int64_t SumsBytes() const { return run_pixels * panel_blocks * kChannelBlock * kFloatBytes; }

  // Returns the byte offset of a panel's packed weights. Panels are counted over all groups.
  int64_t PanelOffset(int64_t panel) const {
    return panel / panels * GroupBytes() + panel % panels * in_blocks * BlockBytes(panel_blocks);
  }

 private:
  void PlanRuns(const ConvProblem& problem, int64_t run_bytes);
  void PlanWidening(bool planar);
};

// Returns the time of widening images of 16-bit floats, relative to the time of the sums. It is
// smaller for longer runs.
double WideningTime(const ConvProblem& problem, const ConvStrides& strides, int64_t input_bytes);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_PANEL_PLAN_H_
