// Constants combined element by element while a model is read: needs of shape arithmetic beyond
// the operators that run. Integers are exact and wrap around.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_

#include <cstdint>

#include "opr/wrapping_int.h"
#include "serialization/onnx/node.h"

namespace ashlar {

// Input 1 of an operator of two, which broadcasts to input 0. Below operator set 7 only where
// `broadcast` is 1, and then from `axis` on.
OnnxVar OnnxSecondOperand(OnnxNode& node);

// Whether the one element of a constant is the same number as a double.
bool IsExactAsDouble(const HostTensor& scalar);

// The result of `function` on two constants that broadcast to each other. The dtype is that of `a`.
OnnxVar OnnxOfIntegers(OnnxNode& node, OnnxVar a, OnnxVar b,
                       WrappingInt (*function)(WrappingInt a, WrappingInt b));
// Of Bool; `integers` where the dtype is no float.
OnnxVar OnnxCompared(OnnxNode& node, OnnxVar a, OnnxVar b, bool (*integers)(int64_t a, int64_t b),
                     bool (*numbers)(double a, double b));

// Copies whole elements: to[i] = from[j].
void CopyElement(const HostTensor& from, int64_t j, HostTensor& to, int64_t i);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_
