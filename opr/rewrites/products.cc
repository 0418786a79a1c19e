// Convolutions and products of matrices as other operators, together with their consumers, and in 8
// bits.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graph/graph_builder.h"
#include "opr/base/operands.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/convolution3d.h"
#include "opr/convolution_backward_data.h"
#include "opr/convolution_backward_filter.h"
#include "opr/convolution_filter_update.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/matrix_mul_bias.h"
#include "opr/matrix_mul_update.h"
#include "opr/pad.h"
#include "opr/panel_axes.h"
#include "opr/rewrites/composition.h"
#include "opr/rewrites/conv_fusion.h"
#include "opr/rewrites/conv_parts.h"
#include "opr/rewrites/quantized_weights.h"

namespace ashlar {

template <typename Op>
std::optional<Replacement> ConvolutionOperator<Op>::Absorb(absl::Span<const InputInfo> inputs,
                                                           const Consumer& consumer) const {
  return FuseConsumer(WithBias(), inputs, consumer);
}

template <typename Op>
std::optional<Replacement> ConvolutionOperator<Op>::AbsorbAffine(
    absl::Span<const InputInfo> inputs, const ChannelAffine& affine) const {
  return FoldAffine(WithBias(), inputs, affine);
}

template <typename Op>
QuantizationRule ConvolutionOperator<Op>::quantization_rule(const Site& site) const {
  return QuantizationRuleOf(WithBias(), site.inputs);
}

template <typename Op>
absl::StatusOr<int> ConvolutionOperator<Op>::MakeQuantized(GraphBuilder& builder,
                                                           absl::Span<const int> inputs,
                                                           const QuantizationChoice& choice) const {
  return QuantizeConvolution(builder, WithBias(), inputs, choice);
}

template <typename Op>
std::vector<double> ConvolutionOperator<Op>::ChannelShares(
    absl::Span<const InputInfo> inputs) const {
  return ChannelSharesOf(WithBias(), inputs);
}

template <typename Op>
std::optional<Replacement> ConvolutionOperator<Op>::AbsorbInputScales(
    absl::Span<const InputInfo> inputs, absl::Span<const double> scales) const {
  return AbsorbInputScalesInto(std::make_shared<const Op>(this->self().param()), WithBias(), inputs,
                               scales);
}

template <typename Op>
std::optional<Replacement> ConvolutionOperator<Op>::JoinRows(const Range& rows,
                                                             const Site& site) const {
  return JoinRowsOf(WithBias(), rows, site);
}

template <typename Op>
std::optional<Replacement> ConvolutionOperator<Op>::ReadingImage(
    absl::Span<const InputInfo> inputs, const Shape& image, absl::Span<const int64_t> axes) const {
  const HostTensor* const filter = inputs[ConvBiasInputs::kFilter].value;
  if (filter == nullptr || filter->shape().rank() != 4 || inputs.size() > ConvBiasInputs::kZ) {
    return std::nullopt;
  }
  // Other windows and strides, and the order of a window's elements, would be others on the image.
  const ConvBiasParam param = WithBias();
  const Shape one = {1, filter->shape()[1], 1, 1}, &shape = filter->shape();
  if (inputs[0].type.shape != one || shape[2] != 1 || shape[3] != 1 || shape.num_elements() == 0 ||
      param.pad_h != 0 || param.pad_w != 0 || param.pad_h_end > 0 || param.pad_w_end > 0 ||
      param.dilate_h != 1 || param.dilate_w != 1 ||
      param.mode != ConvolutionMode::kCrossCorrelation) {
    return std::nullopt;
  }
  Replacement reading{std::make_shared<const Op>(this->self().param()), OwnOperands(inputs.size())};
  reading.operands[ConvBiasInputs::kFilter] = ConstantOperand(FilterOfImage(*filter, image, axes));
  return reading;
}

std::optional<Replacement> ProductOperator::ReadingImage(absl::Span<const InputInfo> inputs,
                                                         const Shape& image,
                                                         absl::Span<const int64_t> axes) const {
  const Shape& a = inputs[0].type.shape;
  const HostTensor* const matrix = inputs[1].value;
  if (product().transposeA || a.num_elements() != a[a.rank() - 1] || matrix == nullptr ||
      matrix->shape().rank() != 2 || matrix->num_elements() == 0 ||
      matrix->dtype() != DType::kFloat32) {
    return std::nullopt;
  }
  ConvBiasParam param;
  param.compute_mode = product().compute_mode;
  if (relu()) param.nonlineMode = ScalarFunction::kRelu;
  const HostTensor filter = FilterOfMatrix(*matrix, product().transposeB);
  const int64_t outputs = filter.shape()[0];
  HostTensor bias = HostTensor::Zeros(DType::kFloat32, {1, outputs, 1, 1});
  if (inputs.size() > 2) {
    if (inputs[2].value == nullptr) return std::nullopt;
    bias = inputs[2].value->Reshaped(bias.shape());
  }
  Replacement reading{std::make_shared<const ConvBiasForward>(param), OwnOperands(1)};
  reading.operands.push_back(ConstantOperand(FilterOfImage(filter, image, axes)));
  reading.operands.push_back(ConstantOperand(std::move(bias)));
  return reading;
}

template class ConvolutionOperator<ConvolutionForward>;
template class ConvolutionOperator<ConvBiasForward>;

std::optional<Replacement> ConvBiasForward::AbsorbQuantized(absl::Span<const InputInfo> inputs,
                                                            const Consumer& consumer) const {
  return FuseQuantizedSum(param(), inputs, consumer);
}

std::optional<Replacement> MatrixMul::Chain(absl::Span<const InputInfo> inputs,
                                            const Consumer& consumer) const {
  return ChainBias(param(), inputs, consumer);
}

QuantizationRule ProductOperator::quantization_rule(const Site& site) const {
  return QuantizationRuleOf(product(), site.inputs);
}

absl::StatusOr<int> ProductOperator::MakeQuantized(GraphBuilder& builder,
                                                   absl::Span<const int> inputs,
                                                   const QuantizationChoice& choice) const {
  return QuantizeProduct(builder, product(), relu(), inputs, choice);
}

absl::StatusOr<std::vector<int>> MatrixMulBias::Compose(GraphBuilder& builder,
                                                        absl::Span<const int> inputs) const {
  Composition graph(builder);
  const int product = graph.Add<MatrixMul>(param(), {inputs[0], inputs[1]});
  int y = graph.Apply(ScalarFunction::kAdd, {product, inputs[kBias]});
  if (param().relu) y = graph.Apply(ScalarFunction::kRelu, {y});
  return std::move(graph).Finish({y});
}

std::optional<Replacement> MatrixMulBias::Chain(absl::Span<const InputInfo> inputs,
                                                const Consumer& consumer) const {
  const auto* elemwise = dynamic_cast<const Elemwise*>(&consumer.op);
  if (elemwise == nullptr || elemwise->param().mode != ScalarFunction::kRelu || param().relu) {
    return std::nullopt;
  }
  MatrixMulBiasParam with_relu = param();
  with_relu.relu = true;
  return Replacement{std::make_shared<const MatrixMulBias>(with_relu), OwnOperands(inputs.size())};
}

absl::StatusOr<std::vector<int>> MatrixMulUpdate::Compose(GraphBuilder& builder,
                                                          absl::Span<const int> inputs) const {
  Composition c(builder);
  const int product = c.Add<MatrixMul>(param(), {inputs[kA], inputs[kB]});
  return std::move(c).Finish({c.Add<AddUpdate>({param().alpha, 1, 0}, {inputs[kDest], product})});
}

namespace {

// The constants of a convolution are along its channels: src, filter, bias, z.
std::optional<PanelAxes> PanelAxesOfConvolution(const Site& site) {
  constexpr int kAxes[] = {-1, 0, 1, 1};
  if (site.inputs[ConvBiasInputs::kFilter].type.shape.rank() != 4) return std::nullopt;  // groups
  return PanelAxes{1, {kAxes, kAxes + site.inputs.size()}};
}

PanelAxes PanelAxesOfProduct(const MatrixMulParam& param, const Site& site) {
  const int rank_b = site.inputs[1].type.shape.rank();
  PanelAxes axes = {site.outputs[0].shape.rank() - 1, {-1, rank_b - (param.transposeB ? 2 : 1)}};
  axes.inputs.resize(site.inputs.size(), 0);  // a bias has one value for each column
  return axes;
}

bool IsConvolution(const Operator& op) {
  return dynamic_cast<const ConvolutionForward*>(&op) != nullptr ||
         dynamic_cast<const ConvBiasForward*>(&op) != nullptr;
}

}  // namespace

std::optional<GroupAxes> GroupAxesOf(const Operator& op, const Site& site) {
  constexpr int kAxes[] = {1, 0, 1, 1};
  if (!IsConvolution(op)) return std::nullopt;
  const Shape& filter = site.inputs[ConvBiasInputs::kFilter].type.shape;
  if (filter.rank() != 5) return std::nullopt;
  return GroupAxes{{1, {kAxes, kAxes + site.inputs.size()}}, filter[0]};
}

std::optional<ChannelSums> ChannelSumsOf(const Operator& op, const Site& site) {
  ConvBiasParam param;
  if (const auto* plain = dynamic_cast<const ConvolutionForward*>(&op)) {
    param = ConvBiasParam{plain->param()};
  } else if (const auto* bias = dynamic_cast<const ConvBiasForward*>(&op)) {
    param = bias->param();
  } else {
    return std::nullopt;
  }
  const TensorType& filter = site.inputs[ConvBiasInputs::kFilter].type;
  const bool integers = IsQuantized(filter.dtype) && site.inputs.size() <= ConvBiasInputs::kZ;
  if ((site.outputs[0].dtype != DType::kFloat32 && !integers) || param.clamps_src() ||
      filter.shape.rank() != 4) {
    return std::nullopt;
  }
  const auto next = std::make_shared<const ConvBiasForward>(Unfinished(param));
  return ChannelSums{next, next, std::make_shared<const ConvBiasForward>(param)};
}

std::optional<PanelAxes> PanelAxesOf(const Operator& op, const Site& site) {
  if (IsConvolution(op)) return PanelAxesOfConvolution(site);
  if (const auto* product = dynamic_cast<const MatrixMul*>(&op)) {
    return PanelAxesOfProduct(product->param(), site);
  }
  if (const auto* product = dynamic_cast<const MatrixMulBias*>(&op)) {
    return PanelAxesOfProduct(product->param(), site);
  }
  return std::nullopt;
}

}  // namespace ashlar
