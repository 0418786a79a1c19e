// Matrix products of any dtype.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_PRODUCTS_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_PRODUCTS_H_

#include "serialization/onnx/import/node.h"

namespace ashlar {

// Returns the products of matrices {..., M, K} and {..., K, N}, each transposed before if asked, of
// ranks from 2; the dimensions before broadcast. Integers wrap around: they are multiplied element
// by element, in a tensor {..., M, K, N}, and summed.
OnnxVar MatrixProduct(OnnxNode& node, OnnxVar a, OnnxVar b, bool transpose_a, bool transpose_b);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_PRODUCTS_H_
