// Descriptors of the emulated cuBLASLt: attributes, with the sizes that its header documents.
#ifndef ASHLAR_TESTS_EMULATED_GPU_CUBLASLT_DESCRIPTORS_H_
#define ASHLAR_TESTS_EMULATED_GPU_CUBLASLT_DESCRIPTORS_H_

#include <cublasLt.h>

#include <cstring>
#include <map>
#include <vector>

#include "tests/emulated_gpu/emulation.h"

namespace ashlar::emulated {

// Attribute values. Each attribute keeps the size of its first value.
class Attributes {
 public:
  template <typename T>
  void Define(int name, T value) {
    const auto* bytes = reinterpret_cast<const char*>(&value);
    values_[name].assign(bytes, bytes + sizeof(T));
  }
  cublasStatus_t Set(const Call& call, int name, const void* data, size_t size);
  template <typename T>
  T Get(int name) const {
    T value;
    std::memcpy(&value, values_.at(name).data(), sizeof(T));
    return value;
  }

 private:
  std::map<int, std::vector<char>> values_;
};

// Returns null, and notes a misuse, if there is no such object.
const Attributes* LayoutOf(const Call& call, cublasLtMatrixLayout_t layout);
const Attributes* OperationOf(const Call& call, cublasLtMatmulDesc_t operation);
const Attributes* PreferenceOf(const Call& call, cublasLtMatmulPreference_t preference);
bool IsCublasHandle(const Call& call, cublasLtHandle_t handle);

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_CUBLASLT_DESCRIPTORS_H_
