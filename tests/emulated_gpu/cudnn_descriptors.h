// Descriptors of the emulated cuDNN backend: typed attributes, set before a descriptor is finalized
// and read after it.
#ifndef ASHLAR_TESTS_EMULATED_GPU_CUDNN_DESCRIPTORS_H_
#define ASHLAR_TESTS_EMULATED_GPU_CUDNN_DESCRIPTORS_H_

#include <cudnn.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/emulated_gpu/emulation.h"

namespace ashlar::emulated {

struct OperationGraph;

struct AttributeValue {
  cudnnBackendAttributeType_t type;
  int64_t count;
  std::vector<char> bytes;
};

struct BackendDescriptor {
  explicit BackendDescriptor(cudnnBackendDescriptorType_t type)
      : type(type),
        // Sessions have variant packs; the other descriptors belong to plans.
        counted(type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR ? "variant packs"
                                                              : "cuDNN descriptors") {}

  const cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<int, AttributeValue> values;
  std::shared_ptr<const OperationGraph> graph;  // of a finalized graph
  int config = -1;                              // of a configuration and its plan
  mutable bool loaded = false;  // of a plan: whether the first execution has loaded its kernels
  Counted counted;

  bool Has(cudnnBackendAttributeName_t name) const { return values.count(name) > 0; }
  template <typename T>
  std::vector<T> All(cudnnBackendAttributeName_t name) const {
    const auto it = values.find(name);
    if (it == values.end()) return {};
    std::vector<T> all(static_cast<size_t>(it->second.count));
    if (!all.empty()) std::memcpy(all.data(), it->second.bytes.data(), all.size() * sizeof(T));
    return all;
  }
  // Returns the first value, or the default if the attribute was not set.
  template <typename T>
  T One(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const auto it = values.find(name);
    if (it == values.end() || it->second.count == 0) return otherwise;
    std::memcpy(&otherwise, it->second.bytes.data(), sizeof(T));
    return otherwise;
  }
  // Returns a number that may be given in single or double precision.
  double Real(cudnnBackendAttributeName_t name, double otherwise) const;
  template <typename T>
  void Put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t kind,
           const std::vector<T>& all) {
    const char* const bytes = reinterpret_cast<const char*>(all.data());
    values[name] = {
        kind, static_cast<int64_t>(all.size()), {bytes, bytes + all.size() * sizeof(T)}};
  }
};

// Returns null, and notes a misuse, if there is no such descriptor, or it has another type.
BackendDescriptor* DescriptorAt(const Call& call, cudnnBackendDescriptor_t descriptor);
BackendDescriptor* DescriptorAt(const Call& call, cudnnBackendDescriptor_t descriptor,
                                cudnnBackendDescriptorType_t type);
// Returns whether all descriptors that this one refers to, directly or not, still exist.
bool IsWhole(const Call& call, const BackendDescriptor& descriptor);

// Returns the place of a handle's stream; null, and notes a misuse, if there is no such handle.
cudaStream_t* StreamOf(const Call& call, cudnnHandle_t handle);

// Finalize descriptors of one type, beyond the steps that all types share.
cudnnStatus_t FinalizeTensor(const Call& call, BackendDescriptor& tensor);
cudnnStatus_t FinalizeConvolution(const Call& call, BackendDescriptor& convolution);
cudnnStatus_t FinalizeOperationGraph(const Call& call, BackendDescriptor& graph);
cudnnStatus_t FinalizeHeuristics(const Call& call, BackendDescriptor& heuristics);
cudnnStatus_t FinalizePlan(const Call& call, BackendDescriptor& plan);
cudnnStatus_t FinalizeVariantPack(const Call& call, BackendDescriptor& pack);

// Fills `into` with the index-th descriptor of the attribute; returns false if there are fewer.
bool GetDescriptor(const BackendDescriptor& descriptor, cudnnBackendAttributeName_t name,
                   int64_t index, BackendDescriptor& into);
int64_t CountDescriptors(const BackendDescriptor& descriptor, cudnnBackendAttributeName_t name);

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_CUDNN_DESCRIPTORS_H_
