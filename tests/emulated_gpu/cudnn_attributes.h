// The attributes of the descriptors of cuDNN's backend, from its documentation. Covers only
// convolutions and pointwise operations.
#ifndef ASHLAR_TESTS_EMULATED_GPU_CUDNN_ATTRIBUTES_H_
#define ASHLAR_TESTS_EMULATED_GPU_CUDNN_ATTRIBUTES_H_

#include <cudnn.h>

#include <cstdint>
#include <vector>

namespace ashlar::emulated {

enum class Access { kRequired, kOptional, kReadOnly };

struct AttributeRule {
  cudnnBackendDescriptorType_t descriptor;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t least, most;  // elements
  Access access;
  // The type of attributes that are descriptors; -1: operations.
  int referred = -1;
};

// Returns null if there is no such attribute. If two types have rules, returns the one for `type`.
const AttributeRule* FindRule(cudnnBackendDescriptorType_t descriptor,
                              cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type);
const std::vector<AttributeRule>& AllRules();
size_t BytesOf(cudnnBackendAttributeType_t type);

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_CUDNN_ATTRIBUTES_H_
