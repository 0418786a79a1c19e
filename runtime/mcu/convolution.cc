// Convolutions.
#include "opr/convolution.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"
#include "opr/conv_bias.h"
#include "opr/quantized_conv.h"
#include "runtime/mcu/bytes.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/unary.h"
#include "runtime/mcu/walk.h"
#include "runtime/mcu/windows.h"

namespace ashlar::mcu {
namespace {

constexpr int kSrc = ConvBiasForward::kSrc, kFilter = ConvBiasForward::kFilter,
              kBias = ConvBiasForward::kBias, kZ = ConvBiasForward::kZ;

// The model's filters are [groups, outputs, inputs, rows, columns].
struct FilterOrder {
  // Functions read [groups, outputs / 4, taps, inputs, 4], or [taps, groups] if each channel has
  // its own filter, or, of bytes, [groups, outputs / 4, rows, columns * inputs / 4, 4 outputs, 4].
  enum class Kind { kFours, kDepthwise, kSquares };

  int64_t groups, outputs, inputs, rows, columns;  // outputs per group
  bool flipped;
  Kind kind;

  static constexpr int64_t kLanes = 4;

  std::string key() const {
    const char* const names[] = {"fours", "taps, channels", "squares"};
    return absl::StrCat(names[static_cast<int>(kind)], flipped ? ", flipped" : "");
  }
  int64_t elements() const {
    if (kind == Kind::kDepthwise) return groups * rows * columns;
    const int64_t row = columns * inputs;
    return groups * RoundUp(outputs, kLanes) * rows *
           (kind == Kind::kSquares ? RoundUp(row, kLanes) : row);
  }
  int64_t PlaceOf(int64_t group, int64_t output, int64_t input, int64_t tap) const {
    if (kind == Kind::kDepthwise) return tap * groups + group;
    const int64_t four = group * CeilDivide(outputs, kLanes) + output / kLanes;
    const int64_t lane = output % kLanes;
    if (kind == Kind::kFours)
      return ((four * rows * columns + tap) * inputs + input) * kLanes + lane;
    const int64_t row = four * rows + tap / columns;
    const int64_t product = tap % columns * inputs + input;
    return (row * CeilDivide(columns * inputs, kLanes) + product / kLanes) * kLanes * kLanes +
           lane * kLanes + product % kLanes;
  }
  template <typename T>
  void Reorder(const T* from, T* to) const {
    const int64_t taps = rows * columns;
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

FilterOrder FilterOrderOf(const ConvolutionGeometry& g, const ConvolutionParam& param,
                          FilterOrder::Kind kind) {
  return {g.groups,   g.out_channels, g.in_channels,
          g.h.window, g.w.window,     param.mode == ConvolutionMode::kConvolution,
          kind};
}

// Returns a shape with the fields that all convolutions have.
template <typename ShapeStruct>
ShapeStruct SizesOf(const ConvolutionGeometry& g, const KernelRequest& request) {
  ShapeStruct shape = {};
  shape.batch = static_cast<int32_t>(g.batch);
  shape.groups = static_cast<int32_t>(g.groups);
  shape.in_channels = static_cast<int32_t>(g.in_channels);
  shape.out_channels = static_cast<int32_t>(g.out_channels);
  shape.h = AxisOf(g.h);
  shape.w = AxisOf(g.w);
  shape.src = StepsOf(request.inputs[kSrc]);
  shape.dst = StepsOf(request.outputs[0]);
  return shape;
}

ashlar_conv8_shape ShapeOf(const ConvolutionGeometry& g, const KernelRequest& request,
                           const Requantization& to) {
  const TensorType& src = request.inputs[kSrc];
  auto shape = SizesOf<ashlar_conv8_shape>(g, request);
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
  shape.fixed =
      FixedFactorsOf(ElemwiseMultiType(SumOf(param))
                         .FixedSum(addend.quantization, z.quantization, dst.quantization));
  SetRounding(rectified ? zero_point : LeastOf(dst.dtype), MostOf(dst.dtype), zero_point, shape);
  return shape;
}

// Returns the kernel of one call with a packed filter.
KernelList WithFilter(CodeCall call, std::vector<float> factors, const FilterOrder& order) {
  auto kernel = std::make_unique<CodeKernel>(
      std::vector<CodeCall>{std::move(call)},
      std::vector<CodeTable>{CodeTable::Of<float>(DType::kFloat32, std::move(factors))});
  PackFilter<int8_t>(order, *kernel);
  KernelList kernels;
  kernels.push_back(std::move(kernel));
  return kernels;
}

// Returns the call for sums that are joined to others, or rounded later.
absl::StatusOr<KernelList> PartOfSums(const ConvBiasParam& param, const ConvolutionGeometry& g,
                                      bool joins, const KernelRequest& request) {
  const TensorType &src = request.inputs[kSrc], &dst = request.outputs[0];
  Requantization to;
  to.factors = {0};  // not read
  ashlar_conv8_part_shape shape = {};
  shape.unfinished = dst.dtype == DType::kQuantizedS32 ? 1 : 0;
  if (shape.unfinished == 0) {
    to = RequantizationOf(param, src.quantization, request.inputs[kFilter].quantization, dst,
                          g.groups * g.out_channels);
  }
  shape.convolution = ShapeOf(g, request, to);
  if (joins) shape.z = StepsOf(request.inputs[kZ]);
  return WithFilter(ASHLAR_CODE_CALL(conv8_part, shape, Input(kSrc), Input(kFilter), Input(kBias),
                                     Table(0), joins ? Input(kZ) : NoOperand(), Output(0)),
                    to.factors, FilterOrderOf(g, param, FilterOrder::Kind::kSquares));
}

absl::StatusOr<KernelList> QuantizedConvolution(const ConvBiasForward& op,
                                                const KernelRequest& request) {
  const TensorType &src = request.inputs[kSrc], &filter = request.inputs[kFilter];
  TensorType dst = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry g, InferConvolution(op.param(), src, filter));
  const bool sums = request.inputs.size() > kZ;
  const bool joins = JoinsSums(request.infos());
  if (joins || dst.dtype == DType::kQuantizedS32) {
    return PartOfSums(op.param(), g, joins, request);
  }
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
  return WithFilter(
      std::move(call), to.factors,
      FilterOrderOf(g, op.param(),
                    depthwise ? FilterOrder::Kind::kDepthwise : FilterOrder::Kind::kSquares));
}

// Returns the calls for floats: a convolution, which clamps its sums; other activations follow it.
absl::StatusOr<KernelList> FloatConvolution(const ConvBiasParam& param,
                                            const KernelRequest& request) {
  const TensorType &src = request.inputs[kSrc], &filter = request.inputs[kFilter];
  if (param.clamps_src()) return absl::UnimplementedError("bounds of the image");
  ASHLAR_ASSIGN_OR_RETURN(const ConvolutionGeometry g, InferConvolution(param, src, filter));
  const bool sums = request.inputs.size() > kZ;
  const std::optional<Bounds> bounds = BoundsOf(ActivationParam(param));
  auto shape = SizesOf<ashlar_conv_shape>(g, request);
  if (sums) shape.z = StepsOf(request.inputs[kZ]);
  shape.low = bounds.value_or(Bounds()).low;
  shape.high = bounds.value_or(Bounds()).high;
  const CodeOperand bias = request.inputs.size() > kBias ? Input(kBias) : NoOperand();
  const CodeOperand z = sums ? Input(kZ) : NoOperand();
  const bool depthwise = g.in_channels == 1 && g.out_channels == 1;
  std::vector<CodeCall> calls = {
      depthwise
          ? ASHLAR_CODE_CALL(depthwise, shape, Input(kSrc), Input(kFilter), bias, z, Output(0))
          : ASHLAR_CODE_CALL(conv, shape, Input(kSrc), Input(kFilter), bias, z, Output(0))};
  calls[0].shape_type = "ashlar_conv_shape";
  if (!bounds.has_value()) {
    ASHLAR_ASSIGN_OR_RETURN(
        CodeCall activation,
        UnaryCall(ActivationParam(param), request.outputs[0], request.outputs[0], Output(0)));
    calls.push_back(std::move(activation));
  }
  auto kernel = std::make_unique<CodeKernel>(std::move(calls));
  PackFilter<float>(
      FilterOrderOf(g, param,
                    depthwise ? FilterOrder::Kind::kDepthwise : FilterOrder::Kind::kFours),
      *kernel);
  KernelList kernels;
  kernels.push_back(std::move(kernel));
  return kernels;
}

template <typename Op>
absl::StatusOr<KernelList> MakeConvolution(const Op& op, const KernelRequest& request) {
  if (!request.constant[kFilter]) {
    return absl::UnimplementedError("the filter is computed, expected a constant");
  }
  const TensorType& src = request.inputs[kSrc];
  if (src.dtype == DType::kFloat32) return FloatConvolution({op.param()}, request);
  if constexpr (std::is_same_v<Op, ConvBiasForward>) {
    if (IsQuantizedBytes(src)) return QuantizedConvolution(op, request);
  }
  return absl::UnimplementedError(absl::StrCat("a convolution of ", src.ToString()));
}

}  // namespace

void RegisterConvolutionKernels(KernelRegistry& registry) {
  registry.Register<ConvBiasForward>(MakeConvolution<ConvBiasForward>);
  registry.Register<ConvolutionForward>(MakeConvolution<ConvolutionForward>);
}

}  // namespace ashlar::mcu
