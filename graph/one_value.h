// Tensors whose elements are all equal.
#ifndef ASHLAR_GRAPH_ONE_VALUE_H_
#define ASHLAR_GRAPH_ONE_VALUE_H_

#include "graph/tensor.h"

namespace ashlar {

// Returns whether all elements have the same bits, as the zeros and ones that layers begin with.
// True for a tensor of one element, false without elements or data.
bool HasOneValue(const HostTensor& tensor);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_ONE_VALUE_H_
