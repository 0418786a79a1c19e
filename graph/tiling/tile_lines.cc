#include "graph/tiling/tile_lines.h"

#include <algorithm>
#include <utility>

#include "graph/status.h"

namespace ashlar {
namespace {

using Rows = absl::flat_hash_map<int, Range>;  // by var

class LineScheduler {
 public:
  LineScheduler(RegionBuilder& builder, absl::Span<const int> nodes, int input,
                const Regions& total)
      : builder_(builder), nodes_(nodes), input_(input), total_(total) {}

  absl::StatusOr<LineSchedule> Run(int64_t count) {
    const Graph& graph = builder_.source();
    for (int node : nodes_) {
      const auto region = total_.find(graph.node(node).outputs[0]);
      if (region == total_.end()) continue;
      if (region->second.size() != 4) {
        return absl::InvalidArgumentError(
            absl::StrCat(graph.node(node).name, " makes no image and has no rows"));
      }
      made_until_[region->first] = region->second[kAxisH].begin;
      most_[region->first] = CeilDivide(region->second[kAxisH].size(), count);
    }
    const Range& rows = total_.at(input_)[kAxisH];
    LineSchedule schedule;
    std::vector<Rows> reads;  // by step
    for (int64_t t = 0;; ++t) {
      made_until_[input_] = PartOf(rows, std::min(t, count - 1), count).end;
      LineStep step;
      Rows step_reads;
      ASHLAR_RETURN_IF_ERROR(MakeStep(step, step_reads));
      if (t >= count && step.made.empty()) break;
      schedule.steps.push_back(std::move(step));
      reads.push_back(std::move(step_reads));
    }
    made_until_.erase(input_);
    KeepRows(reads, schedule);
    return schedule;
  }

 private:
  // Returns the end of the rows of a node's output that one step computes from the available rows.
  absl::StatusOr<int64_t> ReachOf(int node, int var) {
    const int64_t made = made_until_.at(var);
    const int64_t end = std::min(total_.at(var)[kAxisH].end, made + most_.at(var));
    // Steps double while all inputs are available, then halve.
    int64_t reached = made;
    bool grow = true;
    for (int64_t step = 1; step > 0;) {
      const int64_t next = std::min(reached + step, end);
      bool there = next > reached;
      if (there) {
        ASHLAR_ASSIGN_OR_RETURN(there, IsThere(node, var, {made, next}));
      }
      if (there) reached = next;
      grow = grow && there;
      step = grow ? 2 * step : step / 2;
    }
    return reached;
  }

  // Returns whether all inputs that a node needs for these rows are available.
  absl::StatusOr<bool> IsThere(int node, int var, const Range& rows) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<Region> needed, NeededFor(node, var, rows));
    const std::vector<int>& inputs = builder_.source().node(node).inputs;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto until = made_until_.find(inputs[k]);
      if (until != made_until_.end() && needed[k][kAxisH].end > until->second) return false;
    }
    return true;
  }

  absl::StatusOr<std::vector<Region>> NeededFor(int node, int var, const Range& rows) {
    Region region = total_.at(var);
    region[kAxisH] = rows;
    return builder_.InputRegions(node, region);
  }

  absl::Status MakeStep(LineStep& step, Rows& reads) {
    absl::flat_hash_map<int, size_t> last;  // by var: position of the last node that reads it
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const OperatorNode& node = builder_.source().node(nodes_[i]);
      const int var = node.outputs[0];
      if (!made_until_.contains(var)) continue;
      ASHLAR_ASSIGN_OR_RETURN(const int64_t reach, ReachOf(nodes_[i], var));
      const Range rows = {made_until_[var], reach};
      if (rows.empty()) continue;
      made_until_[var] = reach;
      step.made[var] = rows;
      step.unread.insert(var);
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<Region> needed, NeededFor(nodes_[i], var, rows));
      for (size_t k = 0; k < needed.size(); ++k) {
        const int input = node.inputs[k];
        if (input == input_ || !made_until_.contains(input)) continue;
        reads[input] = Hull(reads[input], needed[k][kAxisH]);
        last[input] = i;
        step.unread.erase(input);
      }
    }
    step.last_read.resize(nodes_.size());
    for (const auto& [var, position] : last) step.last_read[position].push_back(var);
    // The order makes the graph the same every time.
    for (std::vector<int>& vars : step.last_read) std::sort(vars.begin(), vars.end());
    return absl::OkStatus();
  }

  // Goes from the last step to the first, with the first row that is still to be read.
  void KeepRows(const std::vector<Rows>& reads, LineSchedule& schedule) {
    absl::flat_hash_map<int, int64_t> first_read;
    for (size_t t = reads.size(); t-- > 0;) {
      LineStep& step = schedule.steps[t];
      for (const auto& [var, first] : first_read) {
        const int64_t until = made_until_[var];
        if (first < until) step.keep[var] = {first, until};
      }
      for (const auto& [var, rows] : reads[t]) {
        const auto [it, is_new] = first_read.try_emplace(var, rows.begin);
        it->second = std::min(it->second, rows.begin);
      }
      for (const auto& [var, rows] : step.made) made_until_[var] = rows.begin;
    }
  }

  RegionBuilder& builder_;
  const absl::Span<const int> nodes_;
  const int input_;
  const Regions& total_;
  absl::flat_hash_map<int, int64_t> made_until_;  // by var of the segment, and its input
  absl::flat_hash_map<int, int64_t> most_;        // by var of the segment: rows of one step
};

}  // namespace

absl::StatusOr<LineSchedule> ScheduleLines(RegionBuilder& builder, absl::Span<const int> nodes,
                                           int input, const Regions& total, int64_t count) {
  return LineScheduler(builder, nodes, input, total).Run(count);
}

}  // namespace ashlar
