// How panel.h's convolution is cut into loops: tiles, runs of tiles, panels, chunks of weights.
#ifndef ASHLAR_RUNTIME_CPU_CONV_PANEL_PLAN_H_
#define ASHLAR_RUNTIME_CPU_CONV_PANEL_PLAN_H_

#include <algorithm>
#include <cstdint>

#include "graph/region.h"
#include "runtime/cpu/conv/panel.h"
#include "runtime/cpu/conv/tensors.h"
#include "runtime/cpu/conv/tile.h"
#include "runtime/cpu/conv/widened_input.h"

namespace ashlar::cpu {

inline constexpr int64_t kFloat = sizeof(float);

// The problem as loops. Strides are in bytes; those of an input of Float16 are of its floats.
struct PanelPlan {
  PanelPlan(const ConvProblem& problem, const ConvStrides& strides, const ConvTileCode& code,
            int64_t run_bytes);

  const ConvTileCode* code;
  bool depthwise;  // as groups of one input channel each, kept in blocks: see ConvTileCode
  bool halves;     // groups are two of the problem's
  WindowAxis h, w;
  int64_t images, groups;
  int64_t lanes, last_lanes;      // input channels of a block, of the last one
  int64_t in_blocks, out_blocks;  // of a group
  int64_t panel_blocks, panels;   // blocks of a panel, panels of a group
  int64_t out_channels;           // of all groups
  ImageStrides src, z, dst;
  int64_t src_lane;

  int64_t tiles_per_row, tiles;       // tiles: over all images and rows
  int64_t tile_pixels, longer_tiles;  // of a row: the shorter tiles' pixels, how many have one more
  int64_t runs;                       // runs of tiles
  int64_t chunk_blocks;               // input blocks of a chunk
  bool fetch_input;                   // the last panel of a run fetches the input of the next
  bool fetch_z;                       // tiles fetch what they add

  bool float16;  // images and bias
  // Where they are: runs are of so many images, or so many are an image.
  int64_t images_per_run = 1, runs_per_image = 1;
  WideningPlan widening;   // of the input of a group
  int64_t run_pixels = 0;  // of the longest run, where its sums are floats in workspace

  int64_t TapBytes(int64_t blocks) const { return lanes * blocks * kChannelBlock * kFloat; }
  int64_t BlockBytes(int64_t blocks) const { return h.window * w.window * TapBytes(blocks); }
  int64_t ChunkBytes() const { return chunk_blocks * BlockBytes(panel_blocks); }
  int64_t GroupBytes() const { return in_blocks * BlockBytes(out_blocks); }
  int64_t BlocksOf(int64_t panel) const {
    return std::min(panel_blocks, out_blocks - panel % panels * panel_blocks);
  }
  // The tiles of a run.
  Range TilesOf(int64_t run) const {
    if (!float16) return {run * tiles / runs, (run + 1) * tiles / runs};
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
  // Where tile `index` of a row begins. The first tiles are longer than the others by a pixel,
  // where the row's length wants it.
  int64_t ColumnOf(int64_t index) const {
    return index * tile_pixels + std::min(index, longer_tiles);
  }
  // Workspace of a thread, for images of Float16.
  int64_t InputBytes() const { return float16 ? widening.bytes() : 0; }
  int64_t SumsBytes() const { return run_pixels * panel_blocks * kChannelBlock * kFloat; }

  // Where the weights of a panel, counted over all groups, begin.
  int64_t PanelOffset(int64_t panel) const {
    return panel / panels * GroupBytes() + panel % panels * in_blocks * BlockBytes(panel_blocks);
  }

 private:
  void PlanRuns(const ConvProblem& problem, int64_t run_bytes);
  void PlanWidening(bool planar);
};

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_PANEL_PLAN_H_
