#include "runtime/plan/stages/shared_pool.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/region.h"
#include "opr/table.h"

namespace ashlar {

void SharedPool::Add(const WeightsUser& user) {
  std::vector<int> held;  // constants that another plan has
  for (WeightEntry& entry : user.plan->entries) {
    if (entry.packed != nullptr) continue;
    const HostTensor& own = ValueOf(*user.graph, entry);
    const absl::string_view bytes(static_cast<const char*>(own.raw()),
                                  static_cast<size_t>(own.bytes()));
    const std::string type = user.graph->var(entry.var).type.ToString();
    const auto [value, is_new_value] = values_[type].try_emplace(bytes, own);
    const void* const equal = value->second.raw();
    if (!is_new_value && equal != own.raw()) {
      entry.equal = value->second;
      if (!user.graph->HasHostReader(entry.var)) held.push_back(entry.var);
    }
    const auto [place, is_new] =
        places_.try_emplace({absl::StrCat(type, " ", entry.key, " ", entry.bytes), equal}, 0);
    if (is_new) {
      place->second = RoundUp(bytes_, alignment_);
      bytes_ = place->second + entry.bytes;
    }
    entry.offset = place->second;
    entry.elsewhere = !is_new;
  }
  if (!held.empty()) *user.graph = user.graph->WithoutConstantData(held, Operators());
}

void ShareWeights(absl::Span<const WeightsUser> users, int64_t alignment) {
  SharedPool pool(alignment);
  for (const WeightsUser& user : users) pool.Add(user);
  for (const WeightsUser& user : users) user.plan->bytes = pool.bytes();
}

}  // namespace ashlar
