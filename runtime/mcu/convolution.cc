// Convolutions.
#include <algorithm>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/conv_bias.h"
#include "opr/quantized_conv.h"
#include "runtime/mcu/bytes.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/walk.h"
#include "runtime/mcu/windows.h"

namespace ashlar::mcu {
namespace {

constexpr int kSrc = ConvBiasForward::kSrc, kFilter = ConvBiasForward::kFilter,
              kBias = ConvBiasForward::kBias, kZ = ConvBiasForward::kZ;

// The model's filters are [groups, outputs, inputs, taps]. Functions read [groups, outputs / 4,
// taps, inputs, 4], or [taps, groups] if each channel has its own filter.
struct FilterOrder {
  int64_t groups, outputs, inputs, taps;  // outputs per group
  bool flipped, depthwise;

  static constexpr int64_t kLanes = 4;

  std::string key() const {
    return absl::StrCat(depthwise ? "taps, channels" : "fours", flipped ? ", flipped" : "");
  }
  int64_t elements() const {
    return groups * (depthwise ? 1 : RoundUp(outputs, kLanes)) * inputs * taps;
  }
  int64_t PlaceOf(int64_t group, int64_t output, int64_t input, int64_t tap) const {
    if (depthwise) return tap * groups + group;
    const int64_t four = group * CeilDivide(outputs, kLanes) + output / kLanes;
    return ((four * taps + tap) * inputs + input) * kLanes + output % kLanes;
  }
  template <typename T>
  void Reorder(const T* from, T* to) const {
    std::fill_n(to, elements(), T{0});
    for (int64_t group = 0; group < groups; ++group) {
      for (int64_t output = 0; output < outputs; ++output) {
        for (int64_t input = 0; input < inputs; ++input) {
          for (int64_t tap = 0; tap < taps; ++tap) {
            to[PlaceOf(group, output, input, flipped ? taps - 1 - tap : tap)] = *from++;
          }
        }
      }
    }
  }
};

template <typename T>
void PackFilter(const FilterOrder& order, CodeKernel& kernel) {
  const int64_t bytes = order.elements() * static_cast<int64_t>(sizeof(T));
  kernel.SetPacking(kFilter, {order.key(), bytes}, [order](const HostTensor& value, void* packed) {
    order.Reorder(static_cast<const T*>(value.raw()), static_cast<T*>(packed));
  });
}

ashlar_conv8_shape ShapeOf(const ConvolutionGeometry& g, const KernelRequest& request,
                           const Requantization& to) {
  const TensorType& src = request.inputs[kSrc];
  ashlar_conv8_shape shape = {};
  shape.batch = static_cast<int32_t>(g.batch);
  shape.groups = static_cast<int32_t>(g.groups);
  shape.in_channels = static_cast<int32_t>(g.in_channels);
  shape.out_channels = static_cast<int32_t>(g.out_channels);
  shape.h = AxisOf(g.h);
  shape.w = AxisOf(g.w);
  shape.src = StepsOf(src);
  shape.dst = StepsOf(request.outputs[0]);
  shape.src_flip = FlipOf(src);
  shape.src_zero_point = ZeroPointOf(src);
  SetRounding(to.least, to.most, to.zero_point, shape);
  return shape;
}

// Returns the shape for adding z to a rounded convolution.
ashlar_conv8_sum_shape SumShapeOf(const ashlar_conv8_shape& convolution, const TensorType& addend,
                                  const ConvBiasParam& param, const KernelRequest& request) {
  const TensorType &z = request.inputs[kZ], &dst = request.outputs[0];
  const int32_t zero_point = dst.quantization.zero_point();
  const bool rectified = param.nonlineMode == ScalarFunction::kRelu;
  ashlar_conv8_sum_shape shape = {};
  shape.convolution = convolution;
  shape.convolution.zero_point = 0;  // the addition takes steps from the zero point
  shape.z = StepsOf(z);
  shape.z_flip = FlipOf(z);
  shape.z_zero_point = ZeroPointOf(z);
  shape.sum_scale = addend.quantization.scale();
  shape.z_scale = z.quantization.scale();
  shape.scale = dst.quantization.scale();
  SetRounding(rectified ? zero_point : LeastOf(dst.dtype), MostOf(dst.dtype), zero_point, shape);
  return shape;
}

absl::StatusOr<KernelList> QuantizedConvolution(const ConvBiasForward& op,
                                                const KernelRequest& request) {
  const TensorType &src = request.inputs[kSrc], &filter = request.inputs[kFilter];
  TensorType dst = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry g, InferConvolution(op.param(), src, filter));
  const bool sums = request.inputs.size() > kZ;
  const ConvBiasParam param = sums ? WithoutSum(op.param()) : op.param();
  if (sums) {
    ASHLAR_ASSIGN_OR_RETURN(dst, QuantizedType(param.output, dst.shape));
  }
  const Requantization to = RequantizationOf(param, src.quantization, filter.quantization, dst,
                                             g.groups * g.out_channels);
  const ashlar_conv8_shape shape = ShapeOf(g, request, to);
  const bool depthwise = g.in_channels == 1 && g.out_channels == 1 && !sums;
  CodeCall call =
      sums ? ASHLAR_CODE_CALL(conv8_sum, SumShapeOf(shape, dst, op.param(), request), Input(kSrc),
                              Input(kFilter), Input(kBias), Table(0), Input(kZ), Output(0))
      : depthwise ? ASHLAR_CODE_CALL(depthwise8, shape, Input(kSrc), Input(kFilter), Input(kBias),
                                     Table(0), Output(0))
                  : ASHLAR_CODE_CALL(conv8, shape, Input(kSrc), Input(kFilter), Input(kBias),
                                     Table(0), Output(0));
  if (depthwise) call.shape_type = "ashlar_conv8_shape";
  auto kernel = std::make_unique<CodeKernel>(
      std::vector<CodeCall>{std::move(call)},
      std::vector<CodeTable>{CodeTable::Of<float>(DType::kFloat32, to.factors)});
  PackFilter<int8_t>({g.groups, g.out_channels, g.in_channels, g.h.window * g.w.window,
                      op.param().mode == ConvolutionMode::kConvolution, depthwise},
                     *kernel);
  KernelList kernels;
  kernels.push_back(std::move(kernel));
  return kernels;
}

absl::StatusOr<KernelList> MakeConvBias(const ConvBiasForward& op, const KernelRequest& request) {
  if (!request.constant[kFilter]) {
    return absl::UnimplementedError("the filter is computed, expected a constant");
  }
  if (IsQuantizedBytes(request.inputs[kSrc])) return QuantizedConvolution(op, request);
  return absl::UnimplementedError(
      absl::StrCat("a convolution of ", request.inputs[kSrc].ToString()));
}

}  // namespace

void RegisterConvolutionKernels(KernelRegistry& registry) {
  registry.Register<ConvBiasForward>(MakeConvBias);
}

}  // namespace ashlar::mcu
