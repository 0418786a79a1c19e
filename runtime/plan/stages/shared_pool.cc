#include "runtime/plan/stages/shared_pool.h"

#include "absl/strings/str_cat.h"
#include "graph/region.h"

namespace ashlar {

void SharedPool::Add(const WeightsUser& user) {
  for (WeightEntry& entry : user.plan->entries) {
    if (entry.packed != nullptr) continue;
    const HostTensor& value = *user.graph->constant(entry.var);
    const absl::string_view bytes(static_cast<const char*>(value.raw()),
                                  static_cast<size_t>(value.bytes()));
    auto& same = places_[absl::StrCat(user.graph->var(entry.var).type.ToString(), " ", entry.key,
                                      " ", entry.bytes)];
    const auto [place, is_new] = same.try_emplace(bytes, 0);
    if (is_new) {
      place->second = RoundUp(bytes_, alignment_);
      bytes_ = place->second + entry.bytes;
    }
    entry.offset = place->second;
    entry.elsewhere = !is_new;
  }
}

void ShareWeights(absl::Span<const WeightsUser> users, int64_t alignment) {
  SharedPool pool(alignment);
  for (const WeightsUser& user : users) pool.Add(user);
  for (const WeightsUser& user : users) user.plan->bytes = pool.bytes();
}

}  // namespace ashlar
