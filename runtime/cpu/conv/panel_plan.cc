#include "runtime/cpu/conv/panel_plan.h"

#include "runtime/cpu/conv/code_of_isa.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/float16.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kMostPlanarChannels = 8;  // a set of the first-level cache can hold their lines
constexpr int64_t kLeastTiles = 3;          // in a run, if threads need more runs

// Besides the input of a run (PanelInputBytes), the second-level cache holds a chunk of weights and
// most of the next chunk. Or it holds all weights, if they take at most a quarter of it.
int64_t ChunkWeightsBytes(const Processor& processor) { return 5 * processor.l2_bytes / 32; }
int64_t CachedWeightsBytes(const Processor& processor) { return processor.l2_bytes / 4; }

// Whether each output channel reads only the input channel at its own position.
bool IsDepthwise(const ConvProblem& problem) {
  const ConvolutionGeometry& geometry = problem.geometry;
  return geometry.groups > 1 && geometry.in_channels == 1 && geometry.out_channels == 1;
}

// Whether groups have half a block. Two such groups are computed as one, with zeros for the other
// weights. The extra operations cost less than half-filled vectors.
bool AreHalfBlocks(const ConvProblem& problem) {
  const ConvolutionGeometry& geometry = problem.geometry;
  return geometry.groups > 1 && geometry.in_channels == kChannelBlock / 2 &&
         geometry.out_channels == kChannelBlock / 2;
}

// Returns a number of runs, at least `least`, such that threads share the tasks evenly. If
// possible, runs * `others` is a multiple of `even`.
int64_t EvenRuns(int64_t least, int64_t tiles, int64_t others, int64_t even) {
  for (int64_t runs = least; runs < least + even && tiles / runs >= kLeastTiles; ++runs) {
    if (runs * others % even == 0) return runs;
  }
  return least;
}

}  // namespace

PanelPlan::PanelPlan(const ConvProblem& problem, const ConvStrides& strides,
                     const ConvTileCode& code, int64_t run_bytes)
    : h(problem.geometry.h),
      w(problem.geometry.w),
      images(problem.geometry.batch),
      groups(problem.geometry.groups),
      out_channels(problem.dst.shape[1]),
      src(InBytes(strides.src, SizeOf(problem.src.dtype))),
      z(InBytes(strides.z, SizeOf(problem.dst.dtype))),
      dst(InBytes(strides.dst, SizeOf(problem.dst.dtype))),
      image_float(StoredFloatOf(problem.src.dtype)),
      widens(image_float != StoredFloat::kFloat32),
      filter_float(image_float == StoredFloat::kBFloat16 ? image_float : StoredFloat::kFloat32),
      weight_bytes(filter_float == StoredFloat::kFloat32 ? kFloatBytes : sizeof(uint16_t)) {
  const bool planar = !IsBlocked(problem.src.format);
  this->code = &code;
  depthwise = IsDepthwise(problem);
  halves = AreHalfBlocks(problem);
  if (depthwise || halves) groups = ChannelBlocks(out_channels);
  const int64_t in_channels = halves ? kChannelBlock : problem.geometry.in_channels;
  lanes = planar ? in_channels : std::min(in_channels, kChannelBlock);
  in_blocks = CeilDivide(in_channels, lanes);
  last_lanes = in_channels - (in_blocks - 1) * lanes;
  src_lane = planar ? src.c : kFloatBytes;
  out_blocks = CeilDivide(problem.geometry.out_channels, kChannelBlock);
  panel_blocks = depthwise ? 1 : code.blocks;
  panels = CeilDivide(out_blocks, panel_blocks);

  // Pixels that no window reads are not widened.
  const auto skips = [](const WindowAxis& axis) {
    return axis.window == 1 && axis.pad_begin == 0 && axis.pad_end <= 0 && axis.stride > 1;
  };
  const auto skip = [](WindowAxis& axis, int64_t& step) {
    step *= axis.stride;
    axis.stride = 1, axis.input = axis.output, axis.pad_end = 0;
  };
  if (widens && skips(h)) skip(h, src.h);
  if (widens && skips(w) && !planar) skip(w, src.w);

  // Joins the rows into one long row, if the pixels of an image are equally spaced.
  const auto untouched = [](const WindowAxis& axis) {
    return axis.window == 1 && axis.stride == 1 && axis.pad_begin == 0 && axis.pad_end == 0;
  };
  if (untouched(h) && untouched(w)) {
    const auto even = [&](const ImageStrides& s) { return h.output == 1 || s.h == w.output * s.w; };
    if (h.output * w.output == 1 && images > 1) {
      w.input = w.output = images;
      images = 1;
      src.w = src.n, z.w = z.n, dst.w = dst.n;
    } else if (even(src) && even(dst) && (!problem.z.has_value() || even(z))) {
      w.input = w.output = h.output * w.output;
      h.input = h.output = 1;
    }
  }

  tiles_per_row = CeilDivide(w.output, depthwise ? code.depthwise_pixels : code.pixels);
  tile_pixels = w.output / tiles_per_row;
  longer_tiles = w.output % tiles_per_row;
  tiles = images * h.output * tiles_per_row;
  if (widens) {
    widening.from = src;
    widening.blocks = planar ? lanes : in_blocks;
    widening.block_floats = planar ? 1 : kChannelBlock;
    widening.widen = WidenFor(problem.src.dtype, problem.processor.isa);
  }
  PlanRuns(problem, run_bytes);
  // The number does not depend on the type of weights, so sums are added in the same order.
  const int64_t block_floats = BlockBytes(panel_blocks) / weight_bytes;
  chunk_blocks = std::clamp<int64_t>(
      ChunkWeightsBytes(problem.processor) / (block_floats * kFloatBytes), 1, in_blocks);
  chunk_blocks = CeilDivide(in_blocks, CeilDivide(in_blocks, chunk_blocks));
  // Weights that stay in the cache need no prefetch, nor weights that are few compared with a run's
  // input. Tiles read one line per pixel, so there must be a lane for each.
  const int64_t run_input = tiles / runs * tile_pixels * in_blocks * lanes * kFloatBytes;
  const bool few_weights = groups * GroupBytes() <= CachedWeightsBytes(problem.processor) ||
                           in_blocks * BlockBytes(panel_blocks) <= run_input / 2;
  fetch_input = runs > 1 && few_weights && h.window == 1 && w.window == 1 && h.pad_begin == 0 &&
                w.pad_begin == 0 && lanes == kChannelBlock && !widens;
  // A larger z has left the second-level cache before it is added.
  fetch_z = problem.z.has_value() && problem.z->bytes() > problem.processor.l2_bytes / 2;
  if (widens) PlanWidening(planar);
}

void PanelPlan::PlanRuns(const ConvProblem& problem, int64_t run_bytes) {
  const int64_t lane_bytes = h.input * w.input * kFloatBytes;  // of an image
  const int64_t even = problem.threads > 1 ? kRangesPerThread * problem.threads : 1;
  if (!widens) {
    const int64_t input_bytes = images * in_blocks * groups * lanes * lane_bytes;
    runs = EvenRuns(std::clamp<int64_t>(CeilDivide(input_bytes, run_bytes), 1, tiles), tiles,
                    panels * groups, even);
    return;
  }
  // Runs consist of whole images, or of a part of one image. They widen the channels of one group.
  const int64_t image_bytes = widening.blocks * widening.block_floats * lane_bytes;
  images_per_run = std::clamp<int64_t>(run_bytes / image_bytes, 1, images);
  if (images_per_run > 1) {
    runs = CeilDivide(images, images_per_run);
    return;
  }
  const int64_t of_image = tiles / images;
  runs_per_image = EvenRuns(std::clamp<int64_t>(CeilDivide(image_bytes, run_bytes), 1, of_image),
                            of_image, images * panels * groups, even);
  runs = images * runs_per_image;
}

// Sizes the workspace for the input and partial sums of the longest run.
void PanelPlan::PlanWidening(bool planar) {
  int64_t most_tiles = 0;
  for (int64_t run = 0; run < runs; ++run) {
    const Range of_run = TilesOf(run);
    widening.Include(InputOf(of_run));
    most_tiles = std::max(most_tiles, of_run.size());
  }
  src = widening.strides();
  if (planar) src_lane = src.c;
  if (chunk_blocks < in_blocks) run_pixels = most_tiles * CeilDivide(w.output, tiles_per_row);
}

// Returns the input of a run of tiles: columns of a part of a row, or whole rows.
InputBox PanelPlan::InputOf(const Range& of_run) const {
  const int64_t of_image = h.output * tiles_per_row, last = of_run.end - 1;
  const auto inside = [](const WindowAxis& axis, const Range& outputs) {
    const Range range = Intersection(axis.Read(outputs), {0, axis.input});
    return range.empty() ? Range{0, 1} : range;  // windows entirely in the padding
  };
  InputBox box{{of_run.begin / of_image, last / of_image + 1}, {}, {}};
  if (box.images.size() > 1) {
    box.rows = inside(h, {0, h.output}), box.columns = inside(w, {0, w.output});
    return box;
  }
  const int64_t row = of_run.begin / tiles_per_row, last_row = last / tiles_per_row;
  box.rows = inside(h, {row % h.output, last_row % h.output + 1});
  box.columns =
      row < last_row
          ? inside(w, {0, w.output})
          : inside(w, {ColumnOf(of_run.begin % tiles_per_row), ColumnOf(last % tiles_per_row + 1)});
  return box;
}

bool PanelConvolutionFits(const ConvProblem& problem) {
  const ConvolutionGeometry& geometry = problem.geometry;
  const bool planar = !IsBlocked(problem.src.format);
  const auto whole = [](int64_t channels) { return channels % kChannelBlock == 0; };
  return problem.processor.isa != Isa::kBaseline && problem.filter.format == Format::kDefault &&
         IsBlocked(problem.dst.format) &&
         (!problem.z.has_value() || IsBlocked(problem.z->format)) &&
         (geometry.groups == 1 ||
          (!planar && (IsDepthwise(problem) || AreHalfBlocks(problem) ||
                       (whole(geometry.in_channels) && whole(geometry.out_channels))))) &&
         (!planar || geometry.in_channels <= kMostPlanarChannels) &&
         (!Is16BitFloat(problem.src.dtype) || problem.constant_filter);
}

double WideningTime(const ConvProblem& problem, const ConvStrides& strides, int64_t input_bytes) {
  // In steps of the innermost loop, as in time.h.
  constexpr double kWidenedBlock = 3;         // for 16 input elements
  constexpr double kDepthwise = 1.5;          // per step, which reads both operands
  constexpr double kWeightBytesPerStep = 28;  // from beyond the second-level cache
  const PanelPlan plan(problem, strides, ConvTileCodeFor(problem.processor.isa), input_bytes);
  double widened = 0;
  for (int64_t run = 0; run < plan.runs; ++run) {
    const InputBox box = plan.InputOf(plan.TilesOf(run));
    widened += static_cast<double>(box.images.size() * box.rows.size() * box.columns.size() *
                                   plan.groups * plan.widening.blocks * plan.widening.block_floats);
  }
  const int64_t weights = plan.groups * plan.GroupBytes();
  const double steps = static_cast<double>(plan.images * plan.h.output * plan.w.output) *
                       static_cast<double>(weights) /
                       static_cast<double>(kChannelBlock * plan.weight_bytes);
  const double fetched = weights > CachedWeightsBytes(problem.processor)
                             ? static_cast<double>((plan.runs - 1) * weights) / kWeightBytesPerStep
                             : 0;
  const double block = plan.depthwise ? kDepthwise : kWidenedBlock;
  return (widened / kChannelBlock * block + fetched) / steps;
}

}  // namespace ashlar::cpu
