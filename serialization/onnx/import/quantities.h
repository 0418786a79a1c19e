// Quantised tensors of ONNX: scales and zero points, and the integers from which a model's floats
// are computed.
//
// A model with QuantizeLinear and DequantizeLinear expresses integer arithmetic in floats.
// DequantizeLinear records the integers of its result (OnnxQuantity). Convolutions, products, sums
// and clamps of such vars record theirs. QuantizeLinear then rounds these integers instead of the
// floats, which lose their readers.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_QUANTITIES_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_QUANTITIES_H_

#include "serialization/onnx/import/integer_sums.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {

// A scale and a zero point (kNoOnnxVar: 0), one for the whole tensor, one for each element of
// `axis`, or one for each block of `block_size` elements along it.
struct OnnxQuantization {
  OnnxVar scale = kNoOnnxVar, zero = kNoOnnxVar;
  int axis = 0;
  int64_t block_size = 0;
};

// Reads inputs `scale` and `zero` of the node (-1: absent), for a tensor of this shape. Known
// scales must be finite and positive, and there must be as many as the axis has elements. With
// `broadcast`, the shape may be any that broadcasts to the tensor. Errors name the input.
OnnxQuantization QuantizationOf(OnnxNode& node, int scale, int zero, const Shape& shape, int axis,
                                int64_t block_size = 0, bool broadcast = false);

// Reshapes scales or zero points so that they broadcast to the tensor.
OnnxVar Spread(OnnxNode& node, const OnnxQuantization& quantization, OnnxVar values,
               const Shape& shape);

// Whether a zero point is absent, or known to be 0.
bool IsCentred(OnnxNode& node, OnnxVar zero);

// Returns the stored integers minus their zero point.
OnnxIntegers Centred(OnnxNode& node, OnnxVar stored, const OnnxQuantization& quantization);

// The target of quantisation: values are rounded to even, shifted by the zero point (of `dtype`;
// kNoOnnxVar: 0) and saturated. Scale and zero point broadcast to the values.
struct OnnxQuantized {
  OnnxVar scale = kNoOnnxVar, zero = kNoOnnxVar;
  DType dtype = DType::kUint8;
};
OnnxVar Quantized(OnnxNode& node, OnnxVar values, const OnnxQuantized& to);
// Requantises sums: multiplies their integers by one factor, the quotient of the scales.
OnnxVar Requantized(OnnxNode& node, const OnnxQuantity& sums, const OnnxQuantized& to);

// 8-bit operators (integer_operators.cc).

// Returns an integer var as one of a quantised type. Returns kNoOnnxVar if scale or zero point is
// not one known number, or if the integers are constant.
OnnxVar AsQuantized(OnnxNode& node, OnnxVar stored, const OnnxQuantization& quantization);
// Returns the quantised 8-bit type with this scale and zero point; nullopt if either is not one
// known number.
std::optional<TensorType> QuantizedTypeOf(OnnxNode& node, const OnnxQuantized& to,
                                          const Shape& shape);
// Returns the convolution that sums the products. `linear` is the convolution of Float32 integers,
// `weights` are constant integers, `bias` is null or Int32. Empty if they do not have 8 bits, or if
// `linear` is not a convolution.
OnnxIntegerOperator IntegerConvolution(OnnxNode& node, OnnxVar linear, const OnnxQuantity& x,
                                       const OnnxQuantity& weights, const HostTensor* bias);
// The same for a matrix product, in which axis `channels` of the weights is the axis of the result.
OnnxIntegerOperator IntegerProduct(OnnxNode& node, const OnnxQuantity& x,
                                   const OnnxQuantity& weights, int channels,
                                   const HostTensor* bias);
// Returns the mean over the pixels of an image; empty if `x` is not an image.
OnnxIntegerOperator IntegerMean(OnnxNode& node, const OnnxQuantity& x);
// Returns the 8-bit operator that computes the var from quantised ones; empty if there is none.
OnnxIntegerOperator IntegerOperator(const OnnxNode& node, OnnxVar result);
// Returns the operator's output in this type, clamped as the quantity says; kNoOnnxVar if it
// cannot.
OnnxVar MadeInIntegers(OnnxNode& node, const OnnxQuantity& quantity, const TensorType& type);

// Adds the node's convolution or product, named as in the table, with other operands.
OnnxVar LinearAs(OnnxNode& node, const char* type, OnnxVar x, OnnxVar weights);

// Records the integers of `results`, at least one, after `run` has computed them from the node.
void NoteQuantities(const OnnxNode& node, OnnxImportFunction run,
                    absl::Span<const OnnxVar> results);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_QUANTITIES_H_
