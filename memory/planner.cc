#include "memory/planner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "memory/heuristics/online.h"
#include "memory/megengine/megengine_planners.h"
#include "memory/portfolio.h"
#include "memory/problem/fixed_offsets.h"
#include "memory/problem/instance.h"
#include "memory/problem/lower_bound.h"
#include "memory/problem/solution.h"
#include "memory/problem/validator.h"

namespace ashlar::memory {
namespace {

// A few seconds; the time is proportional to groups times pairs that live together.
constexpr int kMaxIntervalMoveGroups = 3000;
// About a second; for each group first fit examines all groups placed before.
constexpr int kMaxFirstFitGroups = 15000;

// A planner that is a function of type Place.
template <typename Place>
class FunctionPlanner : public Planner {
 public:
  FunctionPlanner(absl::string_view name, absl::string_view description, Place place,
                  int max_groups = INT_MAX)
      : place_(place), name_(name), description_(description), max_groups_(max_groups) {}

  absl::string_view name() const override { return name_; }
  absl::string_view description() const override { return description_; }
  int max_groups() const override { return max_groups_; }

 protected:
  const Place place_;

 private:
  absl::string_view name_;
  absl::string_view description_;
  int max_groups_;
};

// Computes bases from an instance.
class HeuristicPlanner : public FunctionPlanner<std::vector<int64_t> (*)(const Instance&)> {
 public:
  using FunctionPlanner::FunctionPlanner;
  Solution Solve(const Instance& instance, int64_t, const SearchLimits&) const override {
    Solution solution{place_(instance), 0, std::string(name()), 0, 0};
    solution.arena = instance.Arena(solution.bases);
    return solution;
  }
};

// Selects the best of several.
class PortfolioPlanner
    : public FunctionPlanner<Solution (*)(const Instance&, int64_t, const SearchLimits&)> {
 public:
  using FunctionPlanner::FunctionPlanner;
  Solution Solve(const Instance& instance, int64_t lower_bound,
                 const SearchLimits& limits) const override {
    return place_(instance, lower_bound, limits);
  }
};

std::vector<std::unique_ptr<const Planner>> MakePlanners() {
  std::vector<std::unique_ptr<const Planner>> planners;
  planners.push_back(std::make_unique<PortfolioPlanner>(
      "auto", "the best of the fast ones, then exact search, until the bound is met",
      PlaceByPortfolio));
  planners.push_back(
      std::make_unique<HeuristicPlanner>("naive", "no reuse: one after the other", PlaceNaive));
  planners.push_back(std::make_unique<HeuristicPlanner>(
      "best_fit", "smallest free block, in the order of birth", PlaceBestFit));
  planners.push_back(std::make_unique<HeuristicPlanner>(
      "pushdown", "best fit for the vertical order, then everything sinks", PlacePushdown));
  planners.push_back(std::make_unique<HeuristicPlanner>("interval_move",
                                                        "long lives first, moving others up",
                                                        PlaceIntervalMove, kMaxIntervalMoveGroups));
  planners.push_back(std::make_unique<PortfolioPlanner>(
      "first_fit", "largest first, each in the lowest gap that holds it", PlaceByFirstFits,
      kMaxFirstFitGroups));
  planners.push_back(std::make_unique<PortfolioPlanner>(
      "dive", "always the lowest place on the skyline, by four priorities", PlaceByDives));
  planners.push_back(std::make_unique<PortfolioPlanner>(
      "exact", "dives, then a complete search within the time limit", PlaceByExactSearch));
  return planners;
}

// Overlapping fixed offsets are an error of the problem, not of a plan.
absl::Status CheckFixedOffsets(const Problem& problem, const Instance& instance) {
  const std::optional<FixedConflict> conflict = FindFixedConflict(problem, instance);
  if (!conflict.has_value()) return absl::OkStatus();
  const auto name = [&](int index) {
    const Buffer& b = problem.buffers[index];
    const int64_t offset =
        instance.fixed(instance.group_of(index)) + instance.offset_in_group(index);
    return absl::StrCat("buffer ", b.id, " (index ", index, ", steps [", b.lower, ", ", b.upper,
                        "), ", b.size, " bytes at ", offset, ")");
  };
  return absl::InvalidArgumentError(absl::StrCat(
      "fixed offsets contradict: ", name(conflict->first), " overlaps ", name(conflict->second)));
}

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

const std::vector<std::unique_ptr<const Planner>>& Planners() {
  static const auto* planners = new std::vector<std::unique_ptr<const Planner>>(MakePlanners());
  return *planners;
}

const Planner* FindPlanner(absl::string_view name) {
  for (const auto& planner : Planners()) {
    if (planner->name() == name) return planner.get();
  }
  return nullptr;
}

absl::string_view ProofName(Proof proof) {
  static constexpr absl::string_view kNames[] = {"none", "optimal", "optimal-search"};
  return kNames[static_cast<int>(proof)];
}

std::string ProofText(const PlanResult& result) {
  switch (result.proof) {
    case Proof::kOptimal:
      switch (result.bound_kind) {
        case BoundKind::kLiveness:
          return "optimal (meets the liveness bound)";
        case BoundKind::kAlignment:
          return "optimal (meets the alignment bound)";
        case BoundKind::kFixedOffset:
          return "the smallest that the given offsets allow";
      }
      break;
    case Proof::kOptimalSearch:
      return "optimal (search exhausted)";
    case Proof::kNone:
      break;
  }
  const double bound = static_cast<double>(std::max(result.lower_bound, result.plan.proven_bound));
  const double percent = (static_cast<double>(result.plan.arena) / bound - 1) * 100;
  // Two digits after the point, or two significant digits if those would be zeros.
  return percent < 0.01 ? absl::StrFormat("gap %.2g %%", percent)
                        : absl::StrFormat("gap %.2f %%", percent);
}

absl::StatusOr<PlanResult> PlanMemory(const Problem& problem, const PlanOptions& options) {
  const Planner* planner = FindPlanner(options.planner);
  if (planner == nullptr) {
    std::vector<absl::string_view> names;
    for (const auto& p : Planners()) names.push_back(p->name());
    return absl::InvalidArgumentError(absl::StrCat("no planner is called \"", options.planner,
                                                   "\"; there are ", absl::StrJoin(names, ", ")));
  }
  return PlanMemory(problem, *planner, options.limits);
}

absl::StatusOr<PlanResult> PlanMemory(const Problem& problem, const Planner& planner,
                                      const SearchLimits& limits) {
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<Instance> instance = Instance::Create(problem);
  if (!instance.ok()) return instance.status();
  if (instance->groups() > planner.max_groups()) {
    return absl::FailedPreconditionError(
        absl::StrCat("planner ", planner.name(), " is too slow for ", instance->groups(),
                     " buffers; it takes at most ", planner.max_groups()));
  }
  if (absl::Status status = CheckFixedOffsets(problem, *instance); !status.ok()) return status;
  const LowerBound bound = ComputeLowerBound(*instance);

  const Clock::time_point search_start = Clock::now();
  const absl::StatusOr<Solution> solved = CancelledIfStopped(
      [&]() -> absl::StatusOr<Solution> { return planner.Solve(*instance, bound.bytes, limits); });
  if (!solved.ok()) return solved.status();
  const Solution& solution = *solved;
  PlanResult result;
  result.search_ms = MillisecondsSince(search_start);
  if (solution.bases.size() != static_cast<size_t>(instance->groups())) {
    return absl::InternalError(absl::StrCat("planner ", planner.name(), " placed ",
                                            solution.bases.size(), " of ", instance->groups(),
                                            " groups"));
  }
  result.plan = instance->MakePlan(problem, solution.bases);
  result.plan.planner = solution.planner;
  result.plan.proven_bound = solution.proven_bound;
  result.work = solution.work;
  result.lower_bound = bound.bytes;
  result.bottleneck_step = bound.step;
  result.bound_kind = bound.kind;
  if (const Verdict verdict = ValidatePlan(problem, result.plan); !verdict.ok()) {
    return absl::InternalError(
        absl::StrCat("planner ", solution.planner, " made a wrong plan: ", verdict.message));
  }
  if (result.plan.arena == bound.bytes) {
    result.proof = Proof::kOptimal;
  } else if (result.plan.proven_bound == result.plan.arena) {
    result.proof = Proof::kOptimalSearch;
  }
  result.total_ms = MillisecondsSince(start);
  return result;
}

}  // namespace ashlar::memory
