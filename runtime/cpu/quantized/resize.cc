// Resizes quantised images: each output is made of four bytes. Threads share the rows of the
// output.
#include <cmath>

#include "graph/status.h"
#include "opr/base/fixed_point_resize.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/quantized.h"
#include "runtime/cpu/resize_planes.h"

namespace ashlar::cpu {
namespace {

struct Blend {
  Planes planes;
  std::vector<int32_t> h, w;  // by output: the weight of its second input (FixedPointWeight)
};

std::vector<int32_t> SecondWeights(const Taps& taps) {
  std::vector<int32_t> weights;
  for (int64_t o = 0; o < taps.outputs; ++o) {
    const float weight = taps.weight[static_cast<size_t>(taps.outputs + o)];
    weights.push_back(static_cast<int32_t>(weight * kFixedPointOne));  // exact
  }
  return weights;
}

template <typename Element>
void BlendColumns(const Blend& blend, const Element* above, const Element* below, int64_t lanes,
                  int32_t row_weight, Element* to) {
  const Taps& w = blend.planes.w;
  for (int64_t o = 0; o < w.outputs; ++o, to += lanes) {
    const int64_t left = w.index[o] * lanes, right = w.index[w.outputs + o] * lanes;
    const int32_t weight = blend.w[o];
#pragma omp simd
    for (int64_t l = 0; l < lanes; ++l) {
      to[l] = static_cast<Element>(FixedPointBlend({above[left + l], above[right + l]},
                                                   {below[left + l], below[right + l]}, weight,
                                                   row_weight));
    }
  }
}

// Computes one row of the output.
template <typename Element>
void BlendRow(const Blend& blend, const Element* plane, int64_t output, Element* to) {
  const Planes& p = blend.planes;
  const Element* const above = plane + p.h.index[output] * p.from.row;
  const Element* const below = plane + p.h.index[p.h.outputs + output] * p.from.row;
  const int32_t weight = blend.h[output];
  if (p.lanes == 1) {
    BlendColumns(blend, above, below, 1, weight, to);
  } else {
    BlendColumns(blend, above, below, p.lanes, weight, to);
  }
}

template <typename Element>
KernelList BlendKernel(Planes planes, int threads, Isa isa) {
  const auto blend_row = Versions<BlendRow<Element>>::For(isa);
  Blend blend = {planes, SecondWeights(planes.h), SecondWeights(planes.w)};
  return OnlyKernel("int8:resize", [=](const KernelArgs& args) {
    ForEachRowOf(blend.planes, threads, [&](int64_t plane, int64_t row, int64_t to, int) {
      blend_row(blend, args.Input<Element>(0) + plane, row, args.Output<Element>(0) + to);
    });
  });
}

}  // namespace

absl::StatusOr<KernelList> QuantizedResizeKernels(const ResizeBytes& op,
                                                  const KernelRequest& request) {
  const TensorType &x = request.inputs[0], &y = request.outputs[0];
  if (x.format != y.format) {
    return absl::UnimplementedError(absl::StrCat("from ", x.ToString(), " to ", y.ToString()));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes,
                          ResizeAxesOf(op.param(), request.infos()));
  const Planes planes = *PlanesOf(op.param(), axes, x, y);
  const Isa isa = request.processor.isa;
  return x.dtype == DType::kQuantizedS8 ? BlendKernel<int8_t>(planes, request.threads, isa)
                                        : BlendKernel<uint8_t>(planes, request.threads, isa);
}

}  // namespace ashlar::cpu
