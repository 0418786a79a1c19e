// The loops of each operator's definition. Only products are blocked: tiles of 4 rows and 16
// columns, whose sums stay in registers, over a packed slice of B that stays in the first-level
// cache. Each element is the same sum, whichever elements are computed with it.
#include "runtime/cpu/doubles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kTileRows = 4, kColumns = 16;
constexpr int64_t kDepth = 128;     // products that are summed before they are added to the output
constexpr int64_t kBlockRows = 64;  // rows that share a packed slice of B
constexpr int64_t kDoublesTile = 64;   // pixels of a row of a convolution
constexpr int64_t kLeastWork = 32768;  // products and sums for which another thread is woken

// A matrix in memory: the distances of neighbouring elements.
struct View {
  const double* data;
  int64_t row, column;
};

// Returns how many pieces of `work` operations a thread takes at a time.
int64_t GrainOf(int64_t work) {
  return std::max<int64_t>(1, kLeastWork / std::max<int64_t>(work, 1));
}

// Computes kRows x kColumns sums of `depth` products; the rows of B are adjacent.
template <int64_t kRows>
void SumTile(View a, const double* b, int64_t depth, double* __restrict to) {
  double sums[kRows][kColumns] = {};
  for (int64_t l = 0; l < depth; ++l, b += kColumns) {
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      const double factor = a.data[r * a.row + l * a.column];
#pragma omp simd
      for (int64_t j = 0; j < kColumns; ++j) sums[r][j] += factor * b[j];
    }
  }
  std::copy_n(&sums[0][0], kRows * kColumns, to);
}

// Computes up to kBlockRows rows and kColumns columns of C = A x B, `k` products each. The pointers
// point to the first row and column.
void MultiplyBlock(View a, View b, double* c, int64_t c_row, int64_t rows, int64_t columns,
                   int64_t k) {
  alignas(64) double packed[kDepth * kColumns], sums[kTileRows * kColumns];
  for (int64_t first = 0; first == 0 || first < k; first += kDepth) {
    const int64_t depth = std::min(kDepth, k - first);
    for (int64_t l = 0; l < depth; ++l) {
      for (int64_t j = 0; j < kColumns; ++j) {
        const double* const from = b.data + (first + l) * b.row + j * b.column;
        packed[l * kColumns + j] = j < columns ? *from : 0;
      }
    }
    for (int64_t row = 0; row < rows; row += kTileRows) {
      const View tile = {a.data + row * a.row + first * a.column, a.row, a.column};
      const int64_t count = std::min(kTileRows, rows - row);
      switch (count) {
        case 1:
          SumTile<1>(tile, packed, depth, sums);
          break;
        case 2:
          SumTile<2>(tile, packed, depth, sums);
          break;
        case 3:
          SumTile<3>(tile, packed, depth, sums);
          break;
        default:
          SumTile<kTileRows>(tile, packed, depth, sums);
      }
      for (int64_t r = 0; r < count; ++r) {
        double* const to = c + (row + r) * c_row;
        for (int64_t j = 0; j < columns; ++j) {
          to[j] = sums[r * kColumns + j] + (first > 0 ? to[j] : 0);
        }
      }
    }
  }
}

// Computes a row of a plane of the output. `src` is the group's first plane, `filter` the
// channel's.
void ConvolveRow(const ConvolutionGeometry& g, bool flipped, const double* src,
                 const double* filter, int64_t row, double* out) {
  const WindowAxis &h = g.h, &w = g.w;
  const InsideTaps rows = h.Inside(row);
  for (int64_t column = 0; column < w.output; column += kDoublesTile) {
    const Range tile = {column, std::min(column + kDoublesTile, w.output)};
    double sums[kDoublesTile] = {};
    for (int64_t channel = 0; channel < g.in_channels; ++channel) {
      const double* const plane = src + channel * h.input * w.input;
      const double* const taps = filter + channel * h.window * w.window;
      for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
        const int64_t tap_h = (y - h.Origin(row)) / h.dilation;
        for (int64_t tap_w = 0; tap_w < w.window; ++tap_w) {
          const Range inside = Intersection(w.OutputsInside(tap_w), tile);
          const int64_t tap = tap_h * w.window + tap_w;
          const double factor = taps[flipped ? h.window * w.window - 1 - tap : tap];
          const double* const x = plane + y * w.input + tap_w * w.dilation - w.pad_begin;
#pragma omp simd
          for (int64_t o = inside.begin; o < inside.end; ++o) {
            sums[o - column] += factor * x[o * w.stride];
          }
        }
      }
    }
    std::copy_n(sums, tile.size(), out + column);
  }
}

// Computes a row of a plane of the output.
void PoolDoubles(const PoolingGeometry& g, PoolingMode mode, const double* plane, int64_t row,
                 double* out) {
  const bool max = mode == PoolingMode::kMax;
  const InsideTaps rows = g.h.Inside(row);
  for (int64_t o = 0; o < g.w.output; ++o) {
    const InsideTaps columns = g.w.Inside(o);
    double total = max ? -std::numeric_limits<double>::infinity() : 0;
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      const double* const x = plane + y * g.w.input;
      for (int64_t i = columns.begin; i < columns.end; i += columns.step) {
        const bool takes = x[i] > total || x[i] != x[i];
        total = !max ? total + x[i] : takes ? x[i] : total;
      }
    }
    const int64_t taps =
        mode == PoolingMode::kAverage ? g.h.window * g.w.window : rows.count() * columns.count();
    out[o] = max ? total : total / static_cast<double>(taps);
  }
}

// Computes `length` elements, `step` apart. `y` may be `x`.
void SoftmaxOf(const double* x, double* y, int64_t length, int64_t step) {
  double largest = x[0], sum = 0;
  for (int64_t i = 1; i < length; ++i) largest = std::max(largest, x[i * step]);
  for (int64_t i = 0; i < length; ++i) sum += y[i * step] = std::exp(x[i * step] - largest);
  for (int64_t i = 0; i < length; ++i) y[i * step] /= sum;
}

std::string NameOf(const char* family, const KernelRequest& request) {
  return absl::StrCat(family, ":double ", Name(request.processor.isa));
}

}  // namespace

absl::StatusOr<KernelList> DoubleMatrixMul(const MatrixMul& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const MatrixMulGeometry g,
                          InferMatrixMul(op.param(), request.inputs[0], request.inputs[1]));
  const bool transposed_a = op.param().transposeA, transposed_b = op.param().transposeB;
  const int threads = request.threads;
  const auto multiply = Versions<MultiplyBlock>::For(request.processor.isa);
  const int64_t in_rows = CeilDivide(g.m, kBlockRows), in_columns = CeilDivide(g.n, kColumns);
  const int64_t pieces = g.batch.num_elements() * in_rows * in_columns;
  return OnlyKernel(NameOf("matrix_mul", request), [=](const KernelArgs& args) {
    ParallelFor(
        threads, pieces, GrainOf(kColumns * g.k * std::min(g.m, kBlockRows)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t matrix = i / in_columns / in_rows, column = i % in_columns * kColumns;
            const int64_t row = i / in_columns % in_rows * kBlockRows;
            View a = {args.Input<double>(0) + g.OffsetOfA(matrix), g.k, 1};
            View b = {args.Input<double>(1) + g.OffsetOfB(matrix), g.n, 1};
            if (transposed_a) a.row = 1, a.column = g.m;
            if (transposed_b) b.row = 1, b.column = g.k;
            a.data += row * a.row;
            b.data += column * b.column;
            multiply(a, b, args.Output<double>(0) + (matrix * g.m + row) * g.n + column, g.n,
                     std::min(kBlockRows, g.m - row), std::min(kColumns, g.n - column), g.k);
          }
        });
  });
}

absl::StatusOr<KernelList> DoubleConvolution(const ConvolutionForward& op,
                                             const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry g,
                          InferConvolution(op.param(), request.inputs[0], request.inputs[1]));
  const bool flipped = op.param().mode == ConvolutionMode::kConvolution;
  const int threads = request.threads;
  const auto convolve = Versions<ConvolveRow>::For(request.processor.isa);
  const int64_t channels = g.groups * g.out_channels, rows = g.h.output;
  const int64_t weights = g.in_channels * g.h.window * g.w.window;  // of an output channel
  const int64_t image = g.in_channels * g.h.input * g.w.input;      // of a group
  return OnlyKernel(NameOf("conv", request), [=](const KernelArgs& args) {
    ParallelFor(threads, g.batch * channels * rows, GrainOf(weights * g.w.output),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t n = i / rows / channels, channel = i / rows % channels;
                    const int64_t group = n * g.groups + channel / g.out_channels;
                    convolve(g, flipped, args.Input<double>(0) + group * image,
                             args.Input<double>(1) + channel * weights, i % rows,
                             args.Output<double>(0) + i * g.w.output);
                  }
                });
  });
}

absl::StatusOr<KernelList> DoublePooling(const PoolingForward& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const PoolingGeometry g, InferPooling(op.param(), request.inputs[0]));
  const PoolingMode mode = op.param().mode;
  const int threads = request.threads;
  const int64_t rows = g.h.output;
  return OnlyKernel("pooling:double", [=](const KernelArgs& args) {
    ParallelFor(threads, g.batch * g.channels * rows, GrainOf(g.w.output * g.h.window * g.w.window),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    PoolDoubles(g, mode, args.Input<double>(0) + i / rows * g.h.input * g.w.input,
                                i % rows, args.Output<double>(0) + i * g.w.output);
                  }
                });
  });
}

absl::StatusOr<KernelList> DoubleSoftmax(const Softmax& op, const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, shape.rank()));
  const AxisView view = AroundAxis(shape, axis);
  const int threads = request.threads;
  return OnlyKernel("softmax:double", [=](const KernelArgs& args) {
    ParallelFor(threads, view.outer * view.inner, GrainOf(16 * view.length),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t at = i / view.inner * view.length * view.inner + i % view.inner;
                    SoftmaxOf(args.Input<double>(0) + at, args.Output<double>(0) + at, view.length,
                              view.inner);
                  }
                });
  });
}

absl::StatusOr<KernelList> DoubleBatchNorm(const BatchNorm& op, const KernelRequest& request) {
  const AxisView view = AroundAxis(request.outputs[0].shape, 1);
  const double epsilon = op.param().epsilon;
  const int threads = request.threads;
  return OnlyKernel("batch_norm:double", [=](const KernelArgs& args) {
    ParallelFor(
        threads, view.outer * view.length, GrainOf(view.inner), [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const auto input = [&](int k) { return args.Input<double>(k)[i % view.length]; };
            const double scale =
                input(BatchNorm::kScale) / std::sqrt(input(BatchNorm::kVariance) + epsilon);
            const double shift = input(BatchNorm::kBias) - input(BatchNorm::kMean) * scale;
            const double* const x = args.Input<double>(BatchNorm::kX) + i * view.inner;
            double* const y = args.Output<double>(0) + i * view.inner;
            for (int64_t p = 0; p < view.inner; ++p) y[p] = x[p] * scale + shift;
          }
        });
  });
}

absl::StatusOr<KernelList> DoubleLrn(const LRN& op, const KernelRequest& request) {
  const AxisView view = AroundAxis(request.outputs[0].shape, 1);
  const LRNParam param = op.param();
  const double factor = param.alpha / static_cast<double>(param.size);
  const int threads = request.threads;
  return OnlyKernel("lrn:double", [=](const KernelArgs& args) {
    ParallelFor(threads, view.outer * view.length, GrainOf(32 * view.inner),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t c = i % view.length;
                    const int64_t first = std::max<int64_t>(c - (param.size - 1) / 2, 0);
                    const int64_t last = std::min(c + param.size / 2, view.length - 1);
                    const double* const x = args.Input<double>(0) + i * view.inner;
                    double* const y = args.Output<double>(0) + i * view.inner;
                    for (int64_t p = 0; p < view.inner; ++p) {
                      double squares = 0;
                      for (int64_t k = first; k <= last; ++k) {
                        const double value = x[(k - c) * view.inner + p];
                        squares += value * value;
                      }
                      y[p] = x[p] / std::pow(param.bias + factor * squares, param.beta);
                    }
                  }
                });
  });
}

}  // namespace ashlar::cpu
