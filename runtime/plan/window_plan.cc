#include "runtime/plan/window_plan.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "graph/needed_bytes.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Panels that are tried: shares of the window, not smaller than so many bytes. One panel is
// computed while the next ones are read.
constexpr int64_t kShares[] = {2, 3, 4, 8, 16, 32};
constexpr int64_t kLeastPanel = 32 << 10;
// Bytes for the weights of all kernels that are tried: as few as possible, and shares of the bytes
// that the fastest ones take.
constexpr double kForms[] = {0.85, 0.7, 0};

// Smaller panels and forms must save so much of the expected time: they mean more operators, and
// more memory for their plan.
constexpr double kLeastGain = 0.02;

using Planned = std::unique_ptr<PlannedGraph>;

class WindowPlanner {
 public:
  WindowPlanner(const Graph& graph, const PlanRequest& request, PlanFunction plan)
      : graph_(graph), request_(request), plan_(plan) {}

  absl::StatusOr<Planned> Plan() && {
    const int64_t budget = *request_.target.weights_budget;
    ASHLAR_RETURN_IF_ERROR(Try(0, std::numeric_limits<int64_t>::max()));
    for (const int64_t share : kShares) {
      if (IsWhole() || budget / share < kLeastPanel) break;
      ASHLAR_RETURN_IF_ERROR(Try(budget / share, std::numeric_limits<int64_t>::max()));
    }
    const int64_t panel = best_ == nullptr ? std::max(budget / std::end(kShares)[-1], kLeastPanel)
                                           : best_->planning.panel_bytes;
    const double most =
        best_ == nullptr ? 0 : static_cast<double>(best_->weights.bytes);  // of all weights
    for (const double share : kForms) {
      if (IsWhole() || request_.planning.most_weights < std::numeric_limits<int64_t>::max()) break;
      ASHLAR_RETURN_IF_ERROR(Try(panel, static_cast<int64_t>(share * most)));
    }
    if (best_ == nullptr) return least_;
    if (!request_.target.budget) return std::move(best_);
    // Tiles are searched for once.
    PlanRequest request = request_;
    request.planning.panel_bytes = best_->planning.panel_bytes;
    request.planning.most_weights = best_->planning.most_weights;
    best_.reset();
    return plan_(Graph(graph_), request);
  }

 private:
  // Returns whether all weights are resident: nothing is faster.
  bool IsWhole() const { return best_ != nullptr && best_->weights.window->reads.empty(); }

  // Plans, and keeps the plan if it is faster, or the error if it names a smaller window.
  absl::Status Try(int64_t panel_bytes, int64_t most_weights) {
    PlanRequest request = request_;
    request.target.budget.reset();
    request.planning.panel_bytes = panel_bytes;
    request.planning.most_weights = std::min(most_weights, request_.planning.most_weights);
    absl::StatusOr<Planned> planned = plan_(Graph(graph_), request);
    if (planned.ok()) {
      if (best_ == nullptr || (*planned)->weights.window->expected_ms <
                                  (1 - kLeastGain) * best_->weights.window->expected_ms) {
        best_ = *std::move(planned);
      }
      return absl::OkStatus();
    }
    const std::optional<int64_t> needed = NeededBytes(planned.status());
    if (!needed) return planned.status();
    if (least_.ok() || *needed < NeededBytes(least_).value_or(0)) least_ = planned.status();
    return absl::OkStatus();
  }

  const Graph& graph_;
  const PlanRequest& request_;
  const PlanFunction plan_;
  Planned best_;
  absl::Status least_;  // the error that names the least window
};

}  // namespace

absl::StatusOr<Planned> PlanForWindow(const Graph& graph, const PlanRequest& request,
                                      PlanFunction plan) {
  return WindowPlanner(graph, request, plan).Plan();
}

}  // namespace ashlar
