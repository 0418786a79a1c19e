// Constants combined element by element while a model is read: needs of shape arithmetic beyond
// the operators that run. Integers are exact and wrap around.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_

#include <cstdint>

#include "serialization/onnx/node.h"

namespace ashlar {

// Input 1 of an operator of two, which broadcasts to input 0. Below operator set 7 only where
// `broadcast` is 1, and then from `axis` on.
OnnxVar OnnxSecondOperand(OnnxNode& node);

// An element of an integer or Bool tensor, and back: upper bits that the dtype lacks are lost.
int64_t IntegerAt(const HostTensor& tensor, int64_t i);
void SetInteger(HostTensor& tensor, int64_t i, int64_t value);
inline int64_t WrappingNegative(int64_t a) {
  return static_cast<int64_t>(-static_cast<uint64_t>(a));
}

// The result of `function` on two constants that broadcast to each other. The dtype is that of `a`.
OnnxVar OnnxOfIntegers(OnnxNode& node, OnnxVar a, OnnxVar b,
                       int64_t (*function)(int64_t a, int64_t b));
// Of Bool; `integers` where the dtype is no float.
OnnxVar OnnxCompared(OnnxNode& node, OnnxVar a, OnnxVar b, bool (*integers)(int64_t a, int64_t b),
                     bool (*numbers)(double a, double b));
// The integers of a constant in another dtype.
OnnxVar OnnxWrapped(OnnxNode& node, OnnxVar var, DType dtype);

// Copies whole elements: to[i] = from[j].
void CopyElement(const HostTensor& from, int64_t j, HostTensor& to, int64_t i);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_VALUES_H_
