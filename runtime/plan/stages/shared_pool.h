// One pool for the weights of several plans, which are added one after the other. Constants with
// equal bytes in an equal layout are stored once. Equal constants of the plans share their bytes
// from then on, so that many plans hold the model's weights once before they are packed, too.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_SHARED_POOL_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_SHARED_POOL_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/plan/stages/weights.h"

namespace ashlar {

// A plan whose weights lie in a shared pool.
struct WeightsUser {
  Graph* graph;
  WeightsPlan* plan;
};

class SharedPool {
 public:
  explicit SharedPool(int64_t alignment) : alignment_(alignment) {}
  // Sets the offsets of the plan's entries, except entries in a file; does not change its `bytes`.
  // Removes constants from the graph that another plan has (WeightEntry::equal).
  void Add(const WeightsUser& user);
  int64_t bytes() const { return bytes_; }

 private:
  const int64_t alignment_;
  int64_t bytes_ = 0;
  // By type, then by bytes: these are compared, not copied.
  std::map<std::string, absl::flat_hash_map<absl::string_view, HostTensor>> values_;
  std::map<std::pair<std::string, const void*>, int64_t> places_;  // by layout and value
};

// Merges the weights of plans of one model at several shapes into one pool: constants with equal
// bytes in an equal layout are stored once. Afterwards each plan's offsets and `bytes` refer to
// that pool.
void ShareWeights(absl::Span<const WeightsUser> users, int64_t alignment);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_SHARED_POOL_H_
