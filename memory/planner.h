// The interface of planners, their list, and the function that plans: instance, bound, planner,
// validator.
#ifndef ASHLAR_MEMORY_PLANNER_H_
#define ASHLAR_MEMORY_PLANNER_H_

#include <climits>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memory/buffer.h"
#include "memory/instance.h"
#include "memory/lower_bound.h"
#include "memory/work.h"

namespace ashlar::memory {

// How far a planner may look for something better. All of it is counted: the plan is the same on
// every machine.
struct SearchLimits {
  int64_t work = 250 * kWorkPerMillisecond;
  // Choices that exact search may try, and placements of dives.
  int64_t nodes = INT64_MAX;
  // Bytes: a plan that fits is good enough. Without it: as few as possible.
  std::optional<int64_t> capacity = std::nullopt;
  // Ends planning with Cancelled, and changes no plan that is returned.
  std::stop_token stop = {};
};

// The result of a planner.
struct Solution {
  std::vector<int64_t> bases;  // Bytes, one for each group of the instance.
  int64_t arena = 0;           // Bytes: the highest end of a group.
  std::string planner;         // Which one found it.
  int64_t proven_bound = 0;    // As in Plan.
  int64_t work = 0;            // Spent on it.
};

// Finds addresses. Stateless; one object serves any number of threads. To use
// one of your own, derive from it and pass it to PlanMemory.
class Planner {
 public:
  virtual ~Planner() = default;

  virtual absl::string_view name() const = 0;
  // One line for help texts.
  virtual absl::string_view description() const = 0;
  // More groups than that would take too long.
  virtual int max_groups() const { return INT_MAX; }
  // Always finds something valid, whether or not it fits the capacity.
  // `lower_bound`: bytes; nothing smaller exists, so a planner may stop there.
  virtual Solution Solve(const Instance& instance, int64_t lower_bound,
                         const SearchLimits& limits) const = 0;
};

// All planners, `auto` first.
const std::vector<std::unique_ptr<const Planner>>& Planners();
// nullptr if there is none of that name.
const Planner* FindPlanner(absl::string_view name);

enum class Proof {
  kNone,           // There may be a smaller plan.
  kOptimal,        // The arena is the lower bound.
  kOptimalSearch,  // A search was exhausted: nothing smaller exists.
};
// For programs: "none", "optimal", "optimal-search".
absl::string_view ProofName(Proof proof);

struct PlanOptions {
  std::string planner = "auto";
  SearchLimits limits;
};

struct PlanResult {
  Plan plan;
  int64_t lower_bound = 0;      // Bytes.
  int64_t bottleneck_step = 0;  // A step that needs as much.
  BoundKind bound_kind = BoundKind::kLiveness;
  Proof proof = Proof::kNone;
  int64_t work = 0;      // Spent by the planner.
  double search_ms = 0;  // The planner alone.
  double total_ms = 0;   // With bound and validation.
};

// The proof status for people: "optimal (meets the liveness bound)", or the alignment bound, or a
// fixed offset; "optimal (search exhausted)"; "gap 0.18 %", over the larger of the lower bound and
// what a search excluded.
std::string ProofText(const PlanResult& result);

// Plans, and then checks the plan with the independent validator, always.
// InvalidArgument: unknown planner, or a problem that contradicts itself.
// FailedPrecondition: too many groups for this planner.
// Cancelled: a stop was requested.
// Internal: the plan did not pass; the message names the buffers.
absl::StatusOr<PlanResult> PlanMemory(const Problem& problem, const PlanOptions& options = {});
absl::StatusOr<PlanResult> PlanMemory(const Problem& problem, const Planner& planner,
                                      const SearchLimits& limits);

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PLANNER_H_
