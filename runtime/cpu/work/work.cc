// Expected cycles of operators: counted steps of each kernel's loops, times cycles of a step.
//
// The cycles were fitted to layers of ResNet-50, MobileNetV2, MCUNet, MLPerf Tiny and a detector of
// text, whole and in strips of a row or a few, on an AMD EPYC (Zen 5), with AVX-512 and, on the
// same processor, with AVX2 (benchmarks/results/expected-times.md). The cycles of other instruction
// sets are scaled by the width of their vectors, and not measured.
#include <algorithm>
#include <cstdint>

#include "graph/region.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/convolution_backward_data.h"
#include "opr/elemwise.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/relayout_format.h"
#include "opr/resize.h"
#include "opr/resize_bytes.h"
#include "opr/softmax.h"
#include "runtime/cpu/conv/conv_problem.h"
#include "runtime/cpu/conv/time.h"
#include "runtime/cpu/conv/winograd.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/quantized/tile.h"

namespace ashlar::cpu {
namespace {

constexpr double kCall = 200;  // of any kernel

double Count(int64_t count) { return static_cast<double>(count); }

// Elements of a tensor as they are stored, with the padding of channels.
double Stored(const TensorType& type) { return Count(type.bytes() / SizeOf(type.dtype)); }

int64_t Pixels(const ConvolutionGeometry& g) { return g.batch * g.h.output * g.w.output; }
int64_t Taps(const ConvolutionGeometry& g) { return g.h.window * g.w.window; }

// Kernels of floats, by instruction set. Steps are of a pixel, an input channel and 16 output
// channels.
struct FloatCosts {
  int64_t tile_pixels, tile_blocks;  // of a register tile
  double call, step, tap, tile;      // tap: of a tile and up to 16 input channels
  int64_t depthwise_pixels;
  double depthwise_pixel, depthwise_step, depthwise_tile, depthwise_tap;
  double direct_step, direct_pixel, direct_run;  // run: of up to 32 pixels, a tap, four channels
  double deconvolution, direct_deconvolution;    // per step
};
constexpr FloatCosts kFloats[] = {
    {6, 1, 2000, 5, 20, 10, 14, 0, 5, 60, 0, 5, 35, 70, 8, 20},                 // baseline
    {6, 1, 1000, 2, 12, 1, 14, 0, 3, 30, 0, 3, 18, 36, 4, 10},                  // neon
    {6, 1, 1000, 0.85, 12, 1, 14, 0, 1.6, 30, 0, 2.2, 12, 24, 2.2, 5},          // avx2
    {14, 2, 250, 0.44, 17.3, 28.7, 28, 5, 0, 14.6, 16.2, 1.06, 6, 50, 1.3, 3},  // avx512
};

const FloatCosts& FloatCostsOf(const Processor& processor) {
  return kFloats[static_cast<size_t>(processor.isa)];
}

// Kernels of bytes. Steps are of a pixel, four input channels or taps, and 16 output channels;
// `row` and below belong to depthwise filters, whose blocks have as many channels as a vector has
// bytes.
struct ByteCosts {
  double call, step, weights, store, address, gathered, channel, sum;
  int64_t block;
  double row, shared, group, pixel, depthwise_channel, load;
};
constexpr ByteCosts kScalarBytes = {400, 16, 0, 60, 12, 4, 10, 20, 16, 200, 400, 100, 80, 10, 0};
constexpr ByteCosts kNeonBytes = {400, 2, 0.5, 10, 12, 4, 9, 10, 16, 150, 40, 20, 7, 12, 0};
constexpr ByteCosts kAvx2Bytes = {300, 3.48, 1.8,  9.2,  12.8, 3.35, 8.8, 8.3,
                                  32,  147,  49.5, 20.8, 10.8, 12.2, 0};
constexpr ByteCosts kAvx2VnniBytes = {300, 1.15, 1, 7, 12, 3.4, 8, 8.3, 32, 147, 35, 15, 8, 10, 0};
constexpr ByteCosts kAvx512Bytes = {365, 1.75, 0,  4,  9.3, 3.5, 6.9, 8,
                                    64,  278,  40, 18, 2.1, 6.2, 72};
constexpr ByteCosts kAvx512VnniBytes = {365, 0.507, 0,  2.73, 9.3, 3.5, 6.9, 8,
                                        64,  180,   24, 11.5, 4,   3.5, 40};

const ByteCosts& ByteCostsOf(const Processor& processor) {
  switch (processor.isa) {
    case Isa::kBaseline:
      return kScalarBytes;
    case Isa::kNeon:
      return kNeonBytes;
    case Isa::kAvx2:
      return processor.vnni ? kAvx2VnniBytes : kAvx2Bytes;
    case Isa::kAvx512:
      return processor.vnni ? kAvx512VnniBytes : kAvx512Bytes;
  }
  return kScalarBytes;
}

// Register tiles over packed weights, or windows gathered before (quantized/conv.cc).
double BytesTiled(const ConvolutionGeometry& g, bool by_pixel, bool adds, const ByteCosts& cost) {
  const int64_t window = RoundUp(Taps(g) * g.in_channels, kDepth);
  const bool gathers = !by_pixel || g.in_channels % kDepth != 0;
  const int64_t steps = gathers ? window / kDepth : Taps(g) * CeilDivide(g.in_channels, kDepth);
  const double panels = Count(g.groups * CeilDivide(g.out_channels, kPanel));
  const double pixels = Count(Pixels(g)), taps = Count(Taps(g));
  const double found = gathers ? cost.gathered * taps * Count(g.in_channels) : cost.address * taps;
  return cost.call + panels * Count(steps) * (pixels * cost.step + cost.weights) +
         pixels * (panels * (cost.store + (adds ? cost.sum : 0)) + Count(g.groups) * found) +
         cost.channel * Count(g.groups * g.out_channels);
}

// One filter a channel (quantized/depthwise.cc): pixels beside each other share columns of 3 x 3
// windows if the channels fill vectors.
double BytesDepthwise(const ConvolutionGeometry& g, const ByteCosts& cost) {
  const bool shares = g.h.window == 3 && g.w.window == 3 && g.w.stride == 1 && g.w.dilation == 1;
  const int64_t groups = shares ? 3 : CeilDivide(Taps(g), kDepth);
  const int64_t full = g.groups / cost.block, rest = g.groups % cost.block != 0;
  const int64_t rows = g.batch * g.h.output, pixels = rows * g.w.output;
  const int64_t inner = shares ? rows * std::max<int64_t>(0, g.w.output - 2) : 0;
  // Vectors of half the size take the rest if they hold it, and share if it fills them.
  constexpr double kHalf = 0.6;
  const bool half = cost.block > kPanel && 2 * (g.groups % cost.block) == cost.block;
  const double alone = Count((pixels - inner) * full + (pixels - (half ? inner : 0)) * rest);
  return kCall + Count(inner) * (Count(full) + (half ? kHalf : 0)) * cost.shared +
         alone * (Count(groups) * cost.group + cost.pixel) +
         Count(g.groups) * cost.depthwise_channel + Count((full + rest) * groups) * cost.load +
         Count(rows) * cost.row;
}

double BytesConvolution(const ConvolutionGeometry& g, const WorkRequest& request) {
  constexpr double kElement = 3, kTimeOverAmx = 3;
  const Processor& processor = request.processor;
  const ByteCosts& cost = ByteCostsOf(processor);
  const bool by_pixel = StridesOf(request.site.inputs[0].type).c == 1;
  const bool stores_pixels = StridesOf(request.site.outputs[0]).c == 1;
  const bool adds = request.site.inputs.size() > ConvBiasForward::kZ;
  if (stores_pixels && by_pixel && g.in_channels == 1 && g.out_channels == 1 && !adds &&
      Taps(g) <= kMostTaps) {
    return BytesDepthwise(g, cost);
  }
  if (!stores_pixels || processor.isa == Isa::kBaseline || Taps(g) > kMostTaps) {
    return kCall +
           kElement * Count(Pixels(g) * g.groups * g.out_channels * g.in_channels) * Count(Taps(g));
  }
  return BytesTiled(g, by_pixel, adds, cost) / (processor.amx_int8 ? kTimeOverAmx : 1);
}

// Tiles of pixels and blocks of channels (conv/panel.cc).
double BlockedConvolution(const ConvProblem& problem, const FloatCosts& cost) {
  const ConvolutionGeometry& g = problem.geometry;
  const int64_t rows = g.batch * g.h.output;
  if (g.groups > 1 && g.in_channels == 1 && g.out_channels == 1) {
    const int64_t blocks = ChannelBlocks(g.groups);
    const double tiles = Count(blocks * rows * CeilDivide(g.w.output, cost.depthwise_pixels));
    const double taps = Count(Taps(g));
    return cost.call +
           Count(blocks * Pixels(g)) * (cost.depthwise_pixel + cost.depthwise_step * taps) +
           tiles * (cost.depthwise_tile + cost.depthwise_tap * taps);
  }
  const bool joins = Taps(g) == 1 && g.h.stride == 1 && g.w.stride == 1;
  const int64_t tiles = joins ? g.batch * CeilDivide(g.h.output * g.w.output, cost.tile_pixels)
                              : rows * CeilDivide(g.w.output, cost.tile_pixels);
  const int64_t blocks = ChannelBlocks(g.out_channels);
  const double groups = Count(g.groups);
  return cost.call +
         groups * (cost.step * Count(blocks * Pixels(g)) * Count(g.in_channels * Taps(g)) +
                   cost.tap * Count(CeilDivide(blocks, cost.tile_blocks) * tiles * Taps(g) *
                                    ChannelBlocks(g.in_channels)) +
                   cost.tile * Count(blocks * tiles));
}

// The loops of the definition (conv/direct.cc), for row-major images.
double DirectConvolution(const ConvolutionGeometry& g, const FloatCosts& cost) {
  constexpr int64_t kTile = 32, kChannels = 4;
  const double segments = Count(g.groups * CeilDivide(g.out_channels, kChannelBlock));
  const double runs = Count(g.batch * g.h.output * CeilDivide(g.w.output, kTile) * Taps(g) *
                            CeilDivide(g.in_channels, kChannels));
  return 10 * kCall + segments * (cost.direct_step * Count(Pixels(g) * Taps(g) * g.in_channels) +
                                  cost.direct_pixel * Count(Pixels(g)) + cost.direct_run * runs);
}

template <typename Op>
double Convolution(const WorkRequest& request) {
  const auto& op = static_cast<const Op&>(request.op);
  const Site& site = request.site;
  ConvProblem problem;
  problem.src = site.inputs[ConvBiasForward::kSrc].type;
  problem.filter = site.inputs[ConvBiasForward::kFilter].type;
  problem.dst = site.outputs[0];
  problem.constant_filter = true;
  problem.processor = request.processor;
  const absl::StatusOr<ConvolutionGeometry> geometry =
      InferConvolution(op.param(), problem.src, problem.filter);
  if (!geometry.ok()) return kCall;
  problem.geometry = *geometry;
  if (IsQuantized(problem.src.dtype)) return BytesConvolution(*geometry, request);
  const FloatCosts& cost = FloatCostsOf(request.processor);
  if (!IsBlocked(problem.dst.format)) return DirectConvolution(*geometry, cost);
  double time = 1, arithmetic = 1;
  for (const int m : {4, 3, 2}) {
    if (request.direct || !WinogradConvolutionFits(problem)) break;
    if (WinogradTime(problem, m) >= time) continue;
    time = WinogradTime(problem, m);
    arithmetic = WinogradArithmetic(problem, m);
  }
  return arithmetic * BlockedConvolution(problem, cost);
}

// Each input pixel is added to a window of the output.
double Deconvolution(const WorkRequest& request) {
  const auto& op = static_cast<const ConvolutionBackwardData&>(request.op);
  const Site& site = request.site;
  const TensorType& filter = site.inputs[ConvolutionBackwardData::kFilter].type;
  const TensorType& small = site.inputs[ConvolutionBackwardData::kSrc].type;
  const absl::StatusOr<ConvolutionGeometry> geometry =
      InferConvolution(op.param(), {site.outputs[0].dtype, site.outputs[0].shape}, filter);
  if (!geometry.ok()) return kCall;
  const ConvolutionGeometry& g = *geometry;
  const FloatCosts& cost = FloatCostsOf(request.processor);
  const double all = Count(op.Computation(site));
  const double kept = all > 0 ? Count(op.KeptComputation(site)) / all : 1;
  const double steps = kept * Count(Pixels(g) * Taps(g) * g.groups * g.out_channels) *
                       Count(ChannelBlocks(g.in_channels));
  return 10 * kCall +
         steps * (IsBlocked(small.format) ? cost.deconvolution : cost.direct_deconvolution);
}

double Pooling(const WorkRequest& request) {
  const auto& op = static_cast<const PoolingForward&>(request.op);
  const TensorType &src = request.site.inputs[0].type, &dst = request.site.outputs[0];
  const absl::StatusOr<PoolingGeometry> geometry = InferPooling(op.param(), src);
  if (!geometry.ok()) return kCall;
  const int64_t window = geometry->h.window * geometry->w.window;
  const double read = Stored(dst) * Count(window);
  if (IsQuantized(src.dtype)) return 2 * kCall + 0.24 * read;
  const double width = 64 / FloatCostsOf(request.processor).step;  // narrower vectors take longer
  if (IsBlocked(src.format)) return 2 * kCall + read * 14 / width;
  const double rows = Count(dst.shape.num_elements() / std::max<int64_t>(1, dst.shape[3])) *
                      Count(geometry->h.window);
  return 2 * kCall + 22 * rows + 0.3 * read;
}

// The cycles for an element of a function beyond its reading and writing, in floats and with
// AVX-512; functions that are not listed take none. Measured are SQRT, H_SWISH, TRUE_DIV, SIGMOID,
// EXP, TANH, ERF, GELU and SOFTPLUS, on an AMD EPYC (Zen 4).
constexpr struct {
  ScalarFunction function;
  double cycles;
} kFunctionCycles[] = {
    {ScalarFunction::kSqrt, 0.15},       {ScalarFunction::kHSwish, 0.15},
    {ScalarFunction::kTrueDiv, 0.15},    {ScalarFunction::kHardSigmoid, 0.15},
    {ScalarFunction::kSigmoid, 0.5},     {ScalarFunction::kFuseAddSigmoid, 0.5},
    {ScalarFunction::kSilu, 0.5},        {ScalarFunction::kExp, 0.5},
    {ScalarFunction::kElu, 0.5},         {ScalarFunction::kTanh, 0.5},
    {ScalarFunction::kFuseAddTanh, 0.5}, {ScalarFunction::kErf, 1},
    {ScalarFunction::kGelu, 1},          {ScalarFunction::kGeluTanh, 1},
    {ScalarFunction::kLog, 1},           {ScalarFunction::kSin, 1},
    {ScalarFunction::kCos, 1},           {ScalarFunction::kAtan, 1},
    {ScalarFunction::kSoftplus, 1.9},    {ScalarFunction::kMish, 1.9},
    {ScalarFunction::kPow, 1.9},
};

double CyclesOf(ScalarFunction function) {
  for (const auto& row : kFunctionCycles) {
    if (row.function == function) return row.cycles;
  }
  return 0;
}

// How many times as long narrower vectors take.
double Narrowness(const Processor& processor) {
  return FloatCostsOf(processor).step / kFloats[static_cast<size_t>(Isa::kAvx512)].step;
}

double Pointwise(const WorkRequest& request) {
  const ScalarFunction function = static_cast<const Elemwise&>(request.op).param().mode;
  const double element = 0.05 + CyclesOf(function) * Narrowness(request.processor);
  return 2 * kCall + element * Stored(request.site.outputs[0]);
}

// Rows of an axis: their number, and the elements that are beside each other in memory.
struct Rows {
  double count = 0;
  int64_t beside = 1;
};
Rows RowsOf(const Shape& shape, int64_t axis) {
  const auto along = static_cast<int>(axis < 0 ? axis + shape.rank() : axis);
  Rows rows;
  if (along < 0 || along >= shape.rank()) return rows;
  for (int i = along + 1; i < shape.rank(); ++i) rows.beside *= shape[i];
  rows.count = Count(shape.num_elements() / std::max<int64_t>(1, shape[along] * rows.beside));
  if (rows.beside == 1) rows.beside = shape[along];
  return rows;
}

// Vectors along the axis, or of elements beside each other; the last of a row may not be full.
double Exponentials(const WorkRequest& request) {
  const Shape& shape = request.site.outputs[0].shape;
  const Rows rows = RowsOf(shape, static_cast<const Softmax&>(request.op).param().axis);
  const double row = 26 + (rows.beside % kChannelBlock != 0 ? 90 : 0);
  return 2 * kCall + Count(shape.num_elements()) * Narrowness(request.processor) + row * rows.count;
}

double Reduction(const WorkRequest& request) {
  const auto& param = static_cast<const Reduce&>(request.op).param();
  const Shape& from = request.site.inputs[0].type.shape;
  const bool compares = param.mode == ReduceMode::kMin || param.mode == ReduceMode::kMax;
  const bool last = param.axis != kNoAxis && (param.axis == -1 || param.axis == from.rank() - 1);
  const double rows = last ? Count(request.site.outputs[0].shape.num_elements()) : 0;
  return 2 * kCall + rows * (compares ? 90 : 30) +
         Count(from.num_elements()) * (compares ? 0.4 : 0.3) * Narrowness(request.processor);
}

double Relayout(const WorkRequest& request) {
  return 2 * kCall + 0.85 * Stored(request.site.outputs[0]);
}

double Resizing(const WorkRequest& request) {
  const TensorType& dst = request.site.outputs[0];
  return 10 * kCall + (IsBlocked(dst.format) ? 0.5 : 1.8) * Stored(dst);
}

// Vectors of 16 channels, and the rest one by one.
double ResizingOfBytes(const WorkRequest& request) {
  const TensorType& dst = request.site.outputs[0];
  const int64_t lanes = dst.format == Format::kNHWC ? dst.shape[1] : 1;
  const double pixel =
      2.3 + 17.5 * static_cast<double>(lanes / 16) + 4.3 * static_cast<double>(lanes % 16);
  return 10 * kCall + pixel * static_cast<double>(dst.shape.num_elements() / lanes);
}

// Others: as fast as their operations, a few at a time.
double Other(const WorkRequest& request) {
  const double step = FloatCostsOf(request.processor).step;
  double made = 0;
  for (const TensorType& output : request.site.outputs) made += Stored(output);
  return kCall + step / 32 * Count(request.op.Computation(request.site)) + 0.2 * made;
}

}  // namespace

void RegisterWork(KernelRegistry& registry) {
  registry.RegisterWork(ConvolutionForward::kType, Convolution<ConvolutionForward>);
  registry.RegisterWork(ConvBiasForward::kType, Convolution<ConvBiasForward>);
  registry.RegisterWork(ConvolutionBackwardData::kType, Deconvolution);
  registry.RegisterWork(PoolingForward::kType, Pooling);
  registry.RegisterWork(Elemwise::kType, Pointwise);
  registry.RegisterWork(RelayoutFormat::kType, Relayout);
  registry.RegisterWork(Reduce::kType, Reduction);
  registry.RegisterWork(Resize::kType, Resizing);
  registry.RegisterWork(ResizeBytes::kType, ResizingOfBytes);
  registry.RegisterWork(Softmax::kType, Exponentials);
  registry.RegisterWorkOfRest(Other);
}

}  // namespace ashlar::cpu
