// Float32 numbers of mean 0 and variance 1, which look like normalised images to a network.
#ifndef ASHLAR_TESTS_SUPPORT_NORMAL_TENSOR_H_
#define ASHLAR_TESTS_SUPPORT_NORMAL_TENSOR_H_

#include "graph/random.h"
#include "graph/tensor.h"

namespace ashlar::testing {

inline HostTensor NormalTensor(Random& random, const Shape& shape) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, shape);
  for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(random.Normal());
  return tensor;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_NORMAL_TENSOR_H_
