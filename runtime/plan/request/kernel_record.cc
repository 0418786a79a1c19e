#include "runtime/plan/request/kernel_record.h"

namespace ashlar {

absl::string_view FamilyOf(absl::string_view implementation) {
  return implementation.substr(0, implementation.find('/'));
}

int KernelRecord::Preference(const std::string& key, int threads,
                             absl::string_view implementation) const {
  const auto choice = choices.find(key);
  if (choice == choices.end() || FamilyOf(implementation) != choice->second.family) return 0;
  const auto variant = choice->second.variants.find(threads);
  const bool same = variant != choice->second.variants.end() && variant->second == implementation;
  return same ? 2 : 1;
}

}  // namespace ashlar
