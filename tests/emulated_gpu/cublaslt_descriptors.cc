#include "tests/emulated_gpu/cublaslt_descriptors.h"

#include <memory>
#include <string>

#include "tests/emulated_gpu/runtime.h"

namespace ashlar::emulated {
namespace {

struct Object {
  explicit Object(const char* kind) : counted(kind) {}
  Attributes attributes;
  Counted counted;
};

std::map<void*, std::unique_ptr<Object>> layouts, operations, preferences, handles;
using Objects = std::map<void*, std::unique_ptr<Object>>;

// Handles of the library are opaque pointers: here they point at the object.
template <typename Handle>
Attributes& Create(Objects& objects, const char* kind, Handle* handle) {
  auto object = std::make_unique<Object>(kind);
  *handle = reinterpret_cast<Handle>(object.get());
  Attributes& attributes = object->attributes;
  objects[*handle] = std::move(object);
  return attributes;
}

Attributes* Find(const Call& call, const Objects& objects, void* handle, const char* kind) {
  const auto it = objects.find(handle);
  if (it != objects.end()) return &it->second->attributes;
  call.Misuse(std::string("no such ") + kind);
  return nullptr;
}

cublasStatus_t Set(const Call& call, const Objects& objects, void* handle, const char* kind,
                   int name, const void* data, size_t size) {
  if (call.fails()) return CUBLAS_STATUS_INTERNAL_ERROR;
  Attributes* const attributes = Find(call, objects, handle, kind);
  return attributes == nullptr ? CUBLAS_STATUS_INVALID_VALUE
                               : attributes->Set(call, name, data, size);
}

cublasStatus_t Destroy(const Call& call, Objects& objects, void* handle, const char* kind) {
  if (objects.erase(handle) == 0) {
    call.Misuse(std::string("no such ") + kind);
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return call.fails() ? CUBLAS_STATUS_INTERNAL_ERROR : CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t Attributes::Set(const Call& call, int name, const void* data, size_t size) {
  const auto it = values_.find(name);
  if (it == values_.end() || data == nullptr || size != it->second.size()) {
    call.Misuse("attribute " + std::to_string(name) + " with " + std::to_string(size) + " bytes");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(it->second.data(), data, size);
  return CUBLAS_STATUS_SUCCESS;
}

const Attributes* LayoutOf(const Call& call, cublasLtMatrixLayout_t layout) {
  return Find(call, layouts, layout, "layout");
}
const Attributes* OperationOf(const Call& call, cublasLtMatmulDesc_t operation) {
  return Find(call, operations, operation, "operation");
}
const Attributes* PreferenceOf(const Call& call, cublasLtMatmulPreference_t preference) {
  return Find(call, preferences, preference, "preference");
}
bool IsCublasHandle(const Call& call, cublasLtHandle_t handle) {
  return Find(call, handles, handle, "handle") != nullptr;
}

}  // namespace ashlar::emulated

using namespace ashlar::emulated;

size_t cublasLtGetVersion() { return 130000; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_INTERNAL_ERROR ? "an internal error of cuBLASLt"
                                                : "another error of cuBLASLt";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  const Call call("cublasLtCreate");
  if (call.fails() || IsCapturing(call)) return CUBLAS_STATUS_INTERNAL_ERROR;
  Create(handles, "cuBLASLt handles", handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return Destroy(Call("cublasLtDestroy"), handles, handle, "handle");
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  const Call call("cublasLtMatrixLayoutCreate");
  if (call.fails()) return CUBLAS_STATUS_INTERNAL_ERROR;
  if (leading < static_cast<int64_t>(rows)) call.Misuse("columns overlap");
  Attributes& attributes = Create(layouts, "cuBLASLt layouts", layout);
  attributes.Define(CUBLASLT_MATRIX_LAYOUT_TYPE, static_cast<uint32_t>(type));
  attributes.Define(CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_COL});
  attributes.Define(CUBLASLT_MATRIX_LAYOUT_ROWS, rows);
  attributes.Define(CUBLASLT_MATRIX_LAYOUT_COLS, columns);
  attributes.Define(CUBLASLT_MATRIX_LAYOUT_LD, leading);
  attributes.Define(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t{1});
  attributes.Define(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{0});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t name,
                                                const void* data, size_t size) {
  return Set(Call("cublasLtMatrixLayoutSetAttribute"), layouts, layout, "layout", name, data, size);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return Destroy(Call("cublasLtMatrixLayoutDestroy"), layouts, layout, "layout");
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  const Call call("cublasLtMatmulDescCreate");
  if (call.fails()) return CUBLAS_STATUS_INTERNAL_ERROR;
  Attributes& attributes = Create(operations, "cuBLASLt operations", operation);
  attributes.Define(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, static_cast<int32_t>(compute));
  attributes.Define(CUBLASLT_MATMUL_DESC_SCALE_TYPE, static_cast<int32_t>(scale));
  attributes.Define(CUBLASLT_MATMUL_DESC_POINTER_MODE, int32_t{CUBLASLT_POINTER_MODE_HOST});
  attributes.Define(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_N});
  attributes.Define(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{CUBLAS_OP_N});
  attributes.Define(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t{CUBLASLT_EPILOGUE_DEFAULT});
  attributes.Define(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(nullptr));
  attributes.Define(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, int64_t{0});
  attributes.Define(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, int32_t{-1});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t name, const void* data,
                                              size_t size) {
  return Set(Call("cublasLtMatmulDescSetAttribute"), operations, operation, "operation", name, data,
             size);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  return Destroy(Call("cublasLtMatmulDescDestroy"), operations, operation, "operation");
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  const Call call("cublasLtMatmulPreferenceCreate");
  if (call.fails()) return CUBLAS_STATUS_INTERNAL_ERROR;
  Attributes& attributes = Create(preferences, "cuBLASLt preferences", preference);
  attributes.Define(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{0});
  attributes.Define(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                    uint32_t{CUBLASLT_REDUCTION_SCHEME_MASK});
  for (const int name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    attributes.Define(name, uint32_t{256});
  }
  attributes.Define(CUBLASLT_MATMUL_PREF_IMPL_MASK, ~uint64_t{0});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t name,
                                                    const void* data, size_t size) {
  return Set(Call("cublasLtMatmulPreferenceSetAttribute"), preferences, preference, "preference",
             name, data, size);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return Destroy(Call("cublasLtMatmulPreferenceDestroy"), preferences, preference, "preference");
}
