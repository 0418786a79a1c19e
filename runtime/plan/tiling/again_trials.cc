// Greedy choice: the operator whose rows save the most bytes for each operation comes next. How
// many rows a tensor keeps follows from its readers by a sweep from the last operator to the first:
// the rows that two output rows of a reader share, and the rows that a reader computes again.
#include "runtime/plan/tiling/again_trials.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/region.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Sets of operators of one segment, evenly spaced between the most and the fewest kept bytes.
constexpr int kAgainSets = 5;

// An operator of the segment, for one image.
struct RowStep {
  struct Read {
    int var = 0;
    int64_t shared = 0, stride = 0;  // rows that two output rows share, and between their first
  };
  int var = 0, id = 0;
  int64_t row = 0, rows = 0;  // bytes of a row of the output, and rows
  double flops = 0;
  std::vector<Read> reads;
};

// Returns nullopt if the operator is not computed from rows.
std::optional<RowStep> RowStepOf(const Graph& graph, const OperatorNode& node, int64_t images) {
  const TensorType& made = graph.var(node.outputs[0]).type;
  if (node.outputs.size() != 1 || made.shape.rank() != 4 || made.shape.num_elements() == 0) {
    return std::nullopt;
  }
  RowStep step{node.outputs[0], node.id, 0, made.shape[kAxisH], 0, {}};
  step.row = made.bytes() / images / step.rows;
  const OwnedSite site = graph.SiteOf(node);
  step.flops = static_cast<double>(node.op->Computation(site)) / static_cast<double>(images);
  // Two rows from the middle, where no padding is read.
  const int64_t middle = (step.rows - 1) / 2;
  const auto reads_of = [&](int64_t row) {
    Region region = WholeRegion(made.shape);
    region[kAxisH] = {row, row + 1};
    return node.op->InputRegions(region, site);
  };
  const auto first = reads_of(middle), second = reads_of(std::min(middle + 1, step.rows - 1));
  if (!first || !second) return std::nullopt;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.op->input_use(static_cast<int>(k)) != InputUse::kDeviceValue ||
        graph.constant(node.inputs[k]) != nullptr || (*first)[k].size() != 4) {
      continue;
    }
    const Range one = (*first)[k][kAxisH], next = (*second)[k][kAxisH];
    // An operator that makes one row joins what it reads.
    const int64_t shared = step.rows == 1 ? 0 : std::max<int64_t>(0, one.end - next.begin);
    step.reads.push_back({node.inputs[k], shared, next.begin - one.begin});
  }
  return step;
}

bool AreAlike(const RowStep& a, const RowStep& b) {
  return a.reads.size() == 1 && b.reads.size() == 1 && a.reads[0].var == b.reads[0].var &&
         a.rows == b.rows && a.reads[0].shared == b.reads[0].shared;
}

class AgainChoice {
 public:
  AgainChoice(std::vector<RowStep> steps, int64_t strips)
      : steps_(std::move(steps)), strips_(strips) {}

  struct Cost {
    int64_t kept = 0;  // bytes
    double flops = 0;  // computed again
  };

  Cost CostOf(const std::set<int>& again) const {
    struct Need {
      int64_t rows = 0, times = 0;  // beside new rows; times that they are read
    };
    absl::flat_hash_map<int, Need> needs;
    Cost cost;
    for (size_t s = steps_.size(); s-- > 0;) {
      const RowStep& step = steps_[s];
      const Need need = needs[step.var];
      const bool is_again = again.contains(step.id);
      if (is_again) {
        cost.flops += step.flops * static_cast<double>(need.rows * need.times) /
                      static_cast<double>(step.rows);
      } else {
        cost.kept += std::min(need.rows, step.rows) * step.row;
      }
      for (const RowStep::Read& read : step.reads) {
        Need& of = needs[read.var];
        of.rows = std::max(of.rows, read.shared + (is_again ? need.rows * read.stride : 0));
        of.times = std::max(of.times, is_again ? need.times : std::min(strips_, step.rows));
      }
    }
    return cost;
  }

  // Returns sets that keep less and less.
  std::vector<std::set<int>> Sets(double most) const {
    std::vector<std::pair<std::set<int>, Cost>> grown = {{{}, CostOf({})}};
    for (;;) {
      const auto& [again, cost] = grown.back();
      std::pair<std::set<int>, Cost> best;
      double most_saved = 0;
      for (size_t s = 0; s + 1 < steps_.size(); ++s) {
        if (again.contains(steps_[s].id)) continue;
        std::set<int> more = again;
        // Groups of channels that are computed from one input come together.
        for (size_t t = s; t + 1 < steps_.size(); ++t) {
          if (AreAlike(steps_[s], steps_[t])) more.insert(steps_[t].id);
        }
        const Cost with = CostOf(more);
        if (with.flops > most || with.kept >= cost.kept) continue;
        const double saved =
            static_cast<double>(cost.kept - with.kept) / std::max(1.0, with.flops - cost.flops);
        if (saved > most_saved) most_saved = saved, best = {std::move(more), with};
      }
      if (most_saved == 0) break;
      grown.push_back(std::move(best));
    }
    std::vector<std::set<int>> sets;
    const int64_t all = grown.front().second.kept, least = grown.back().second.kept;
    for (int k = 1; k <= kAgainSets && grown.size() > 1; ++k) {
      const auto set = std::find_if(grown.begin(), grown.end(), [&](const auto& entry) {
        return entry.second.kept <= all - (all - least) * k / kAgainSets;
      });
      if (sets.empty() || sets.back() != set->first) sets.push_back(set->first);
    }
    return sets;
  }

 private:
  const std::vector<RowStep> steps_;
  const int64_t strips_;
};

}  // namespace

std::vector<TilingTrial> AgainTrials(const Graph& graph, absl::Span<const int> order,
                                     absl::Span<const GraphCut> cuts, size_t i, size_t j,
                                     int64_t images, TileKind kind, double most) {
  std::vector<RowStep> steps;
  int64_t rows = 0;
  const Shape& whole = graph.var(cuts[0].var).type.shape;
  const int64_t all = whole.rank() > 0 ? std::max<int64_t>(whole[0], 1) : 1;
  for (int at = cuts[i].position + 1; at <= cuts[j].position; ++at) {
    const OperatorNode& node = graph.node(order[at]);
    if (node.op->role() != Role::kCompute) continue;
    std::optional<RowStep> step = RowStepOf(graph, node, all);
    if (!step) return {};
    rows = std::max(rows, step->rows);
    steps.push_back(*std::move(step));
  }
  const int64_t read = RowsOf(graph, cuts, i, j);
  std::vector<TilingTrial> trials;
  std::set<int64_t> counts;
  for (const int64_t strips : {rows, rows / 2}) {
    counts.insert(std::min({strips, read, kMostStrips}));
  }
  TileSegment segment = SegmentBetween(graph, order, cuts[i], cuts[j]);
  segment.kind = kind;
  for (const int64_t strips : counts) {
    if (strips < 2) continue;
    segment.count = strips;
    for (const std::set<int>& again : AgainChoice(steps, strips).Sets(most)) {
      segment.again.assign(again.begin(), again.end());
      trials.push_back({i, j, kind, strips, 1, images, segment});
    }
  }
  return trials;
}

}  // namespace ashlar
