// Quantised tensors of ONNX: scales and zero points, and what of a model's floats is integers.
//
// A model of QuantizeLinear and DequantizeLinear means integer arithmetic by what stands between
// them. DequantizeLinear notes for its result the integers that it is made of (OnnxQuantity);
// convolutions, products, sums and clamps of such vars note theirs, and QuantizeLinear rounds these
// instead of the floats, which then nobody reads.
#ifndef ASHLAR_SERIALIZATION_ONNX_QUANTITIES_H_
#define ASHLAR_SERIALIZATION_ONNX_QUANTITIES_H_

#include "serialization/onnx/import_table.h"
#include "serialization/onnx/integer_sums.h"

namespace ashlar {

// A scale and a zero point (kNoOnnxVar: 0), one for the whole tensor, one for each element of
// `axis`, or one for each block of `block_size` elements along it.
struct OnnxQuantization {
  OnnxVar scale = kNoOnnxVar, zero = kNoOnnxVar;
  int axis = 0;
  int64_t block_size = 0;
};

// Of inputs `scale` and `zero` of the node, -1 where it has no such input, for a tensor of this
// shape. Errors name the input: scales that are known are finite and positive, and there are as
// many as the axis has elements. A `broadcast` one may have any shape that broadcasts to the
// tensor.
OnnxQuantization QuantizationOf(OnnxNode& node, int scale, int zero, const Shape& shape, int axis,
                                int64_t block_size = 0, bool broadcast = false);

// Scales or zero points so that they broadcast to the tensor.
OnnxVar Spread(OnnxNode& node, const OnnxQuantization& quantization, OnnxVar values,
               const Shape& shape);

// Whether a zero point is not there, or known to be 0.
bool IsCentred(OnnxNode& node, OnnxVar zero);

// The stored integers less their zero point.
OnnxIntegers Centred(OnnxNode& node, OnnxVar stored, const OnnxQuantization& quantization);

// The form of quantised values: rounded to even, moved by the zero point (kNoOnnxVar: 0, else of
// `dtype`) and saturated. Both broadcast to the values.
struct OnnxQuantized {
  OnnxVar scale = kNoOnnxVar, zero = kNoOnnxVar;
  DType dtype = DType::kUint8;
};
OnnxVar Quantized(OnnxNode& node, OnnxVar values, const OnnxQuantized& to);
// Of sums the integers are multiplied by one factor, the quotient of the scales.
OnnxVar Requantized(OnnxNode& node, const OnnxQuantity& sums, const OnnxQuantized& to);

// Operators of 8 bits (integer_operators.cc).

// A var of integers as one of a quantised type; kNoOnnxVar where scale and zero point are not one
// known number each, or the integers are known themselves.
OnnxVar AsQuantized(OnnxNode& node, OnnxVar stored, const OnnxQuantization& quantization);
// The quantised type of 8 bits with this scale and zero point; nullopt where they are not one known
// number each.
std::optional<TensorType> QuantizedTypeOf(OnnxNode& node, const OnnxQuantized& to,
                                          const Shape& shape);
// The convolution that sums the products: `linear` is one of Float32 integers, `weights` are known
// integers, `bias` is null or one of Int32. Empty where they are not of 8 bits, or it is none.
OnnxIntegerOperator IntegerConvolution(OnnxNode& node, OnnxVar linear, const OnnxQuantity& x,
                                       const OnnxQuantity& weights, const HostTensor* bias);
// The same for a product with a matrix, of which axis `channels` is that of the result.
OnnxIntegerOperator IntegerProduct(OnnxNode& node, const OnnxQuantity& x,
                                   const OnnxQuantity& weights, int channels,
                                   const HostTensor* bias);
// The mean over the pixels of an image; empty where `x` is none.
OnnxIntegerOperator IntegerMean(OnnxNode& node, const OnnxQuantity& x);
// What made the var out of quantised ones, as an operator of 8 bits; empty where there is none.
OnnxIntegerOperator IntegerOperator(const OnnxNode& node, OnnxVar result);
// What the operator makes, clamped as the quantity says, in this type; kNoOnnxVar where it cannot.
OnnxVar MadeInIntegers(OnnxNode& node, const OnnxQuantity& quantity, const TensorType& type);

// The convolution or product that a node is, named as in the table, of other operands.
OnnxVar LinearAs(OnnxNode& node, const char* type, OnnxVar x, OnnxVar weights);

// After `run` has made `result` of the node: notes what of it is integers.
void NoteQuantity(const OnnxNode& node, OnnxImportFunction run, OnnxVar result);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_QUANTITIES_H_
