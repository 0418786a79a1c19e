#include "opr/convolution3d.h"

#include <tuple>

#include "graph/graph_builder.h"
#include "opr/base/checks.h"
#include "opr/base/doubles.h"
#include "opr/base/host_value.h"
#include "opr/base/saturating_product.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(Convolution3DForward)

namespace {

// Returns the steps and padding of height and width.
template <typename Param>
auto StepsOf(Param& p) {
  return std::tie(p.stride_h, p.stride_w, p.pad_h, p.pad_w, p.pad_h_end, p.pad_w_end, p.dilate_h,
                  p.dilate_w);
}

// Returns the sum at one position of one output channel.
double SumAt(const Convolution3DGeometry& g, const double* volume, const double* filter, int64_t od,
             int64_t oh, int64_t ow) {
  double sum = 0;
  for (int64_t c = 0; c < g.in_channels; ++c) {
    for (int64_t kd = 0; kd < g.d.window; ++kd) {
      const int64_t z = g.d.Origin(od) + kd * g.d.dilation;
      for (int64_t kh = 0; kh < g.h.window && z >= 0 && z < g.d.input; ++kh) {
        const int64_t y = g.h.Origin(oh) + kh * g.h.dilation;
        for (int64_t kw = 0; kw < g.w.window && y >= 0 && y < g.h.input; ++kw) {
          const int64_t x = g.w.Origin(ow) + kw * g.w.dilation;
          if (x < 0 || x >= g.w.input) continue;
          sum += volume[((c * g.d.input + z) * g.h.input + y) * g.w.input + x] *
                 filter[((c * g.d.window + kd) * g.h.window + kh) * g.w.window + kw];
        }
      }
    }
  }
  return sum;
}

}  // namespace

ConvolutionParam SliceParam(const Convolution3DParam& param) {
  ConvolutionParam slices{.sparse = param.sparse};
  StepsOf(slices) = StepsOf(param);
  return slices;
}

absl::StatusOr<Convolution3DGeometry> InferConvolution3D(const Convolution3DParam& param,
                                                         absl::Span<const InputInfo> inputs) {
  if (inputs.size() != 2 && inputs.size() != 3) {
    return absl::InvalidArgumentError(absl::StrCat(inputs.size(), " inputs, expected 2 or 3"));
  }
  const TensorType& src = inputs[Convolution3DForward::kSrc].type;
  const TensorType& filter = inputs[Convolution3DForward::kFilter].type;
  ASHLAR_RETURN_IF_ERROR(CheckFloat("input", src));
  ASHLAR_RETURN_IF_ERROR(CheckDType("filter", filter, src.dtype));
  ASHLAR_RETURN_IF_ERROR(CheckNotEmpty("filter", filter));
  const int first =
      param.sparse == SparseMode::kGroup ? 1 : 0;  // the dimension of the output's channels
  if (src.shape.rank() != 5 || filter.shape.rank() != 5 + first) {
    return absl::InvalidArgumentError(absl::StrCat("input is ", src.ToString(), ", filter ",
                                                   filter.ToString(), ", expected rank 5 and ",
                                                   5 + first));
  }
  // One slice, and the part of the filter that covers it.
  const Shape& f = filter.shape;
  const TensorType slice = {src.dtype, {src.shape[0], src.shape[1], src.shape[3], src.shape[4]}};
  TensorType plane = {src.dtype, {f[first], f[first + 1], f[first + 3], f[first + 4]}};
  if (first == 1) plane.shape = {f[0], f[1], f[2], f[4], f[5]};
  Convolution3DGeometry geometry;
  ASHLAR_ASSIGN_OR_RETURN(static_cast<ConvolutionGeometry&>(geometry),
                          InferConvolution(SliceParam(param), slice, plane));
  ASHLAR_ASSIGN_OR_RETURN(
      geometry.d, CompleteWindowAxis({src.shape[2], f[first + 2], param.stride_d, param.dilate_d,
                                      param.pad_d, param.pad_d_end},
                                     "d"));
  if (inputs.size() > Convolution3DForward::kBias) {
    const Shape channels = {geometry.groups * geometry.out_channels};
    ASHLAR_RETURN_IF_ERROR(CheckType("bias", inputs[Convolution3DForward::kBias].type,
                                     TensorType{src.dtype, channels}));
  }
  ASHLAR_RETURN_IF_ERROR(Shape::Make(geometry.output().dims()).status());
  return geometry;
}

absl::StatusOr<std::vector<TensorType>> Convolution3DForward::Infer(
    absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const Convolution3DGeometry geometry,
                          InferConvolution3D(param(), inputs));
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("input", inputs[kSrc].type, geometry.output()));
  return std::vector<TensorType>{{inputs[kSrc].type.dtype, geometry.output()}};
}

absl::StatusOr<std::vector<HostTensor>> Convolution3DForward::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const Convolution3DGeometry g,
                          InferConvolution3D(param(), InfosOf(inputs)));
  const std::vector<double> volumes = ToDoubles(inputs[kSrc]), filters = ToDoubles(inputs[kFilter]);
  std::vector<double> sums;
  const int64_t volume = g.in_channels * g.d.input * g.h.input * g.w.input;
  const int64_t weights = g.in_channels * g.d.window * g.h.window * g.w.window;
  const int64_t channels = g.groups * g.out_channels;
  for (int64_t i = 0; i < g.batch * channels; ++i) {
    const int64_t n = i / channels, oc = i % channels;
    const double* const src = volumes.data() + (n * g.groups + oc / g.out_channels) * volume;
    const double* const filter = filters.data() + oc * weights;
    const double bias = inputs.size() > kBias ? inputs[kBias].At(oc) : 0;
    for (int64_t od = 0; od < g.d.output; ++od) {
      for (int64_t oh = 0; oh < g.h.output; ++oh) {
        for (int64_t ow = 0; ow < g.w.output; ++ow) {
          sums.push_back(SumAt(g, src, filter, od, oh, ow) + bias);
        }
      }
    }
  }
  return std::vector<HostTensor>{FromDoubles(inputs[kSrc].dtype(), g.output(), sums)};
}

int64_t Convolution3DForward::Computation(const Site& site) const {
  const absl::StatusOr<Convolution3DGeometry> g = InferConvolution3D(param(), site.inputs);
  if (!g.ok()) return 0;
  return SaturatingProduct({site.outputs[0].shape.num_elements(), g->d.window, g->h.window,
                            g->w.window, g->in_channels, 2});
}

}  // namespace ashlar
