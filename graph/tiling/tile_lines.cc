#include "graph/tiling/tile_lines.h"

#include <algorithm>
#include <utility>

#include "graph/status.h"

namespace ashlar {
namespace {

using Rows = absl::flat_hash_map<int, Range>;  // by var

class LineScheduler {
 public:
  LineScheduler(RegionBuilder& builder, const FoundSegment& segment, const Regions& total)
      : builder_(builder),
        nodes_(segment.nodes),
        inputs_(segment.inputs),
        again_(segment.again),
        outputs_(segment.outputs.begin(), segment.outputs.end()),
        total_(total) {}

  absl::StatusOr<LineSchedule> Run(int64_t count) {
    const Graph& graph = builder_.source();
    for (int node : nodes_) {
      const auto region = total_.find(graph.node(node).outputs[0]);
      if (region == total_.end()) continue;
      if (region->second.size() != 4) {
        return absl::InvalidArgumentError(
            absl::StrCat(graph.node(node).name, " makes no image and has no rows"));
      }
      if (JoinsRows(node) && !again_.contains(region->first)) joined_until_[region->first] = 0;
      made_until_[region->first] = region->second[kAxisH].begin;
      if (Waits(node)) waits_until_[region->first] = region->second[kAxisH].begin;
      const int64_t rows = region->second[kAxisH].size();
      most_[region->first] = again_.contains(region->first) ? rows : CeilDivide(rows, count);
    }
    LineSchedule schedule;
    std::vector<Rows> reads;  // by step
    for (int64_t t = 0;; ++t) {
      for (const int input : inputs_) ReadFurther(input, std::min(t + 1, count), count);
      LineStep step;
      Rows step_reads;
      ASHLAR_RETURN_IF_ERROR(MakeStep(step, step_reads));
      if (t >= count && !advanced_ && step.made.empty() && step.joined.empty()) break;
      schedule.steps.push_back(std::move(step));
      reads.push_back(std::move(step_reads));
    }
    for (const int input : inputs_) made_until_.erase(input);
    KeepRows(reads, schedule);
    return schedule;
  }

 private:
  bool IsInput(int var) const {
    return std::find(inputs_.begin(), inputs_.end(), var) != inputs_.end();
  }

  // Lets the first `steps` of `count` steps read their share of an input. An image of fewer rows
  // than steps is read a part of a row ahead.
  void ReadFurther(int input, int64_t steps, int64_t count) {
    const auto region = total_.find(input);
    if (region == total_.end() || region->second.size() != 4) return;
    const Range& rows = region->second[kAxisH];
    made_until_[input] = rows.size() < count ? rows.begin + CeilDivide(rows.size() * steps, count)
                                             : PartOf(rows, steps - 1, count).end;
  }

  // Returns whether an operator joins strips of an image that is made in the segment.
  bool JoinsRows(int node) {
    const int input = builder_.source().node(node).inputs[0];
    const auto region = total_.find(input);
    return region != total_.end() && region->second.size() == 4 &&
           (made_until_.contains(input) || IsInput(input)) &&
           builder_.JoinRows(node, region->second[kAxisH]).has_value();
  }

  // Returns whether an operator computes rows only when they are read, because its inputs take much
  // less memory, less than half; or are all stored whole, beside others.
  bool Waits(int node) const {
    const Graph& graph = builder_.source();
    const OperatorNode& n = graph.node(node);
    if (again_.contains(n.outputs[0]) || outputs_.contains(n.outputs[0])) return false;
    if (inputs_.size() > 1 && std::none_of(n.inputs.begin(), n.inputs.end(), [&](int input) {
          return made_until_.contains(input);
        })) {
      return true;
    }
    // Groups of channels that are computed from one input wait together.
    int64_t bytes = 0;
    for (int other : nodes_) {
      const OperatorNode& o = graph.node(other);
      if (o.inputs[0] == n.inputs[0]) bytes += graph.var(o.outputs[0]).type.bytes();
    }
    for (int input : n.inputs) {
      if (total_.contains(input)) bytes -= 2 * graph.var(input).type.bytes();
    }
    return bytes > 0;
  }

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

  // Finds the rows that each node can add in this step, or joins, by position.
  absl::StatusOr<std::vector<Range>> Advance() {
    advanced_ = false;
    std::vector<Range> rows(nodes_.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const OperatorNode& node = builder_.source().node(nodes_[i]);
      const int var = node.outputs[0];
      if (!made_until_.contains(var)) continue;
      ASHLAR_ASSIGN_OR_RETURN(const int64_t reach, ReachOf(nodes_[i], var));
      rows[i] = {made_until_[var], reach};
      advanced_ |= !rows[i].empty();
      made_until_[var] = reach;
    }
    return rows;
  }

  absl::Status MakeStep(LineStep& step, Rows& reads) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<Range> added, Advance());
    Rows demanded;                          // by var: the rows that are read
    absl::flat_hash_map<int, size_t> last;  // by var: position of the last node that reads it
    for (size_t i = nodes_.size(); i-- > 0;) {
      const OperatorNode& node = builder_.source().node(nodes_[i]);
      const int var = node.outputs[0];
      if (!made_until_.contains(var)) continue;
      Range rows = added[i];
      if (again_.contains(var)) rows = demanded[var];
      if (const auto until = waits_until_.find(var); until != waits_until_.end()) {
        rows = {until->second, std::max(until->second, demanded[var].end)};
        until->second = rows.end;
      }
      if (!rows.empty()) {
        step.made[var] = rows;
        if (!last.contains(var)) step.unread.insert(var);
      }
      std::vector<Region> needed;
      if (const auto until = joined_until_.find(var); until != joined_until_.end()) {
        const Range next = {until->second, made_until_.at(node.inputs[0])};
        if (next.empty()) continue;
        until->second = next.end;
        step.joined[var] = next;
        needed.push_back(total_.at(node.inputs[0]));
        needed[0][kAxisH] = next;
      } else if (rows.empty()) {
        continue;
      } else {
        ASHLAR_ASSIGN_OR_RETURN(needed, NeededFor(nodes_[i], var, rows));
      }
      for (size_t k = 0; k < needed.size(); ++k) {
        const int input = node.inputs[k];
        if (IsInput(input) || !made_until_.contains(input)) continue;
        const Range& read = needed[k][kAxisH];
        demanded[input] = Hull(demanded[input], read);
        if (!again_.contains(input)) reads[input] = Hull(reads[input], read);
        last.try_emplace(input, i);
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
      for (const auto& [var, rows] : step.made) {
        if (!again_.contains(var)) made_until_[var] = rows.begin;
      }
    }
  }

  RegionBuilder& builder_;
  const absl::Span<const int> nodes_;
  const absl::Span<const int> inputs_;
  const absl::flat_hash_set<int>& again_;
  const absl::flat_hash_set<int> outputs_;
  const Regions& total_;
  absl::flat_hash_map<int, int64_t> made_until_;    // by var of the segment, and its input
  absl::flat_hash_map<int, int64_t> waits_until_;   // by var that waits: its rows so far
  absl::flat_hash_map<int, int64_t> joined_until_;  // by var that joins rows, in rows of its input
  bool advanced_ = false;  // whether the last step reached further rows, which may wait
  absl::flat_hash_map<int, int64_t> most_;  // by var of the segment: rows of one step
};

}  // namespace

absl::StatusOr<LineSchedule> ScheduleLines(RegionBuilder& builder, const FoundSegment& segment,
                                           const Regions& total) {
  return LineScheduler(builder, segment, total).Run(segment.spec.count);
}

}  // namespace ashlar
