// Weights for a graph that came without them.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_SEEDED_WEIGHTS_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_SEEDED_WEIGHTS_H_

#include <cstdint>

#include "graph/tensor.h"

namespace ashlar {

// The reader of the output of the operator that reads the weight.
enum class WeightUse {
  kPlain,     // an activation
  kResidual,  // an addition to another branch: several of them follow each other
};

// Float32 values that keep activations near variance 1 through any depth; zeros for other dtypes.
// A tensor of rank 2 or more with several rows holds filters [outputs, ...], a rank 5 one
// [groups, outputs, ...]: normal numbers with sum 0 in each filter, and a norm that undoes what
// ReLU takes of the variance (He et al. 2015, "Delving Deep into Rectifiers"). Anything else is a
// bias: normal, deviation 0.1.
HostTensor SeededWeight(DType dtype, const Shape& shape, WeightUse use, uint64_t seed);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_SEEDED_WEIGHTS_H_
