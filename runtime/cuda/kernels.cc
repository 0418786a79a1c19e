#include "runtime/cuda/kernels.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ashlar::cuda {

const std::vector<DType> kComputed = [] {
  std::vector<DType> dtypes = kFloats;
  dtypes.insert(dtypes.end(), kIntegers.begin(), kIntegers.end());
  dtypes.push_back(DType::kBool);
  return dtypes;
}();

absl::Status CheckComputed(absl::string_view what, DType dtype) {
  if (std::find(kComputed.begin(), kComputed.end(), dtype) != kComputed.end()) {
    return absl::OkStatus();
  }
  const auto append = [](std::string* out, DType each) { absl::StrAppend(out, Name(each)); };
  return absl::UnimplementedError(absl::StrCat(what, " is ", Name(dtype),
                                               "; the kernels of this device compute in ",
                                               absl::StrJoin(kComputed, ", ", append)));
}

void RegisterKernels(KernelRegistry& registry, const LibraryKernels& libraries) {
#define ASHLAR_FAMILY(Name) Register##Name##Kernels(registry, libraries);
  ASHLAR_CUDA_FAMILIES(ASHLAR_FAMILY)
#undef ASHLAR_FAMILY
}

}  // namespace ashlar::cuda
