// ConvolutionBackwardFilter and ConvolutionFilterUpdate as matrix products that sum over pixels.
// They are blocked for registers and caches (Goto and van de Geijn 2008, "Anatomy of
// High-Performance Matrix Multiplication").
//
// - A task is a rectangle of the filter: some blocks of 16 output channels by some channels of the
//   image, with all taps. Its sums stay in the second-level cache while all pixels pass.
// - Pixels come in chunks that stay in the first-level cache. Each block of output channels passes
//   over a chunk with each block of image channels, tap by tap.
// - Chunks and their order depend only on the images, so results do not depend on the number of
//   threads.
//
// A blocked image is read in place, and each tap skips its pixels in the padding. A row-major
// image, which usually has few channels, is copied chunk by chunk with its padding; then each
// element of a window gives a row of sums.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/convolution_filter_update.h"
#include "runtime/cpu/conv/filter_tile.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/image_layout.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kChunkPixels = 192;  // in diff; a block of channels takes 12 KiB of them
constexpr int64_t kMostBlocks = 8;     // on either side of a task
constexpr int64_t kPlanarRows = 192;   // of sums in a task, if the image is row-major

// A rectangle of blocks of output channels by channels of the image, counted over all groups.
struct Task {
  int64_t out_block = 0, out_blocks = 0;
  int64_t in = 0, in_channels = 0;
};

struct Chunk {
  Range images, rows;  // of diff
};

struct Plan {
  ConvolutionGeometry geometry;
  bool flip = false;
  ImageLayout src, diff;
  bool planar = false;     // the image is row-major: see above
  bool depthwise = false;  // each channel has its own filter; both images are blocked
  int64_t taps = 0;
  int64_t chunk_images = 1, chunk_rows = 1;
  // For a chunk of a row-major image with its padding: its rows, and the pixels per row.
  int64_t copied_rows = 0, copied_pitch = 0;
  std::vector<Task> tasks;
  std::vector<int64_t> offsets;  // of each row of sums, relative to the copied chunk
  int64_t sums_floats = 0, src_floats = 0, diff_floats = 0;  // in a thread's workspace

  int64_t all_in() const { return geometry.groups * geometry.in_channels; }
  int64_t all_out() const { return geometry.groups * geometry.out_channels; }
  int64_t chunks_of_image() const { return CeilDivide(geometry.h.output, chunk_rows); }
  int64_t chunks() const { return CeilDivide(geometry.batch, chunk_images) * chunks_of_image(); }
  Chunk ChunkAt(int64_t i) const {
    const int64_t n = i / chunks_of_image() * chunk_images, y = i % chunks_of_image() * chunk_rows;
    return {{n, std::min(n + chunk_images, geometry.batch)},
            {y, std::min(y + chunk_rows, geometry.h.output)}};
  }
  int64_t RowsOfSums(const Task& task) const {
    if (depthwise) return taps;
    return taps * (planar ? task.in_channels : RoundUp(task.in_channels, kChannelBlock));
  }
  // Returns the row of a sum in its block of output channels; a row has 16 sums.
  int64_t RowOf(int64_t channel, int64_t tap) const {
    if (planar) return channel * taps + tap;
    return (channel / kChannelBlock * taps + tap) * kChannelBlock + channel % kChannelBlock;
  }
  int64_t workspace_floats() const { return sums_floats + src_floats + diff_floats; }
};

// Returns rectangles of channels that share groups; with one group, a single rectangle of all
// channels.
std::vector<Task> Rectangles(const Plan& plan) {
  const ConvolutionGeometry& g = plan.geometry;
  const int64_t blocks = ChannelBlocks(plan.all_out());
  std::vector<Task> rectangles;
  if (g.groups == 1) return {{0, blocks, 0, g.in_channels}};
  if (g.in_channels % kChannelBlock == 0 && g.out_channels % kChannelBlock == 0) {
    const int64_t of_group = g.out_channels / kChannelBlock;
    for (int64_t i = 0; i < g.groups; ++i) {
      rectangles.push_back({i * of_group, of_group, i * g.in_channels, g.in_channels});
    }
    return rectangles;
  }
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t last = std::min((block + 1) * kChannelBlock, plan.all_out()) - 1;
    int64_t begin = block * kChannelBlock / g.out_channels * g.in_channels;
    const int64_t end = (last / g.out_channels + 1) * g.in_channels;
    if (!plan.planar) begin = begin / kChannelBlock * kChannelBlock;
    rectangles.push_back({block, 1, begin, end - begin});
  }
  return rectangles;
}

// Calls visit(first, count) for nearly equal parts of at most `most` units each.
template <typename Visit>
void ForEachPart(int64_t units, int64_t most, const Visit& visit) {
  const int64_t parts = CeilDivide(units, most);
  for (int64_t i = 0; i < parts; ++i) {
    const Range part = PartOf({0, units}, i, parts);
    visit(part.begin, part.size());
  }
}

std::vector<Task> Tasks(const Plan& plan, const KernelRequest& request) {
  const std::vector<Task> rectangles = Rectangles(plan);
  const int64_t unit = plan.planar ? 1 : kChannelBlock;  // in the image's channels
  const int64_t sums_bytes = kChannelBlock * kFloatBytes * plan.taps * unit;
  int64_t outs = kMostBlocks;
  int64_t ins = plan.planar ? std::max<int64_t>(1, kPlanarRows / plan.taps) : kMostBlocks;
  while (outs * ins > 1 && outs * ins * sums_bytes > request.processor.l2_bytes / 4) {
    (outs >= ins ? outs : ins) /= 2;
  }
  const int64_t wanted = request.threads > 1 ? kRangesPerThread * request.threads : 1;
  for (;;) {
    std::vector<Task> tasks;
    for (const Task& all : rectangles) {
      ForEachPart(all.out_blocks, outs, [&](int64_t out, int64_t out_blocks) {
        ForEachPart(CeilDivide(all.in_channels, unit), ins, [&](int64_t in, int64_t count) {
          const int64_t begin = in * unit, end = std::min(begin + count * unit, all.in_channels);
          tasks.push_back({all.out_block + out, out_blocks, all.in + begin, end - begin});
        });
      });
    }
    if (static_cast<int64_t>(tasks.size()) >= wanted || outs * ins == 1) return tasks;
    (outs >= ins ? outs : ins) /= 2;
  }
}

Plan MakePlan(const ConvolutionGeometry& geometry, bool flip, const KernelRequest& request) {
  Plan plan;
  plan.geometry = geometry;
  plan.flip = flip;
  plan.src = ImageLayout(request.inputs[ConvolutionBackwardFilter::kSrc]);
  plan.diff = ImageLayout(request.inputs[ConvolutionBackwardFilter::kDiff]);
  const WindowAxis &h = geometry.h, &w = geometry.w;
  plan.planar = !plan.src.blocked();
  plan.depthwise = geometry.in_channels == 1 && geometry.out_channels == 1 && geometry.groups > 1 &&
                   plan.src.blocked() && plan.diff.blocked();
  plan.taps = h.window * w.window;
  const int64_t pixels = h.output * w.output;
  if (pixels <= kChunkPixels) {
    plan.chunk_images = std::min(geometry.batch, kChunkPixels / pixels);
    plan.chunk_rows = h.output;
  } else {
    plan.chunk_rows = std::clamp<int64_t>(kChunkPixels / w.output, 1, h.output);
  }
  if (plan.depthwise) {
    for (int64_t block = 0; block < ChannelBlocks(geometry.groups); ++block) {
      const int64_t in = block * kChannelBlock;
      plan.tasks.push_back({block, 1, in, std::min(kChannelBlock, geometry.groups - in)});
    }
  } else {
    plan.tasks = Tasks(plan, request);
  }
  for (const Task& task : plan.tasks) {
    plan.sums_floats =
        std::max(plan.sums_floats, task.out_blocks * plan.RowsOfSums(task) * kChannelBlock);
  }
  if (plan.planar) {
    plan.copied_rows = (plan.chunk_rows - 1) * h.stride + h.extent();
    plan.copied_pitch = (w.output - 1) * w.stride + w.extent();
    int64_t most = 0;
    for (const Task& task : plan.tasks) most = std::max(most, task.in_channels);
    const int64_t plane = plan.copied_rows * plan.copied_pitch;
    plan.src_floats = plan.chunk_images * most * plane;
    for (int64_t i = 0; i < most * plan.taps; ++i) {
      const int64_t tap = i % plan.taps;
      plan.offsets.push_back(i / plan.taps * plane +
                             tap / w.window * h.dilation * plan.copied_pitch +
                             tap % w.window * w.dilation);
    }
  }
  if (!plan.diff.blocked()) {
    plan.diff_floats = plan.chunk_images * plan.chunk_rows * w.output * kChannelBlock;
  }
  return plan;
}

class BackwardFilterKernel final : public Kernel {
 public:
  // With `alpha`, computes alpha * input ConvolutionFilterUpdate::kDest + the gradient.
  BackwardFilterKernel(Plan plan, std::optional<float> alpha, const KernelRequest& request)
      : plan_(std::move(plan)),
        alpha_(alpha),
        isa_(request.processor.isa),
        threads_(static_cast<int>(
            std::min<int64_t>(request.threads, static_cast<int64_t>(plan_.tasks.size())))),
        depthwise_(DepthwiseFilterTileFor(isa_)) {
    for (int rows = 1; rows <= FilterTileRows(isa_); ++rows) {
      tiles_[rows] = FilterTileFor(isa_, rows, !plan_.planar);
    }
  }

  std::string implementation() const override {
    return absl::StrCat(plan_.depthwise ? "depthwise_" : "",
                        alpha_ ? "filter_update:" : "filter_grad:", Name(isa_));
  }
  int64_t workspace_bytes() const override {
    return threads_ * plan_.workspace_floats() * kFloatBytes;
  }
  absl::Status Run(const KernelArgs& args, KernelState*) const override;

 private:
  struct Memory {
    const float *src, *diff;  // original tensors
    const float* dest;        // addend
    float* dst;
    float *sums, *copied_src, *copied_diff;  // of this thread
  };
  // A chunk of a block of diff's channels.
  struct Diff {
    const float* data;
    FilterTile::Steps step;
  };

  void RunTask(const Memory& memory, const Task& task) const;
  void CopySrc(const Memory& memory, const Task& task, const Chunk& chunk) const;
  Diff DiffOf(const Memory& memory, int64_t block, const Chunk& chunk) const;
  void AddCopied(const Memory& memory, const Task& task, const Chunk& chunk, const Diff& diff,
                 bool add, float* sums) const;
  void AddBlock(const Memory& memory, int64_t in, int64_t channels, const Chunk& chunk,
                const Diff& diff, bool add, float* sums) const;
  void AddRows(FilterTile tile, int64_t rows) const;
  void Store(const Memory& memory, const Task& task) const;

  const Plan plan_;
  const std::optional<float> alpha_;
  const Isa isa_;
  const int threads_;
  const FilterTileFunction depthwise_;
  FilterTileFunction tiles_[kMostFilterTileRows + 1] = {};
};

absl::Status BackwardFilterKernel::Run(const KernelArgs& args, KernelState*) const {
  const float* const dest = alpha_ ? args.Input<float>(ConvolutionFilterUpdate::kDest) : nullptr;
  ParallelPieces(threads_, static_cast<int64_t>(plan_.tasks.size()), [&](int64_t i, int thread) {
    float* const own = static_cast<float*>(args.workspace) + thread * plan_.workspace_floats();
    RunTask({args.Input<float>(ConvolutionBackwardFilter::kSrc),
             args.Input<float>(ConvolutionBackwardFilter::kDiff), dest, args.Output<float>(0), own,
             own + plan_.sums_floats, own + plan_.sums_floats + plan_.src_floats},
            plan_.tasks[static_cast<size_t>(i)]);
  });
  return absl::OkStatus();
}

void BackwardFilterKernel::RunTask(const Memory& memory, const Task& task) const {
  const int64_t floats =
      plan_.RowsOfSums(task) * kChannelBlock;  // for one block of output channels
  for (int64_t i = 0; i < plan_.chunks(); ++i) {
    const Chunk chunk = plan_.ChunkAt(i);
    if (plan_.planar) CopySrc(memory, task, chunk);
    for (int64_t block = 0; block < task.out_blocks; ++block) {
      const Diff diff = DiffOf(memory, task.out_block + block, chunk);
      float* const sums = memory.sums + block * floats;
      if (plan_.planar) {
        AddCopied(memory, task, chunk, diff, i > 0, sums);
        continue;
      }
      for (int64_t in = 0; in < task.in_channels; in += kChannelBlock) {
        AddBlock(memory, task.in + in, std::min(kChannelBlock, task.in_channels - in), chunk, diff,
                 i > 0, sums + plan_.RowOf(in, 0) * (plan_.depthwise ? 0 : kChannelBlock));
      }
    }
  }
  Store(memory, task);
}

// Copies the chunk of the task's channels, with zeros as padding.
void BackwardFilterKernel::CopySrc(const Memory& memory, const Task& task,
                                   const Chunk& chunk) const {
  const WindowAxis &h = plan_.geometry.h, &w = plan_.geometry.w;
  const int64_t first_row = h.Origin(chunk.rows.begin), first_column = w.Origin(0);
  const int64_t rows = (chunk.rows.size() - 1) * h.stride + h.extent();
  const Range inside =
      Intersection({0, plan_.copied_pitch}, {-first_column, w.input - first_column});
  for (int64_t n = 0; n < chunk.images.size(); ++n) {
    for (int64_t c = 0; c < task.in_channels; ++c) {
      float* to =
          memory.copied_src + (n * task.in_channels + c) * plan_.copied_rows * plan_.copied_pitch;
      for (int64_t y = first_row; y < first_row + rows; ++y, to += plan_.copied_pitch) {
        if (y < 0 || y >= h.input || inside.empty()) {
          std::fill_n(to, plan_.copied_pitch, 0.0f);
          continue;
        }
        const float* const from = memory.src + plan_.src.Offset(chunk.images.begin + n, task.in + c,
                                                                y, first_column + inside.begin);
        std::fill_n(to, inside.begin, 0.0f);
        std::copy_n(from, inside.size(), to + inside.begin);
        std::fill_n(to + inside.end, plan_.copied_pitch - inside.end, 0.0f);
      }
    }
  }
}

BackwardFilterKernel::Diff BackwardFilterKernel::DiffOf(const Memory& memory, int64_t block,
                                                        const Chunk& chunk) const {
  const int64_t width = plan_.geometry.w.output, first = block * kChannelBlock;
  const ImageLayout& layout = plan_.diff;
  if (layout.blocked()) {
    return {memory.diff + layout.Offset(chunk.images.begin, first, chunk.rows.begin, 0),
            {kChannelBlock, layout.step.h, layout.step.n}};
  }
  const int64_t channels = std::min(kChannelBlock, plan_.all_out() - first);
  float* to = memory.copied_diff;
  for (int64_t n = chunk.images.begin; n < chunk.images.end; ++n) {
    for (int64_t y = chunk.rows.begin; y < chunk.rows.end; ++y, to += width * kChannelBlock) {
      const float* const from = memory.diff + layout.Offset(n, first, y, 0);
      for (int64_t x = 0; x < width; ++x) {
        for (int64_t l = 0; l < kChannelBlock; ++l) {
          to[x * kChannelBlock + l] = l < channels ? from[l * layout.step.c + x] : 0.0f;
        }
      }
    }
  }
  return {memory.copied_diff,
          {kChannelBlock, width * kChannelBlock, chunk.rows.size() * width * kChannelBlock}};
}

// Multiplies all window elements of a copied chunk by a block of diff.
void BackwardFilterKernel::AddCopied(const Memory& memory, const Task& task, const Chunk& chunk,
                                     const Diff& diff, bool add, float* sums) const {
  const WindowAxis &h = plan_.geometry.h, &w = plan_.geometry.w;
  FilterTile tile = {};
  tile.src = memory.copied_src;
  tile.offsets = plan_.offsets.data();
  tile.src_step = {w.stride, h.stride * plan_.copied_pitch,
                   task.in_channels * plan_.copied_rows * plan_.copied_pitch};
  tile.diff = diff.data;
  tile.diff_step = diff.step;
  tile.images = chunk.images.size();
  tile.height = chunk.rows.size();
  tile.width = w.output;
  tile.sums = sums;
  tile.add = add;
  AddRows(tile, plan_.RowsOfSums(task));
}

// Multiplies a block of the image's channels from `in` on, tap by tap.
void BackwardFilterKernel::AddBlock(const Memory& memory, int64_t in, int64_t channels,
                                    const Chunk& chunk, const Diff& diff, bool add,
                                    float* sums) const {
  const WindowAxis &h = plan_.geometry.h, &w = plan_.geometry.w;
  FilterTile tile = {};
  tile.src = memory.src;
  tile.diff = diff.data;
  tile.src_step = {w.stride * kChannelBlock, h.stride * plan_.src.step.h, plan_.src.step.n};
  tile.diff_step = diff.step;
  tile.images = chunk.images.size();
  tile.add = add;
  for (int64_t kh = 0; kh < h.window; ++kh) {
    const Range rows = Intersection(h.OutputsInside(kh), chunk.rows);
    for (int64_t kw = 0; kw < w.window; ++kw) {
      const Range columns = w.OutputsInside(kw);
      const bool any = !rows.empty() && !columns.empty();
      if (!any && add) continue;
      const int64_t row = plan_.depthwise ? kh * w.window + kw : plan_.RowOf(0, kh * w.window + kw);
      tile.sums = sums + row * kChannelBlock;
      tile.height = any ? rows.size() : 0;
      tile.width = any ? columns.size() : 0;
      if (any) {
        tile.src = memory.src + plan_.src.Offset(chunk.images.begin, in,
                                                 h.Origin(rows.begin) + kh * h.dilation,
                                                 w.Origin(columns.begin) + kw * w.dilation);
        tile.diff = diff.data + (rows.begin - chunk.rows.begin) * diff.step.row +
                    columns.begin * kChannelBlock;
      }
      if (tile.src_step.row == tile.width * tile.src_step.pixel &&
          tile.diff_step.row == tile.width * kChannelBlock) {  // one long row
        tile.width *= std::exchange(tile.height, 1);
      }
      if (plan_.depthwise) {
        depthwise_(tile);
      } else {
        AddRows(tile, channels);
      }
    }
  }
}

// Splits the rows of sums into nearly equal parts that fit in registers.
void BackwardFilterKernel::AddRows(FilterTile tile, int64_t rows) const {
  const FilterTile all = tile;
  ForEachPart(rows, FilterTileRows(isa_), [&](int64_t first, int64_t count) {
    tile.sums = all.sums + first * kChannelBlock;
    if (plan_.planar) {
      tile.offsets = all.offsets + first;
    } else {
      tile.src = all.src + first;
    }
    tiles_[count](tile);
  });
}

void BackwardFilterKernel::Store(const Memory& memory, const Task& task) const {
  const ConvolutionGeometry& g = plan_.geometry;
  const int64_t floats = plan_.RowsOfSums(task) * kChannelBlock, taps = plan_.taps;
  const int64_t end = std::min((task.out_block + task.out_blocks) * kChannelBlock, plan_.all_out());
  for (int64_t oc = task.out_block * kChannelBlock; oc < end; ++oc) {
    const int64_t group = oc / g.out_channels, first = group * g.in_channels;
    const float* const sums =
        memory.sums + (oc / kChannelBlock - task.out_block) * floats + oc % kChannelBlock;
    const Range own =
        Intersection({task.in, task.in + task.in_channels}, {first, first + g.in_channels});
    for (int64_t ic = own.begin; ic < own.end; ++ic) {
      const int64_t at = (oc * g.in_channels + ic - first) * taps;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t row = plan_.depthwise ? tap : plan_.RowOf(ic - task.in, tap);
        const int64_t i = at + (plan_.flip ? taps - 1 - tap : tap);
        const float sum = sums[row * kChannelBlock];
        memory.dst[i] = alpha_ ? *alpha_ * memory.dest[i] + sum : sum;
      }
    }
  }
}

absl::StatusOr<KernelList> MakeFilterGradient(const ConvolutionParam& param,
                                              std::optional<float> alpha,
                                              const KernelRequest& request) {
  using Op = ConvolutionBackwardFilter;
  static_assert(static_cast<int>(Op::kFilter) == ConvolutionFilterUpdate::kDest);
  ASHLAR_ASSIGN_OR_RETURN(
      const ConvolutionGeometry geometry,
      InferBackwardFilter(param, request.inputs[Op::kSrc], request.inputs[Op::kDiff],
                          request.inputs[Op::kFilter]));
  const bool flip = param.mode == ConvolutionMode::kConvolution;
  KernelList kernels;
  kernels.push_back(
      std::make_unique<BackwardFilterKernel>(MakePlan(geometry, flip, request), alpha, request));
  return kernels;
}

absl::StatusOr<KernelList> MakeBackwardFilter(const ConvolutionBackwardFilter& op,
                                              const KernelRequest& request) {
  return MakeFilterGradient(op.param(), std::nullopt, request);
}

absl::StatusOr<KernelList> MakeFilterUpdate(const ConvolutionFilterUpdate& op,
                                            const KernelRequest& request) {
  return MakeFilterGradient(op.param(), static_cast<float>(op.param().alpha), request);
}

}  // namespace

void RegisterConvolutionBackwardFilterKernels(KernelRegistry& registry) {
  registry.Register<ConvolutionBackwardFilter>(MakeBackwardFilter, {DType::kFloat32});
  registry.Register<ConvolutionFilterUpdate>(MakeFilterUpdate, {DType::kFloat32});
}

}  // namespace ashlar::cpu
