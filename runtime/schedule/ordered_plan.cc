#include "runtime/schedule/ordered_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/status.h"
#include "memory/problem/lower_bound.h"
#include "runtime/schedule/arena.h"

namespace ashlar {
namespace {

// Number of orders that are computed from the waste of the previous plan.
constexpr int kFeedbackRounds = 2;
// A first look has one part in this many of the work. Problems with more buffers have none: a
// single dive takes longer.
constexpr int64_t kLooks = 32;
constexpr size_t kFewBuffers = 3000;
// Shares of the remaining work: usually, and if placements that wait hardly pay. They do not if, in
// problems of so few buffers, the looks without them needed at most so many times the bytes.
constexpr int64_t kHalf = 2;
constexpr int64_t kForWaiting = 16, kWithoutWaiting = 4;
constexpr size_t kVeryFewBuffers = 1600;
constexpr double kHardlyMore = 1.08;

class Attempts {
 public:
  Attempts(const Graph& graph, const StorageModel& model, absl::Span<const int64_t> workspace,
           const OrderedPlanOptions& options)
      : graph_(graph), model_(model), workspace_(workspace), options_(options) {}

  // Plans an order with all placements and overwrites; if that is not enough, with fewer. First
  // looks at each with little work: often one meets the bound at once, and others never do.
  absl::Status Try(Schedule schedule) {
    const Lifetimes all = ComputeLifetimes(graph_, model_, schedule.order, workspace_,
                                           options_.alignment, options_.guard_bytes);
    latest_.schedule = std::move(schedule);
    looks_.clear();
    if (all.problem.buffers.size() <= kFewBuffers) {
      ASHLAR_RETURN_IF_ERROR(TryLifetimes(all, Depth::kLook));
      if (Done()) return absl::OkStatus();
    }
    return TryLifetimes(all, Depth::kSearch);
  }

  bool Done() const {
    return best_.plan.proof == memory::Proof::kOptimal ||
           best_.plan.plan.arena <= options_.planner.limits.capacity.value_or(0);
  }

  // Returns bytes by node: the workspace, plus the waste of the latest plan in the node's step if
  // it exceeds its bound.
  absl::StatusOr<std::vector<int64_t>> WorkspaceAndWaste() const {
    const memory::Problem& problem = latest_.lifetimes.problem;
    const std::vector<int>& order = latest_.schedule.order;
    std::vector<int64_t> top(order.size(), 0);
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const memory::Buffer& b = problem.buffers[i];
      const int64_t end = latest_.plan.plan.offsets[i] + b.size;
      if (end <= latest_.plan.lower_bound) continue;
      for (int64_t step = b.lower; step < b.upper; ++step) top[step] = std::max(top[step], end);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<memory::LiveBytes> profile,
                            memory::LiveProfile(problem));
    std::vector<int64_t> bytes(workspace_.begin(), workspace_.end());
    for (size_t i = 0; i + 1 < profile.size(); ++i) {
      for (int64_t step = profile[i].step; step < profile[i + 1].step; ++step) {
        bytes[order[step]] += std::max<int64_t>(0, top[step] - profile[i].bytes);
      }
    }
    return bytes;
  }

  // Returns whether no smaller plan of the best lifetimes exists, or none is asked for.
  bool Proven() const { return Done() || best_.plan.proof != memory::Proof::kNone; }

  // Plans the best lifetimes by exact search, if it accepts that many groups.
  absl::Status AskExact() {
    latest_ = {};  // frees memory
    memory::PlanOptions planner = options_.planner;
    planner.planner = "exact";
    absl::StatusOr<memory::PlanResult> plan = memory::PlanMemory(best_.lifetimes.problem, planner);
    if (absl::IsFailedPrecondition(plan.status())) return absl::OkStatus();
    ASHLAR_RETURN_IF_ERROR(plan.status());
    if (plan->plan.arena < best_.plan.plan.arena) best_.plan = *std::move(plan);
    return absl::OkStatus();
  }

  OrderedPlan Take() && { return std::move(best_); }

 private:
  enum class Depth { kLook, kSearch };

  absl::Status TryLifetimes(const Lifetimes& all, Depth depth) {
    const bool hardly_pay = depth == Depth::kSearch && WaitingHardlyPays(all);
    latest_.lifetimes = all;
    ASHLAR_RETURN_IF_ERROR(PlanLatest(depth, hardly_pay ? kForWaiting : kHalf));
    const int64_t bound = latest_.plan.lower_bound;
    const size_t relations = all.problem.inside.size();
    for (const bool alike : {false, true}) {
      if (Done()) return absl::OkStatus();
      Lifetimes fewer = WithoutWaitingPlacements(all, bound, alike);
      const size_t left = fewer.problem.inside.size();
      if (left == relations || left == latest_.lifetimes.problem.inside.size()) continue;
      latest_.lifetimes = std::move(fewer);
      ASHLAR_RETURN_IF_ERROR(PlanLatest(depth, hardly_pay ? kWithoutWaiting : kHalf));
    }
    // Waiting storages occur in tilings of many strips, for which little more can be gained.
    const bool waited = latest_.lifetimes.problem.inside.size() < relations;
    if (Done() || (waited && !options_.reorder)) return absl::OkStatus();
    Lifetimes fewer = WithoutNeedlessOverwrites(latest_.lifetimes, bound);
    if (fewer.problem.inside.size() == latest_.lifetimes.problem.inside.size()) {
      return absl::OkStatus();
    }
    latest_.lifetimes = std::move(fewer);
    return PlanLatest(depth, kHalf);
  }

  // Returns whether the looks say so, for plans that may be returned: most of the work is for
  // these.
  bool WaitingHardlyPays(const Lifetimes& all) const {
    return options_.exact_too && !options_.reorder && looks_.size() > 1 &&
           all.problem.buffers.size() <= kVeryFewBuffers &&
           static_cast<double>(looks_[1]) <= kHardlyMore * static_cast<double>(looks_[0]);
  }

  // Plans with a share of the remaining work, or with little.
  absl::Status PlanLatest(Depth depth, int64_t share) {
    memory::PlanOptions planner = options_.planner;
    const int64_t work = planner.limits.work;
    planner.limits.work =
        depth == Depth::kLook ? work / kLooks : std::max<int64_t>(0, (work - spent_) / share);
    ASHLAR_ASSIGN_OR_RETURN(latest_.plan, memory::PlanMemory(latest_.lifetimes.problem, planner));
    if (depth == Depth::kLook) looks_.push_back(latest_.plan.plan.arena);
    if (depth == Depth::kSearch) spent_ += latest_.plan.work;
    if (!planned_ || IsBetter()) best_ = latest_;
    planned_ = true;
    return absl::OkStatus();
  }

  // Returns whether the latest plan is smaller than the best, or proves more of the same lifetimes.
  bool IsBetter() const {
    const memory::Plan &plan = latest_.plan.plan, &best = best_.plan.plan;
    if (plan.arena != best.arena) return plan.arena < best.arena;
    return plan.proven_bound > best.proven_bound &&
           latest_.lifetimes.problem.inside.size() == best_.lifetimes.problem.inside.size();
  }

  const Graph& graph_;
  const StorageModel& model_;
  const absl::Span<const int64_t> workspace_;
  const OrderedPlanOptions& options_;
  int64_t spent_ = 0;           // work of the planner so far
  std::vector<int64_t> looks_;  // arenas of this order by looks, with all placements first
  OrderedPlan latest_, best_;
  bool planned_ = false;
};

}  // namespace

absl::StatusOr<OrderedPlan> PlanInOrder(const Graph& graph, const StorageModel& model,
                                        Schedule schedule, absl::Span<const int64_t> workspace,
                                        const OrderedPlanOptions& options) {
  Attempts attempts(graph, model, workspace, options);
  const int64_t bound = schedule.bound_bytes;
  // Sets the peak and the bound of an order that was computed with other workspaces.
  const auto judge = [&](Schedule other) {
    other.peak_bytes = SimulatePeak(graph, model, other.order, workspace);
    other.bound_bytes = bound;
    other.exact = other.peak_bytes == bound;
    return other;
  };
  ASHLAR_RETURN_IF_ERROR(attempts.Try(std::move(schedule)));
  for (int round = 0; options.reorder && round < kFeedbackRounds && !attempts.Done(); ++round) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int64_t> bytes, attempts.WorkspaceAndWaste());
    ASHLAR_RETURN_IF_ERROR(attempts.Try(judge(ScheduleMemory(graph, model, bytes))));
  }
  if (options.reorder && !attempts.Done()) {
    ASHLAR_RETURN_IF_ERROR(attempts.Try(judge(ScheduleMegEngine(graph, model, workspace))));
  }
  if (options.exact_too && !attempts.Proven()) ASHLAR_RETURN_IF_ERROR(attempts.AskExact());
  return std::move(attempts).Take();
}

}  // namespace ashlar
