// Combines constants element by element while a model is read. Shape arithmetic needs this for
// functions that no operator computes. Integers are exact and wrap around.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_

#include <cstdint>

#include "opr/base/wrapping_int.h"
#include "serialization/onnx/import/node.h"

namespace ashlar {

// Returns input 1 of a binary operator, which broadcasts to input 0. Below operator set 7 it
// broadcasts only if `broadcast` is 1, and then from `axis` on.
OnnxVar OnnxSecondOperand(OnnxNode& node);

// Whether converting the constant's only element to double is exact.
bool IsExactAsDouble(const HostTensor& scalar);

// Returns a Bool comparison; uses `integers` if the dtype is not a float.
OnnxVar OnnxCompared(OnnxNode& node, OnnxVar a, OnnxVar b, bool (*integers)(int64_t a, int64_t b),
                     bool (*numbers)(double a, double b));

// Returns the dtype that the attribute `dtype` asks for; `fallback` if it is absent.
DType OnnxDTypeOr(OnnxNode& node, DType fallback);

// Copies one element: to[i] = from[j].
void CopyElement(const HostTensor& from, int64_t j, HostTensor& to, int64_t i);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_
