// Operators along rows, which may overwrite their input.
//
// - Softmax in three passes: the largest element; the exponentials of the differences from it,
//   which cannot overflow, and their sum; the division. The log-softmax subtracts the logarithm of
//   the sum instead.
// - Layer normalisation (Ba, Kiros and Hinton 2016, "Layer Normalization"): mean and variance in
//   two passes, the variance from differences to the mean; then the elements.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/layer_norm.h"
#include "opr/log_softmax.h"
#include "opr/softmax.h"
#include "opr/softmax_backward.h"
#include "runtime/cpu/doubles.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/vector_math.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kRowLanes = 64;  // adjacent columns processed together
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// Computes the operation for contiguous rows, on x and, if the operator has it, `diff`.
using RowsFunction = void (*)(const float* x, const float* diff, float* y, int64_t rows,
                              int64_t length);
// Computes the operation for `lanes` (at most kRowLanes) adjacent columns, whose elements are
// `step` apart.
using ColumnsFunction = void (*)(const float* x, const float* diff, float* y, int64_t lanes,
                                 int64_t length, int64_t step);

float LargestOf(const float* x, int64_t length) {
  float largest = kLowest;
#pragma omp simd reduction(max : largest)
  for (int64_t i = 0; i < length; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

void LargestOfColumns(const float* x, int64_t lanes, int64_t length, int64_t step, float* largest) {
  std::fill(largest, largest + lanes, kLowest);
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t l = 0; l < lanes; ++l) largest[l] = std::max(largest[l], x[i * step + l]);
  }
}

void SoftmaxRows(const float* x, const float* /*diff*/, float* y, int64_t rows, int64_t length) {
  for (int64_t r = 0; r < rows; ++r, x += length, y += length) {
    const float largest = LargestOf(x, length);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < length; ++i) {
      y[i] = expf(x[i] - largest);
      sum += y[i];
    }
    const float scale = static_cast<float>(1 / sum);
    for (int64_t i = 0; i < length; ++i) y[i] *= scale;
  }
}

void SoftmaxColumns(const float* x, const float* /*diff*/, float* y, int64_t lanes, int64_t length,
                    int64_t step) {
  float largest[kRowLanes];
  double sum[kRowLanes] = {};
  LargestOfColumns(x, lanes, length, step, largest);
  for (int64_t i = 0; i < length; ++i) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      y[i * step + l] = expf(x[i * step + l] - largest[l]);
      sum[l] += y[i * step + l];
    }
  }
  for (int64_t l = 0; l < lanes; ++l) sum[l] = 1 / sum[l];
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t l = 0; l < lanes; ++l) y[i * step + l] *= static_cast<float>(sum[l]);
  }
}

void LogSoftmaxRows(const float* x, const float* /*diff*/, float* y, int64_t rows, int64_t length) {
  for (int64_t r = 0; r < rows; ++r, x += length, y += length) {
    const float largest = LargestOf(x, length);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < length; ++i) sum += expf(x[i] - largest);
    const float log = static_cast<float>(std::log(sum));
    for (int64_t i = 0; i < length; ++i) y[i] = x[i] - largest - log;
  }
}

void LogSoftmaxColumns(const float* x, const float* /*diff*/, float* y, int64_t lanes,
                       int64_t length, int64_t step) {
  float largest[kRowLanes];
  double sum[kRowLanes] = {};
  LargestOfColumns(x, lanes, length, step, largest);
  for (int64_t i = 0; i < length; ++i) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) sum[l] += expf(x[i * step + l] - largest[l]);
  }
  for (int64_t l = 0; l < lanes; ++l) sum[l] = std::log(sum[l]);
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t l = 0; l < lanes; ++l) {
      y[i * step + l] = x[i * step + l] - largest[l] - static_cast<float>(sum[l]);
    }
  }
}

// x is the softmax's output.
void SoftmaxBackwardRows(const float* x, const float* diff, float* y, int64_t rows,
                         int64_t length) {
  for (int64_t r = 0; r < rows; ++r, x += length, diff += length, y += length) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < length; ++i) sum += static_cast<double>(x[i]) * diff[i];
    for (int64_t i = 0; i < length; ++i) y[i] = static_cast<float>(x[i] * (diff[i] - sum));
  }
}

void SoftmaxBackwardColumns(const float* x, const float* diff, float* y, int64_t lanes,
                            int64_t length, int64_t step) {
  double sum[kRowLanes] = {};
  for (int64_t i = 0; i < length; ++i) {
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      sum[l] += static_cast<double>(x[i * step + l]) * diff[i * step + l];
    }
  }
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t l = 0; l < lanes; ++l) {
      y[i * step + l] = static_cast<float>(x[i * step + l] * (diff[i * step + l] - sum[l]));
    }
  }
}

// Inputs are x and, if there are two, `diff`.
absl::StatusOr<KernelList> AlongAxisKernel(absl::string_view family, int64_t along,
                                           const KernelRequest& request, RowsFunction rows,
                                           ColumnsFunction columns) {
  const Shape& shape = request.outputs[0].shape;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(along, shape.rank()));
  const int64_t length = shape[axis];
  const int64_t step = ContiguousStrides(shape)[axis];
  const int64_t outer = shape.num_elements() / (length * step);
  const int threads = request.threads;
  const std::string name = absl::StrCat(family, ":", Name(request.processor.isa));
  const auto diff_of = [](const KernelArgs& args) {
    return static_cast<const float*>(args.inputs.size() > 1 ? args.inputs[1] : args.inputs[0]);
  };
  if (step == 1) {
    return OnlyKernel(name, [=](const KernelArgs& args) {
      const float* const x = args.Input<float>(0);
      const float* const diff = diff_of(args);
      float* const y = args.Output<float>(0);
      ParallelFor(threads, outer, std::max<int64_t>(1, kElementsPerThread / length),
                  [&](int64_t begin, int64_t end) {
                    const int64_t offset = begin * length;
                    rows(x + offset, diff + offset, y + offset, end - begin, length);
                  });
    });
  }
  const int64_t groups = (step + kRowLanes - 1) / kRowLanes;
  return OnlyKernel(name, [=](const KernelArgs& args) {
    const float* const x = args.Input<float>(0);
    const float* const diff = diff_of(args);
    float* const y = args.Output<float>(0);
    ParallelFor(threads, outer * groups,
                std::max<int64_t>(1, kElementsPerThread / (length * kRowLanes)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t first = i % groups * kRowLanes;
                    const int64_t offset = i / groups * length * step + first;
                    columns(x + offset, diff + offset, y + offset,
                            std::min(kRowLanes, step - first), length, step);
                  }
                });
  });
}

absl::StatusOr<KernelList> MakeSoftmax(const Softmax& op, const KernelRequest& request) {
  if (request.inputs[0].dtype == DType::kFloat64) return DoubleSoftmax(op, request);
  const Isa isa = request.processor.isa;
  return AlongAxisKernel("softmax", op.param().axis, request, Versions<SoftmaxRows>::For(isa),
                         Versions<SoftmaxColumns>::For(isa));
}

absl::StatusOr<KernelList> MakeLogSoftmax(const LogSoftmax& op, const KernelRequest& request) {
  const Isa isa = request.processor.isa;
  return AlongAxisKernel("log_softmax", op.param().axis, request,
                         Versions<LogSoftmaxRows>::For(isa), Versions<LogSoftmaxColumns>::For(isa));
}

absl::StatusOr<KernelList> MakeSoftmaxBackward(const SoftmaxBackward& op,
                                               const KernelRequest& request) {
  const Isa isa = request.processor.isa;
  return AlongAxisKernel("softmax_grad", op.param().axis, request,
                         Versions<SoftmaxBackwardRows>::For(isa),
                         Versions<SoftmaxBackwardColumns>::For(isa));
}

// Normalises `rows` contiguous rows of `length` elements. scale and bias have one row each and may
// be null.
void NormalizedRows(const float* x, float* y, int64_t rows, int64_t length, const float* scale,
                    const float* bias, double epsilon) {
  const double count = static_cast<double>(length);
  for (int64_t r = 0; r < rows; ++r, x += length, y += length) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < length; ++i) sum += x[i];
    const double mean = sum / count;
    double squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t i = 0; i < length; ++i) squares += (x[i] - mean) * (x[i] - mean);
    // Splits the mean into two floats: for elements near the mean, the difference from the first is
    // exact.
    const float centre = static_cast<float>(mean);
    const float rest = static_cast<float>(mean - centre);
    const float factor = static_cast<float>(1 / std::sqrt(squares / count + epsilon));
    for (int64_t i = 0; i < length; ++i) y[i] = (x[i] - centre - rest) * factor;
    if (scale != nullptr) {
      for (int64_t i = 0; i < length; ++i) y[i] *= scale[i];
    }
    if (bias != nullptr) {
      for (int64_t i = 0; i < length; ++i) y[i] += bias[i];
    }
  }
}

absl::StatusOr<KernelList> MakeLayerNorm(const LayerNorm& op, const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, shape.rank()));
  int64_t length = 1;
  for (int i = axis; i < shape.rank(); ++i) length *= shape[i];
  const int64_t rows = shape.num_elements() / length;
  const int threads = request.threads;
  const double epsilon = op.param().epsilon;
  const auto normalized = Versions<NormalizedRows>::For(request.processor.isa);
  const std::string name = absl::StrCat("layer_norm:", Name(request.processor.isa));
  return OnlyKernel(name, [=](const KernelArgs& args) {
    const auto input = [&](size_t i) {
      return static_cast<const float*>(i < args.inputs.size() ? args.inputs[i] : nullptr);
    };
    const float* const x = input(LayerNorm::kX);
    float* const y = args.Output<float>(0);
    ParallelFor(threads, rows, std::max<int64_t>(1, kElementsPerThread / length),
                [&](int64_t begin, int64_t end) {
                  normalized(x + begin * length, y + begin * length, end - begin, length,
                             input(LayerNorm::kScale), input(LayerNorm::kBias), epsilon);
                });
  });
}

}  // namespace

void RegisterRowWiseKernels(KernelRegistry& registry) {
  registry.Register<LayerNorm>(MakeLayerNorm, {DType::kFloat32});
  registry.Register<LogSoftmax>(MakeLogSoftmax, {DType::kFloat32});
  registry.Register<Softmax>(MakeSoftmax, {DType::kFloat32, DType::kFloat64});
  registry.Register<SoftmaxBackward>(MakeSoftmaxBackward, {DType::kFloat32});
}

}  // namespace ashlar::cpu
