#include "runtime/plan/tiling/segment_estimates.h"

#include <algorithm>

#include "graph/region.h"

namespace ashlar {

SegmentEstimates::SegmentEstimates(const Graph& graph, absl::Span<const int> order,
                                   absl::Span<const GraphCut> cuts, std::vector<bool> in_arena)
    : graph_(graph), cuts_(cuts), in_arena_(std::move(in_arena)) {
  if (cuts.empty()) return;
  const Shape& shape = graph.var(cuts[0].var).type.shape;
  if (shape.rank() > 0) images_ = std::max<int64_t>(shape[0], 1);
  int whole = 0;
  size_t cut = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    steps_.push_back(StepOf(order[i]));
    const Role role = graph.node(order[i]).op->role();
    whole += role == Role::kCompute && !steps_.back().has_rows;
    if (cut < cuts.size() && cuts[cut].position == static_cast<int>(i)) {
      whole_before_.push_back(whole);
      ++cut;
    }
  }
}

SegmentEstimates::Step SegmentEstimates::StepOf(int index) const {
  Step step;
  const OperatorNode& node = graph_.node(index);
  if (node.op->role() != Role::kCompute || node.outputs.size() != 1) return step;
  const TensorType& made = graph_.var(node.outputs[0]).type;
  if (made.shape.rank() != 4 || made.shape[kAxisH] == 0) return step;
  const OwnedSite site = graph_.SiteOf(node);
  // Two rows from the middle, where no padding is read.
  Region first = WholeRegion(made.shape), second = first;
  const int64_t rows = made.shape[kAxisH], middle = (rows - 1) / 2;
  first[kAxisH] = {middle, middle + 1};
  second[kAxisH] = {std::min(middle + 1, rows - 1), std::min(middle + 1, rows - 1) + 1};
  const auto before = node.op->InputRegions(first, site);
  const auto after = node.op->InputRegions(second, site);
  if (!before || !after) return step;
  step.has_rows = true;
  step.row = made.bytes() / images_ / rows;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const TensorType& read = graph_.var(node.inputs[k]).type;
    if (node.op->input_use(static_cast<int>(k)) != InputUse::kDeviceValue ||
        graph_.constant(node.inputs[k]) != nullptr || read.shape.rank() != 4 ||
        (*before)[k].size() != 4) {
      continue;
    }
    const int64_t row = read.bytes() / images_ / std::max<int64_t>(1, read.shape[kAxisH]);
    const Range one = (*before)[k][kAxisH], next = (*after)[k][kAxisH];
    const int64_t shared = rows > 1 ? std::max<int64_t>(0, Intersection(one, next).size()) : 0;
    // An operator that makes a single row may add up what it reads row by row, as a mean does.
    step.row += (rows > 1 ? one.size() - shared : 1) * row;
    if (shared > 0) step.kept.emplace_back(node.inputs[k], shared * row);
  }
  return step;
}

int64_t SegmentEstimates::EndBytes(size_t cut) const {
  return in_arena_[cut] ? graph_.var(cuts_[cut].var).type.bytes() / images_ : 0;
}

std::optional<int64_t> SegmentEstimates::OfLines(size_t i, size_t j, bool rolling) const {
  if (!HasRows(i, j)) return std::nullopt;
  int64_t kept = 0, row = 0;
  for (int at = cuts_[i].position + 1; at <= cuts_[j].position; ++at) {
    for (const auto& [var, bytes] : steps_[at].kept) kept += var == cuts_[i].var ? 0 : bytes;
    row = std::max(row, steps_[at].row);
  }
  const int64_t read = EndBytes(i), made = EndBytes(j);
  if (!rolling) return read + made + kept + row;
  return std::max(std::max(read, made), std::min(read, made) + kept + row);
}

std::optional<int64_t> SegmentEstimates::OfTiles(size_t i, size_t j) const {
  if (!HasRows(i, j)) return std::nullopt;
  int64_t row = 0;
  for (int at = cuts_[i].position + 1; at <= cuts_[j].position; ++at) {
    row = std::max(row, steps_[at].row);
  }
  return EndBytes(i) + EndBytes(j) + row;
}

}  // namespace ashlar
