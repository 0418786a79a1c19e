// Greedy choice: the operator whose rows save the most bytes for each operation comes next. How
// many rows a tensor keeps follows from its readers by a sweep from the last operator to the first:
// the rows that two output rows of a reader share, and the rows that a reader computes again. The
// columns of a tile follow alike: as many as its readers read for theirs. After msf-CNN (NeurIPS
// 2025), whose blocks keep columns of a row and compute rows again: here columns and rows are
// exchanged.
#include "runtime/plan/tiling/again_trials.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/region.h"
#include "graph/status.h"
#include "runtime/plan/tiling/tiling_trials.h"

namespace ashlar {
namespace {

// Sets of operators of one segment, evenly spaced between the most and the fewest kept bytes.
constexpr int kAgainSets = 5;
// Tiles that divide the columns.
constexpr int64_t kColumnParts[] = {2, 3, 4, 6, 9, 12, 18};

// An operator of the segment, for one image.
struct RowStep {
  // A range of rows or columns that is read: of two neighbours of the output, the elements that
  // both read, the distance between their first ones, and the elements that one reads.
  struct Window {
    int64_t shared = 0, stride = 0, size = 0;
  };
  struct Read {
    int var = 0;  // an index into the segment's tensors
    Window rows, columns;
  };
  int var = 0;  // an index into the segment's tensors
  int id = 0;
  int64_t row = 0, rows = 0, columns = 0;  // bytes of a row of the output, rows, and columns
  double flops = 0;
  std::vector<Read> reads;
};

RowStep::Window WindowOf(Range one, Range next) {
  return {std::max<int64_t>(0, one.end - next.begin), next.begin - one.begin, one.size()};
}

// The tensors of a segment, by index.
class Tensors {
 public:
  int IndexOf(int var) {
    return indices_.try_emplace(var, static_cast<int>(indices_.size())).first->second;
  }
  size_t size() const { return indices_.size(); }

 private:
  absl::flat_hash_map<int, int> indices_;
};

// Returns nullopt if the operator is not computed from rows.
std::optional<RowStep> RowStepOf(const Graph& graph, const OperatorNode& node, int64_t images,
                                 Tensors& tensors) {
  const TensorType& made = graph.var(node.outputs[0]).type;
  if (node.outputs.size() != 1 || made.shape.rank() != 4 || made.shape.num_elements() == 0) {
    return std::nullopt;
  }
  RowStep step{
      tensors.IndexOf(node.outputs[0]), node.id, 0, made.shape[kAxisH], made.shape[kAxisW], 0, {}};
  step.row = made.bytes() / images / step.rows;
  const OwnedSite site = graph.SiteOf(node);
  step.flops = static_cast<double>(node.op->Computation(site)) / static_cast<double>(images);
  // Two neighbours from the middle, where no padding is read.
  const auto reads_of = [&](int axis, int64_t at) {
    Region region = WholeRegion(made.shape);
    region[axis] = {at, at + 1};
    return node.op->InputRegions(region, site);
  };
  const int64_t row = (step.rows - 1) / 2, column = (step.columns - 1) / 2;
  const auto first = reads_of(kAxisH, row);
  const auto second = reads_of(kAxisH, std::min(row + 1, step.rows - 1));
  const auto left = reads_of(kAxisW, column);
  const auto right = reads_of(kAxisW, std::min(column + 1, step.columns - 1));
  if (!first || !second || !left || !right) return std::nullopt;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.op->input_use(static_cast<int>(k)) != InputUse::kDeviceValue ||
        graph.constant(node.inputs[k]) != nullptr || (*first)[k].size() != 4) {
      continue;
    }
    RowStep::Read read{tensors.IndexOf(node.inputs[k]),
                       WindowOf((*first)[k][kAxisH], (*second)[k][kAxisH]),
                       WindowOf((*left)[k][kAxisW], (*right)[k][kAxisW])};
    if (step.rows == 1) read.rows.shared = 0;  // it joins what it reads
    step.reads.push_back(read);
  }
  return step;
}

bool AreAlike(const RowStep& a, const RowStep& b) {
  return a.reads.size() == 1 && b.reads.size() == 1 && a.reads[0].var == b.reads[0].var &&
         a.rows == b.rows && a.reads[0].rows.shared == b.reads[0].rows.shared;
}

class AgainChoice {
 public:
  AgainChoice(std::vector<RowStep> steps, size_t tensors, int64_t strips)
      : steps_(std::move(steps)), maker_(tensors, -1), strips_(strips) {
    for (size_t s = 0; s < steps_.size(); ++s) maker_[steps_[s].var] = static_cast<int>(s);
  }

  struct Cost {
    int64_t kept = 0;  // bytes
    int64_t row = 0;   // bytes that one operator reads and makes at once, apart from kept rows
    double flops = 0;  // computed again
  };

  // Returns the cost of strips of a tile of `parts`, which divide the columns.
  Cost CostOf(const std::vector<bool>& again, int64_t parts = 1) const {
    struct Need {
      int64_t rows = 0, times = 0;  // beside new rows; times that they are read
      int64_t fresh = 0;            // new rows that a reader reads at once
      int64_t columns = 0;
      double share = 1;  // of all columns
    };
    std::vector<Need> needs(maker_.size());
    Cost cost;
    for (size_t s = steps_.size(); s-- > 0;) {
      const RowStep& step = steps_[s];
      Need& need = needs[step.var];
      if (!again[s]) need.fresh = (step.rows + strips_ - 1) / strips_;
      if (need.columns == 0) need.columns = (step.columns + parts - 1) / parts;
      if (parts == 1 || need.columns > step.columns) need.columns = step.columns;
      need.rows = std::min(need.rows, step.rows);
      need.fresh = std::min(need.fresh, step.rows);
      need.share = static_cast<double>(need.columns) / static_cast<double>(step.columns);
      const double flops = step.flops * static_cast<double>(parts) * need.share;
      cost.flops += flops - step.flops;
      if (again[s]) {
        cost.flops +=
            flops * static_cast<double>(need.rows * need.times) / static_cast<double>(step.rows);
      } else {
        cost.kept += static_cast<int64_t>(static_cast<double>(need.rows * step.row) * need.share);
      }
      for (const RowStep::Read& read : step.reads) {
        Need& of = needs[read.var];
        of.rows =
            std::max(of.rows, read.rows.shared + (again[s] ? need.rows * read.rows.stride : 0));
        of.fresh = std::max(of.fresh, need.fresh * read.rows.stride);
        of.times = std::max(of.times, again[s] ? need.times : std::min(strips_, step.rows));
        of.columns =
            std::max(of.columns, (need.columns - 1) * read.columns.stride + read.columns.size);
      }
    }
    const auto made_at_once = [&](size_t s) {
      const Need& need = needs[steps_[s].var];
      const int64_t rows = std::min(steps_[s].rows, need.fresh + (again[s] ? need.rows : 0));
      return static_cast<int64_t>(static_cast<double>(rows * steps_[s].row) * need.share);
    };
    for (size_t s = 0; s < steps_.size(); ++s) {
      int64_t row = made_at_once(s);
      for (const RowStep::Read& read : steps_[s].reads) {
        if (maker_[read.var] >= 0) row += made_at_once(static_cast<size_t>(maker_[read.var]));
      }
      cost.row = std::max(cost.row, row);
    }
    return cost;
  }

  // Returns sets that keep less and less.
  std::vector<std::vector<bool>> Sets(double most) const {
    const std::vector<bool> none(steps_.size(), false);
    std::vector<std::pair<std::vector<bool>, Cost>> grown = {{none, CostOf(none)}};
    for (;;) {
      const auto& [again, cost] = grown.back();
      std::pair<std::vector<bool>, Cost> best;
      double most_saved = 0;
      for (size_t s = 0; s + 1 < steps_.size(); ++s) {
        if (again[s]) continue;
        std::vector<bool> more = again;
        // Groups of channels that are computed from one input come together.
        more[s] = true;
        for (size_t t = s; t + 1 < steps_.size(); ++t) {
          if (AreAlike(steps_[s], steps_[t])) more[t] = true;
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
    std::vector<std::vector<bool>> sets;
    const int64_t all = grown.front().second.kept, least = grown.back().second.kept;
    for (int k = 1; k <= kAgainSets && grown.size() > 1; ++k) {
      const auto set = std::find_if(grown.begin(), grown.end(), [&](const auto& entry) {
        return entry.second.kept <= all - (all - least) * k / kAgainSets;
      });
      if (sets.empty() || sets.back() != set->first) sets.push_back(set->first);
    }
    return sets;
  }

  std::vector<int> IdsOf(const std::vector<bool>& again) const {
    std::set<int> ids;
    for (size_t s = 0; s < steps_.size(); ++s) {
      if (again[s]) ids.insert(steps_[s].id);
    }
    return {ids.begin(), ids.end()};
  }

 private:
  const std::vector<RowStep> steps_;
  std::vector<int> maker_;  // steps, by tensor; -1: none
  const int64_t strips_;
};

}  // namespace

TileSegment InStrips(TileSegment segment, const AgainTrial& candidate, TileKind kind) {
  TileSegment strips = segment;
  strips.kind = kind;
  strips.count = candidate.strips;
  strips.again = *candidate.again;
  if (candidate.parts == 1) return strips;
  segment.kind = TileKind::kGrid;
  segment.count_width = candidate.parts;
  segment.inner = {std::move(strips)};
  return segment;
}

std::vector<AgainTrial> AgainTrials(const Graph& graph, absl::Span<const int> order,
                                    absl::Span<const GraphCut> cuts, size_t i, size_t j,
                                    double most, bool with_columns) {
  std::vector<RowStep> steps;
  Tensors tensors;
  int64_t rows = 0;
  const Shape& whole = graph.var(cuts[0].var).type.shape;
  const int64_t all = whole.rank() > 0 ? std::max<int64_t>(whole[0], 1) : 1;
  for (int at = cuts[i].position + 1; at <= cuts[j].position; ++at) {
    const OperatorNode& node = graph.node(order[at]);
    if (node.op->role() != Role::kCompute) continue;
    std::optional<RowStep> step = RowStepOf(graph, node, all, tensors);
    if (!step) return {};
    rows = std::max(rows, step->rows);
    steps.push_back(*std::move(step));
  }
  if (steps.empty()) return {};
  const int64_t read = RowsOf(graph, cuts, i, j), columns = steps.back().columns;
  std::set<int64_t> counts;
  if (with_columns) {
    while (rows > kMostStrips) rows = (rows + 1) / 2;
    counts.insert(std::min(rows, read));
  } else {
    for (const int64_t strips : {rows, rows / 2}) {
      counts.insert(std::min({strips, read, kMostStrips}));
    }
  }
  std::vector<AgainTrial> trials;
  for (const int64_t strips : counts) {
    if (strips < 2) continue;
    const AgainChoice choice(steps, tensors.size(), strips);
    struct Set {
      std::vector<bool> again;
      std::shared_ptr<const std::vector<int>> ids;
    };
    const auto add = [&](const Set& set, int64_t parts) {
      const AgainChoice::Cost cost = choice.CostOf(set.again, parts);
      if (cost.flops > most) return;
      trials.push_back({strips, parts, set.ids, cost.kept + cost.row, cost.flops});
    };
    std::vector<Set> sets = {{std::vector<bool>(steps.size(), false), {}}};
    for (std::vector<bool>& again : choice.Sets(most)) sets.push_back({std::move(again), {}});
    for (Set& set : sets) {
      set.ids = std::make_shared<const std::vector<int>>(choice.IdsOf(set.again));
    }
    for (size_t k = 1; k < sets.size(); ++k) add(sets[k], 1);
    if (!with_columns) continue;
    for (const int64_t parts : kColumnParts) {
      if (parts > columns) break;
      for (const Set& set : sets) add(set, parts);
    }
  }
  return trials;
}

}  // namespace ashlar
