#include "runtime/device/kernel.h"

#include <utility>

namespace ashlar {

void KernelRegistry::Register(absl::string_view type, KernelFactory factory) {
  factories_[std::string(type)] = std::move(factory);
}

const KernelFactory* KernelRegistry::Find(absl::string_view type) const {
  const auto it = factories_.find(std::string(type));
  return it == factories_.end() ? nullptr : &it->second;
}

}  // namespace ashlar
