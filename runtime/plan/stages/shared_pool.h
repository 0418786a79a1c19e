// One pool for the weights of several plans, which are added one after the other. Constants with
// equal bytes in an equal layout are stored once.
#ifndef ASHLAR_RUNTIME_PLAN_STAGES_SHARED_POOL_H_
#define ASHLAR_RUNTIME_PLAN_STAGES_SHARED_POOL_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/plan/stages/weights.h"

namespace ashlar {

// A plan whose weights lie in a shared pool.
struct WeightsUser {
  const Graph* graph;
  WeightsPlan* plan;
};

// A pool of weights. Constants of added plans must not move.
class SharedPool {
 public:
  explicit SharedPool(int64_t alignment) : alignment_(alignment) {}
  // Sets the offsets of the plan's entries, except entries in a file; does not change its `bytes`.
  void Add(const WeightsUser& user);
  int64_t bytes() const { return bytes_; }

 private:
  const int64_t alignment_;
  int64_t bytes_ = 0;
  // By shape and layout, then by bytes: these are compared, not copied.
  std::map<std::string, absl::flat_hash_map<absl::string_view, int64_t>> places_;
};

// Merges the weights of plans of one model at several shapes into one pool: constants with equal
// bytes in an equal layout are stored once. Afterwards each plan's offsets and `bytes` refer to
// that pool.
void ShareWeights(absl::Span<const WeightsUser> users, int64_t alignment);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_STAGES_SHARED_POOL_H_
