#include "tests/emulated_gpu/cudnn_descriptors.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "tests/emulated_gpu/cudnn_attributes.h"
#include "tests/emulated_gpu/device_memory.h"
#include "tests/emulated_gpu/runtime.h"

namespace ashlar::emulated {
namespace {

struct Handle {
  cudaStream_t stream = nullptr;
  Counted counted{"cuDNN handles"};
};

std::map<cudnnBackendDescriptor_t, std::unique_ptr<BackendDescriptor>> descriptors;
std::map<cudnnHandle_t, std::unique_ptr<Handle>> handles;

std::string NameOf(int name) { return "attribute " + std::to_string(name); }

bool IsOperation(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
}

cudnnStatus_t Refuse(const Call& call, cudnnStatus_t status, const std::string& what) {
  call.Misuse(what);
  return status;
}

// Checks whether an attribute may refer to these descriptors.
cudnnStatus_t CheckReferences(const Call& call, const AttributeRule& rule, int64_t count,
                              const void* values) {
  for (int64_t i = 0; i < count; ++i) {
    const cudnnBackendDescriptor_t referred =
        static_cast<const cudnnBackendDescriptor_t*>(values)[i];
    const BackendDescriptor* const one = DescriptorAt(call, referred);
    if (one == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (rule.referred == -1 ? !IsOperation(one->type) : one->type != rule.referred) {
      return Refuse(call, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                    NameOf(rule.name) + " refers to a descriptor of another type");
    }
    if (!one->finalized) {
      return Refuse(call, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                    NameOf(rule.name) + " refers to a descriptor that is not finalized");
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t CheckRequired(const Call& call, const BackendDescriptor& descriptor) {
  for (const AttributeRule& rule : AllRules()) {
    if (rule.descriptor != descriptor.type || rule.access != Access::kRequired) continue;
    if (!descriptor.Has(rule.name)) {
      return Refuse(call, CUDNN_STATUS_BAD_PARAM, NameOf(rule.name) + " was not set");
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

// By descriptor type: the function that checks and completes a descriptor beyond its attributes.
constexpr struct {
  cudnnBackendDescriptorType_t type;
  cudnnStatus_t (*finalize)(const Call&, BackendDescriptor&);
} kFinalizers[] = {
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR, FinalizeTensor},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, FinalizeConvolution},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, FinalizeOperationGraph},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, FinalizeHeuristics},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, FinalizePlan},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, FinalizeVariantPack},
};

cudnnStatus_t FinalizeType(const Call& call, BackendDescriptor& descriptor) {
  for (const auto& row : kFinalizers) {
    if (row.type == descriptor.type) return row.finalize(call, descriptor);
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

double BackendDescriptor::Real(cudnnBackendAttributeName_t name, double otherwise) const {
  const auto it = values.find(name);
  if (it == values.end()) return otherwise;
  return it->second.type == CUDNN_TYPE_FLOAT ? One<float>(name) : One<double>(name);
}

BackendDescriptor* DescriptorAt(const Call& call, cudnnBackendDescriptor_t descriptor) {
  const auto it = descriptors.find(descriptor);
  if (it != descriptors.end()) return it->second.get();
  call.Misuse("no such descriptor, or it was destroyed");
  return nullptr;
}

BackendDescriptor* DescriptorAt(const Call& call, cudnnBackendDescriptor_t descriptor,
                                cudnnBackendDescriptorType_t type) {
  BackendDescriptor* const one = DescriptorAt(call, descriptor);
  if (one == nullptr || (one->type == type && one->finalized)) return one;
  call.Misuse("a descriptor of another type, or not finalized");
  return nullptr;
}

bool IsWhole(const Call& call, const BackendDescriptor& descriptor) {
  for (const auto& [name, value] : descriptor.values) {
    if (value.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) continue;
    for (int64_t i = 0; i < value.count; ++i) {
      cudnnBackendDescriptor_t referred;
      std::memcpy(&referred, &value.bytes[static_cast<size_t>(i) * sizeof(referred)],
                  sizeof(referred));
      const BackendDescriptor* const one = DescriptorAt(call, referred);
      if (one == nullptr || !IsWhole(call, *one)) return false;
    }
  }
  return true;
}

// Destroys `key` in `of`, if it is `known`.
template <typename Map, typename Key>
cudnnStatus_t Destroyed(const Call& call, bool known, Map& of, Key key) {
  if (!known) return CUDNN_STATUS_BAD_PARAM;
  of.erase(key);
  return call.fails() ? CUDNN_STATUS_INTERNAL_ERROR : CUDNN_STATUS_SUCCESS;
}

cudaStream_t* StreamOf(const Call& call, cudnnHandle_t handle) {
  const auto it = handles.find(handle);
  if (it != handles.end()) return &it->second->stream;
  call.Misuse("no such handle");
  return nullptr;
}

}  // namespace ashlar::emulated

using namespace ashlar::emulated;

size_t cudnnGetVersion() { return CUDNN_VERSION; }
// Some of the library's own messages.
void cudnnGetLastErrorString(char* message, size_t size) {
  std::snprintf(message, size, "%s", "Reason: of the emulation");
}
const char* cudnnGetErrorString(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_INTERNAL_ERROR) return "CUDNN_STATUS_INTERNAL_ERROR";
  return status == CUDNN_STATUS_EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED"
                                                 : "another status of cuDNN";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  const Call call("cudnnCreate");
  if (call.fails() || IsCapturing(call)) return CUDNN_STATUS_INTERNAL_ERROR;
  if (FreeMemory() < kOwnMemory) return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
  auto created = std::make_unique<Handle>();
  *handle = reinterpret_cast<cudnnHandle_t>(created.get());  // an opaque pointer
  handles[*handle] = std::move(created);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  const Call call("cudnnDestroy");
  return Destroyed(call, StreamOf(call, handle) != nullptr, handles, handle);
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  const Call call("cudnnSetStream");
  if (call.fails()) return CUDNN_STATUS_INTERNAL_ERROR;
  cudaStream_t* const place = StreamOf(call, handle);
  if (place == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *place = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* descriptor) {
  const Call call("cudnnBackendCreateDescriptor");
  if (call.fails()) return CUDNN_STATUS_INTERNAL_ERROR;
  const std::vector<AttributeRule>& rules = AllRules();
  if (std::none_of(rules.begin(), rules.end(),
                   [&](const AttributeRule& rule) { return rule.descriptor == type; })) {
    return Refuse(call, CUDNN_STATUS_NOT_SUPPORTED, "a type of descriptor that is not emulated");
  }
  auto created = std::make_unique<BackendDescriptor>(type);
  *descriptor = created.get();
  descriptors[*descriptor] = std::move(created);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  const Call call("cudnnBackendDestroyDescriptor");
  return Destroyed(call, DescriptorAt(call, descriptor) != nullptr, descriptors, descriptor);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* values) {
  const Call call("cudnnBackendSetAttribute");
  if (call.fails()) return CUDNN_STATUS_INTERNAL_ERROR;
  BackendDescriptor* const one = DescriptorAt(call, descriptor);
  if (one == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (one->finalized) return Refuse(call, CUDNN_STATUS_NOT_INITIALIZED, "finalized before");
  const AttributeRule* const rule = FindRule(one->type, name, type);
  if (rule == nullptr || rule->access == Access::kReadOnly) {
    return Refuse(call, CUDNN_STATUS_BAD_PARAM, NameOf(name) + " cannot be set here");
  }
  if (rule->type != type) {
    return Refuse(call, CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, NameOf(name) + " of another type");
  }
  if (count < rule->least || count > rule->most || (count > 0 && values == nullptr)) {
    return Refuse(call, CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND,
                  NameOf(name) + " with " + std::to_string(count) + " elements");
  }
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const cudnnStatus_t status = CheckReferences(call, *rule, count, values);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  if (type == CUDNN_TYPE_HANDLE &&
      StreamOf(call, *static_cast<const cudnnHandle_t*>(values)) == nullptr) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  const char* const bytes = static_cast<const char*>(values);
  one->values[name] = {type, count, {bytes, bytes + static_cast<size_t>(count) * BytesOf(type)}};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t requested,
                                       int64_t* count, void* values) {
  const Call call("cudnnBackendGetAttribute");
  if (call.fails()) return CUDNN_STATUS_INTERNAL_ERROR;
  const BackendDescriptor* const one = DescriptorAt(call, descriptor);
  if (one == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (!one->finalized) return Refuse(call, CUDNN_STATUS_NOT_INITIALIZED, "not finalized");
  const AttributeRule* const rule = FindRule(one->type, name, type);
  if (rule == nullptr || rule->type != type) {
    return Refuse(call, CUDNN_STATUS_BAD_PARAM, NameOf(name) + " cannot be read here as that");
  }
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    if (!IsWhole(call, *one)) return CUDNN_STATUS_BAD_PARAM;
    const int64_t there = CountDescriptors(*one, name);
    for (int64_t i = 0; i < std::min(requested, there); ++i) {
      BackendDescriptor* const into =
          DescriptorAt(call, static_cast<const cudnnBackendDescriptor_t*>(values)[i]);
      if (into == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
      if (into->type != rule->referred || into->finalized) {
        return Refuse(call, CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
                      NameOf(name) + " into a descriptor of another type, or a finalized one");
      }
      GetDescriptor(*one, name, i, *into);
      into->finalized = true;
    }
    *count = there;
    return CUDNN_STATUS_SUCCESS;
  }
  const auto value = one->values.find(name);
  *count = value == one->values.end() ? 0 : value->second.count;
  const int64_t copied = std::min(requested, *count);
  if (copied > 0) {
    std::memcpy(values, value->second.bytes.data(), static_cast<size_t>(copied) * BytesOf(type));
  }
  return CUDNN_STATUS_SUCCESS;
}

// Returns the handle that finalizing a descriptor uses; null if it uses none.
static cudnnHandle_t HandleOf(cudnnBackendDescriptor_t descriptor) {
  const Call look("(look at a descriptor)");
  const auto it = descriptors.find(descriptor);
  if (it == descriptors.end()) return nullptr;
  for (const auto& [name, value] : it->second->values) {
    if (value.type != CUDNN_TYPE_HANDLE) continue;
    return it->second->One<cudnnHandle_t>(static_cast<cudnnBackendAttributeName_t>(name));
  }
  return nullptr;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  const Exclusive use("cudnnBackendFinalize", HandleOf(descriptor));
  const Call call("cudnnBackendFinalize");
  if (call.fails()) return CUDNN_STATUS_INTERNAL_ERROR;
  BackendDescriptor* const one = DescriptorAt(call, descriptor);
  if (one == nullptr) return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  if (one->finalized) return Refuse(call, CUDNN_STATUS_BAD_PARAM, "finalized before");
  cudnnStatus_t status = CheckRequired(call, *one);
  if (status == CUDNN_STATUS_SUCCESS && !IsWhole(call, *one)) status = CUDNN_STATUS_BAD_PARAM;
  if (status == CUDNN_STATUS_SUCCESS) status = FinalizeType(call, *one);
  one->finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}
