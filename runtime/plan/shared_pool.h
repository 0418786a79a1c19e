// One pool for the weights of several plans, which are added one after the other: constants of
// equal bytes in an equal layout get one place.
#ifndef ASHLAR_RUNTIME_PLAN_SHARED_POOL_H_
#define ASHLAR_RUNTIME_PLAN_SHARED_POOL_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "runtime/plan/weights.h"

namespace ashlar {

// Constants of plans that were added must stay where they are.
class SharedPool {
 public:
  explicit SharedPool(int64_t alignment) : alignment_(alignment) {}
  // Gives the plan's entries their places, but for those that lie in a file; its `bytes` stay what
  // they are.
  void Add(const WeightsUser& user);
  int64_t bytes() const { return bytes_; }

 private:
  const int64_t alignment_;
  int64_t bytes_ = 0;
  // Shape and layout, then the bytes: these are compared, and not kept twice.
  std::map<std::string, absl::flat_hash_map<absl::string_view, int64_t>> places_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_SHARED_POOL_H_
