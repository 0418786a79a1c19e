#include "runtime/mcu/kernels.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ashlar::mcu {
namespace {

KernelFactory WithSizesChecked(KernelFactory factory) {
  return
      [factory = std::move(factory)](const KernelRequest& request) -> absl::StatusOr<KernelList> {
        for (const std::vector<TensorType>* types : {&request.inputs, &request.outputs}) {
          for (const TensorType& type : *types) {
            if (type.bytes() <= std::numeric_limits<int32_t>::max()) continue;
            return absl::UnimplementedError(absl::StrCat(type.ToString(), " has ", type.bytes(),
                                                         " bytes, more than 32 bits count"));
          }
        }
        return factory(request);
      };
}

}  // namespace

void RegisterKernels(KernelRegistry& registry) {
#define ASHLAR_FAMILY(Name) Register##Name##Kernels(registry);
  ASHLAR_MCU_FAMILIES(ASHLAR_FAMILY)
#undef ASHLAR_FAMILY
  registry.ChangeEach(WithSizesChecked);
}

}  // namespace ashlar::mcu
