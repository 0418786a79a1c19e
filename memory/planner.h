// The interface of planners, their list, and the function that plans: instance, bound, planner,
// validator.
#ifndef ASHLAR_MEMORY_PLANNER_H_
#define ASHLAR_MEMORY_PLANNER_H_

#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memory/problem/buffer.h"
#include "memory/problem/instance.h"
#include "memory/problem/lower_bound.h"
#include "memory/problem/solution.h"

namespace ashlar::memory {

// Finds addresses. Stateless; any number of threads may use one object. To use a planner of your
// own, derive from this class and pass it to PlanMemory.
class Planner {
 public:
  virtual ~Planner() = default;

  virtual absl::string_view name() const = 0;
  // Returns one line for help texts.
  virtual absl::string_view description() const = 0;
  // Returns the number of groups above which planning takes too long.
  virtual int max_groups() const { return INT_MAX; }
  // Always returns a valid solution, even if it does not fit the capacity. `lower_bound`: bytes;
  // nothing smaller exists, so a planner may stop there.
  virtual Solution Solve(const Instance& instance, int64_t lower_bound,
                         const SearchLimits& limits) const = 0;
};

// Returns all planners, `auto` first.
const std::vector<std::unique_ptr<const Planner>>& Planners();
// Returns nullptr if there is no planner of that name.
const Planner* FindPlanner(absl::string_view name);

enum class Proof {
  kNone,           // a smaller plan may exist
  kOptimal,        // the arena is the lower bound
  kOptimalSearch,  // a search was exhausted: nothing smaller exists
};
// Returns a name for programs: "none", "optimal", "optimal-search".
absl::string_view ProofName(Proof proof);

struct PlanOptions {
  std::string planner = "auto";
  SearchLimits limits;
};

struct PlanResult {
  Plan plan;
  int64_t lower_bound = 0;      // bytes
  int64_t bottleneck_step = 0;  // a step that needs as much
  BoundKind bound_kind = BoundKind::kLiveness;
  Proof proof = Proof::kNone;
  int64_t work = 0;      // spent by the planner
  double search_ms = 0;  // the planner only
  double total_ms = 0;   // with bound and validation
};

// Returns the proof status for people: "optimal (meets the liveness bound)", or the alignment
// bound, or a fixed offset; "optimal (search exhausted)"; or "gap 0.18 %". The gap is measured from
// the larger of the lower bound and the bound that a search proved.
std::string ProofText(const PlanResult& result);

// Plans, then always checks the plan with the independent validator.
//
// InvalidArgument: unknown planner, or a problem that contradicts itself.
// FailedPrecondition: too many groups for this planner.
// Cancelled: a stop was requested.
// Internal: the plan is invalid; the message names the buffers.
absl::StatusOr<PlanResult> PlanMemory(const Problem& problem, const PlanOptions& options = {});
absl::StatusOr<PlanResult> PlanMemory(const Problem& problem, const Planner& planner,
                                      const SearchLimits& limits);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PLANNER_H_
