// Random weights for a graph that came without weights.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_SEEDED_WEIGHTS_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_SEEDED_WEIGHTS_H_

#include <cstdint>

#include "graph/tensor.h"

namespace ashlar {

// The operator that reads the output of the weight's reader.
enum class WeightUse {
  kPlain,     // an activation
  kResidual,  // an addition to another branch, several of which follow each other
};

// Returns Float32 values that keep activations near variance 1 at any depth, or zeros for other
// dtypes. A tensor of rank 2 or more with several rows holds filters [outputs, ...], or [groups,
// outputs, ...] at rank 5. Their values are normal, with sum 0 per filter and a norm that
// compensates the variance lost in ReLU (He et al. 2015, "Delving Deep into Rectifiers"). Other
// tensors are biases: normal with deviation 0.1.
HostTensor SeededWeight(DType dtype, const Shape& shape, WeightUse use, uint64_t seed);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_SEEDED_WEIGHTS_H_
