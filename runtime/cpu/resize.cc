// Resize: first blends the rows of an image, then the columns of the blended row. Each output is
// the same sum wherever a part of the image begins.
#include "opr/resize.h"

#include <algorithm>

#include "graph/status.h"
#include "opr/resize_bytes.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/resize_planes.h"

namespace ashlar::cpu {
namespace {

// Computes row[i] as the sum over the taps of weight * element i of the tap's row.
void BlendRows(const float* plane, int64_t pitch, const int32_t* index, const float* weight,
               int64_t taps, int64_t stride, float* row, int64_t n) {
  constexpr int64_t kFew = 4;
  const float* rows[kFew];
  float weights[kFew] = {};
  for (int64_t t = 0; t < std::min(taps, kFew); ++t) {
    rows[t] = plane + index[t * stride] * pitch;
    weights[t] = weight[t * stride];
  }
  if (taps == 2) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) row[i] = weights[0] * rows[0][i] + weights[1] * rows[1][i];
    return;
  }
  if (taps == 4) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      row[i] = (weights[0] * rows[0][i] + weights[1] * rows[1][i]) +
               (weights[2] * rows[2][i] + weights[3] * rows[3][i]);
    }
    return;
  }
  std::fill(row, row + n, 0.0f);
  for (int64_t t = 0; t < taps; ++t) {
    const float* const from = plane + index[t * stride] * pitch;
    const float factor = weight[t * stride];
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) row[i] += factor * from[i];
  }
}

// Blends columns of single elements.
void BlendColumns(const float* row, const int32_t* index, const float* weight, int64_t taps,
                  int64_t outputs, float* to) {
  if (taps == 2) {
#pragma omp simd
    for (int64_t o = 0; o < outputs; ++o) {
      to[o] = weight[o] * row[index[o]] + weight[outputs + o] * row[index[outputs + o]];
    }
    return;
  }
  for (int64_t t = 0; t < taps; ++t) {
    const int32_t* const at = index + t * outputs;
    const float* const factor = weight + t * outputs;
#pragma omp simd
    for (int64_t o = 0; o < outputs; ++o) {
      to[o] = (t == 0 ? 0.0f : to[o]) + factor[o] * row[at[o]];
    }
  }
}

// Blends columns of groups of `lanes` elements.
void BlendGroups(const float* row, int64_t lanes, const int32_t* index, const float* weight,
                 int64_t taps, int64_t outputs, float* to) {
  for (int64_t o = 0; o < outputs; ++o, to += lanes) {
    for (int64_t t = 0; t < taps; ++t) {
      const float* const from = row + index[t * outputs + o] * lanes;
      const float factor = weight[t * outputs + o];
#pragma omp simd
      for (int64_t l = 0; l < lanes; ++l) to[l] = (t == 0 ? 0.0f : to[l]) + factor * from[l];
    }
  }
}

// Computes one row of the output; `row` is a buffer for a row of the input.
void BlendRow(const Planes& p, const float* plane, int64_t output, float* row, float* to) {
  const float* blended = plane + p.h.index[static_cast<size_t>(output)] * p.from.row;
  if (p.h.taps > 1) {
    BlendRows(plane, p.from.row, p.h.index.data() + output, p.h.weight.data() + output, p.h.taps,
              p.h.outputs, row, p.columns * p.lanes);
    blended = row;
  }
  if (p.lanes == 1) {
    BlendColumns(blended, p.w.index.data(), p.w.weight.data(), p.w.taps, p.w.outputs, to);
  } else {
    BlendGroups(blended, p.lanes, p.w.index.data(), p.w.weight.data(), p.w.taps, p.w.outputs, to);
  }
}

template <typename T>
void CopyColumns(const T* row, int64_t lanes, const std::vector<int32_t>& index, T* to) {
  for (const int32_t column : index) {
    for (int64_t l = 0; l < lanes; ++l) to[l] = row[column * lanes + l];
    to += lanes;
  }
}

// The same for nearest elements, of any dtype of that size.
template <typename T>
void CopyRow(const Planes& p, const T* plane, int64_t output, T* to) {
  const T* const row = plane + p.h.index[static_cast<size_t>(output)] * p.from.row;
  switch (p.lanes) {
    case 1:
      return CopyColumns(row, 1, p.w.index, to);
    case kChannelBlock:
      return CopyColumns(row, kChannelBlock, p.w.index, to);
    default:
      return CopyColumns(row, p.lanes, p.w.index, to);
  }
}

template <typename T>
KernelList NearestKernel(const Planes& p, int threads, Isa isa) {
  const auto copy = Versions<CopyRow<T>>::For(isa);
  return OnlyKernel("resize:copy", [=](const KernelArgs& args) {
    ForEachRowOf(p, threads, [&](int64_t plane, int64_t row, int64_t to, int /*thread*/) {
      copy(p, args.Input<T>(0) + plane, row, args.Output<T>(0) + to);
    });
  });
}

KernelList NearestKernelOf(const Planes& p, DType dtype, int threads, Isa isa) {
  switch (SizeOf(dtype)) {
    case 1:
      return NearestKernel<uint8_t>(p, threads, isa);
    case 2:
      return NearestKernel<uint16_t>(p, threads, isa);
    case 4:
      return NearestKernel<uint32_t>(p, threads, isa);
    default:
      return NearestKernel<uint64_t>(p, threads, isa);
  }
}

// A resize of any axes, element by element.
struct Anywhere {
  struct Axis {
    Taps taps;
    int64_t input_stride = 0, output_stride = 0;  // in elements
  };
  std::vector<Axis> axes;  // all axes of the tensor
  float extrapolation = 0;
};

float ValueAt(const Anywhere& problem, const float* x, size_t axis, int64_t output) {
  if (axis == problem.axes.size()) return *x;
  const Anywhere::Axis& a = problem.axes[axis];
  const int64_t o = output / a.output_stride;
  double sum = 0;
  for (int64_t t = 0; t < a.taps.taps; ++t) {
    const auto at = static_cast<size_t>(t * a.taps.outputs + o);
    sum +=
        static_cast<double>(a.taps.weight[at]) *
        ValueAt(problem, x + a.taps.index[at] * a.input_stride, axis + 1, output % a.output_stride);
  }
  return static_cast<float>(sum);
}

bool IsOutside(const Anywhere& problem, int64_t output) {
  for (const Anywhere::Axis& axis : problem.axes) {
    if (axis.taps.index[static_cast<size_t>(output / axis.output_stride)] < 0) return true;
    output %= axis.output_stride;
  }
  return false;
}

KernelList AnywhereKernel(const ResizeParam& param, const std::vector<ResizeAxis>& axes,
                          const KernelRequest& request) {
  const Shape &from = request.inputs[0].shape, &to = request.outputs[0].shape;
  Anywhere problem;
  problem.extrapolation = static_cast<float>(param.extrapolation);
  const auto input_strides = ContiguousStrides(from), output_strides = ContiguousStrides(to);
  for (int i = 0; i < from.rank(); ++i) {
    problem.axes.push_back({AllOf(from[i]), input_strides[i], output_strides[i]});
  }
  for (const ResizeAxis& axis : axes) {
    problem.axes[static_cast<size_t>(axis.axis)].taps = TapsFor(param, axis);
  }
  const int64_t count = to.num_elements();
  const int threads = request.threads;
  return OnlyKernel("resize:elements", [=](const KernelArgs& args) {
    const float* const x = args.Input<float>(0);
    float* const y = args.Output<float>(0);
    ParallelFor(threads, count, kElementsPerThread / 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y[i] = IsOutside(problem, i) ? problem.extrapolation : ValueAt(problem, x, 0, i);
      }
    });
  });
}

absl::StatusOr<KernelList> MakeResize(const Resize& op, const KernelRequest& request) {
  const ResizeParam& param = op.param();
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes, ResizeAxesOf(param, request.infos()));
  const TensorType &x = request.inputs[0], &y = request.outputs[0];
  const int threads = request.threads;
  const Isa isa = request.processor.isa;
  const std::optional<Planes> planes = PlanesOf(param, axes, x, y);
  if (planes && param.mode == ResizeMode::kNearest) {
    return NearestKernelOf(*planes, x.dtype, threads, isa);
  }
  if (x.dtype != DType::kFloat32) {
    return absl::UnimplementedError(absl::StrCat(
        "Resize of ", x.ToString(), planes ? "" : " along axes that are not neighbours",
        ": kernels take Float32"));
  }
  if (!planes) return AnywhereKernel(param, axes, request);
  const auto blend = Versions<BlendRow>::For(isa);
  // A row of the input per thread, on separate cache lines.
  const int64_t pitch = planes->h.taps > 1 ? planes->columns * planes->lanes + 16 : 0;
  return OnlyKernel(
      absl::StrCat("resize:", Name(isa)),
      [=, p = *planes](const KernelArgs& args) {
        ForEachRowOf(p, threads, [&](int64_t plane, int64_t row, int64_t to, int thread) {
          blend(p, args.Input<float>(0) + plane, row,
                static_cast<float*>(args.workspace) + thread * pitch, args.Output<float>(0) + to);
        });
      },
      threads * pitch * static_cast<int64_t>(sizeof(float)));
}

}  // namespace

void RegisterResizeKernels(KernelRegistry& registry) {
  registry.Register<Resize>(MakeResize);
  registry.Register<ResizeBytes>(QuantizedResizeKernels);
}

}  // namespace ashlar::cpu
