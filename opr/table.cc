#include "opr/table.h"

#include "opr/batch_norm.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "opr/elemwise_chain.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/immutable_tensor.h"
#include "opr/lrn.h"
#include "opr/matrix_mul.h"
#include "opr/matrix_mul_bias.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/relayout_format.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"

namespace ashlar {
namespace {

// A constant's value does not travel as a parameter: loaders make it with MakeConstant.
absl::StatusOr<OperatorPtr> MakeWithoutValue(const ParamList&) {
  return absl::InvalidArgumentError("a constant needs its value");
}

constexpr OperatorRow kOperators[] = {
    {"BatchNorm", "normalisation by given statistics", MakeFromParams<BatchNorm>},
    {"Concat", "tensors joined along an axis", MakeFromParams<Concat>},
    {"ConvBiasForward", "convolution + bias + residual + activation",
     MakeFromParams<ConvBiasForward>},
    {"ConvolutionForward", "2-D convolution, dense or in groups",
     MakeFromParams<ConvolutionForward>},
    {"Dimshuffle", "axes permuted, added and dropped", MakeFromParams<Dimshuffle>},
    {"Elemwise", "a scalar function of each element, with broadcasting", MakeFromParams<Elemwise>},
    {"ElemwiseChain", "scalar functions one after the other, on a GPU",
     MakeFromParams<ElemwiseChain>},
    {"GetVarShape", "the shape of a tensor as a value", MakeFromParams<GetVarShape>},
    {"Host2DeviceCopy", "an input, copied from the host", MakeFromParams<Host2DeviceCopy>},
    {"ImmutableTensor", "a constant", MakeWithoutValue},
    {"InputCallback", "an input, bound by the caller", MakeFromParams<InputCallback>},
    {"LRN", "local response normalisation across channels", MakeFromParams<LRN>},
    {"MatrixMul", "product of matrices, or of batches of them", MakeFromParams<MatrixMul>},
    {"MatrixMulBias", "product of matrices + bias + ReLU, on a GPU", MakeFromParams<MatrixMulBias>},
    {"OutputCallback", "an output, handed to the caller", MakeFromParams<OutputCallback>},
    {"PoolingForward", "maximum or mean of each window", MakeFromParams<PoolingForward>},
    {"Reduce", "sum, product, least, greatest or mean along an axis", MakeFromParams<Reduce>},
    {"RelayoutFormat", "the same value in another storage format", MakeFromParams<RelayoutFormat>},
    {"Reshape", "the same elements under another shape", MakeFromParams<Reshape>},
    {"Softmax", "softmax along one axis", MakeFromParams<Softmax>},
    {"Subtensor", "a box of a tensor, with steps", MakeFromParams<Subtensor>},
    {"TypeCvt", "the same values in another dtype", MakeFromParams<TypeCvt>},
};

class Table final : public OperatorTable {
 public:
  absl::StatusOr<OperatorPtr> Make(absl::string_view type, const ParamList& params) const override {
    for (const OperatorRow& row : kOperators) {
      if (type == row.type) return row.make(params);
    }
    return absl::NotFoundError(
        absl::StrCat("unknown operator type '", type.substr(0, 64), "' (`ashlar ops` lists them)"));
  }
  OperatorPtr MakeConstant(HostTensor value) const override {
    return std::make_shared<const ImmutableTensor>(std::move(value));
  }
  OperatorPtr MakeRelayout(Format format) const override {
    return std::make_shared<const RelayoutFormat>(RelayoutFormatParam{format});
  }
};

}  // namespace

absl::Span<const OperatorRow> OperatorRows() { return kOperators; }

const OperatorTable& Operators() {
  static const Table* const table = new Table();
  return *table;
}

}  // namespace ashlar
