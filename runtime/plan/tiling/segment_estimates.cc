#include "runtime/plan/tiling/segment_estimates.h"

#include <algorithm>

#include "graph/region.h"
#include "runtime/schedule/storage.h"

namespace ashlar {

SegmentEstimates::SegmentEstimates(const Graph& graph, absl::Span<const int> order,
                                   absl::Span<const GraphCut> cuts)
    : graph_(graph), cuts_(cuts) {
  if (cuts.empty()) return;
  const Shape& shape = graph.var(cuts[0].var).type.shape;
  if (shape.rank() > 0) images_ = std::max<int64_t>(shape[0], 1);
  const std::vector<bool> after_images = NodesAfterImages(graph);
  int whole = 0;
  size_t cut = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    steps_.push_back(StepOf(order[i]));
    const Role role = graph.node(order[i]).op->role();
    whole += role == Role::kCompute && !steps_.back().has_rows && !after_images[order[i]];
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
  step.made = node.outputs[0];
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
    if (rows == 1) {  // an operator that makes a single row may add up what it reads row by row
      step.row += row;
      step.reads.push_back({node.inputs[k], 0, static_cast<double>(read.shape[kAxisH]), 0});
      continue;
    }
    step.row += (one.size() - std::max<int64_t>(0, Intersection(one, next).size())) * row;
    const double stride = static_cast<double>(next.begin - one.begin);
    step.reads.push_back({node.inputs[k],
                          static_cast<double>(one.begin) - stride * static_cast<double>(middle),
                          stride, static_cast<double>(one.size())});
  }
  return step;
}

int64_t SegmentEstimates::KeptBytes(size_t i, size_t j, bool skips) {
  const auto [known, is_new] = kept_.try_emplace({i, j, skips}, 0);
  if (!is_new) return known->second;
  // The rows of a var that were made, the first that is read for the next row of the end, and the
  // number of rows that one reader reads again.
  struct Rows {
    double made = 0, next = 0, again = 0;
  };
  std::map<int, Rows> rows;
  const auto rows_of = [&](int var) {
    return static_cast<double>(std::max<int64_t>(1, graph_.var(var).type.shape[kAxisH]));
  };
  const std::vector<int> first = cuts_[i].vars(), last = cuts_[j].vars();
  for (int at = cuts_[j].position; at > cuts_[i].position; --at) {
    const Step& step = steps_[at];
    if (!step.has_rows) continue;
    const auto made = rows.find(step.made);
    const double row = made == rows.end() ? rows_of(step.made) / 2 : made->second.made;
    for (const Read& read : step.reads) {
      const double begin = read.begin + read.stride * row;
      const Rows reads = {begin - read.stride + read.size, begin, read.size - read.stride};
      const auto [at_var, is_first] = rows.try_emplace(read.var, reads);
      at_var->second = {std::max(at_var->second.made, reads.made),
                        std::min(at_var->second.next, reads.next),
                        std::max(at_var->second.again, reads.again)};
    }
  }
  for (const auto& [var, of_var] : rows) {
    const auto is_end = [&](const std::vector<int>& end) {
      return std::find(end.begin(), end.end(), var) != end.end();
    };
    if (is_end(first) || is_end(last)) continue;
    const double kept =
        std::clamp(skips ? of_var.made - of_var.next : of_var.again, 0.0, rows_of(var));
    const double row = static_cast<double>(graph_.var(var).type.bytes() / images_) / rows_of(var);
    known->second += static_cast<int64_t>(kept * row);
  }
  return known->second;
}

SegmentEstimates::Bytes SegmentEstimates::EndsOf(size_t i, size_t j) const {
  const std::vector<int> before = cuts_[i].vars(), after = cuts_[j].vars();
  const auto bytes_of = [&](int var) {
    const bool is_input = graph_.node(graph_.var(var).producer).op->role() == Role::kInput;
    return is_input || IsOutput(graph_, var) ? 0 : graph_.var(var).type.bytes() / images_;
  };
  Bytes bytes;
  for (const int var : before) {
    const bool passes = std::find(after.begin(), after.end(), var) != after.end();
    (passes ? bytes.passing : bytes.read) += bytes_of(var);
  }
  for (const int var : after) {
    if (std::find(before.begin(), before.end(), var) == before.end()) bytes.made += bytes_of(var);
  }
  return bytes;
}

std::optional<int64_t> SegmentEstimates::OfLines(size_t i, size_t j, bool rolling, bool skips) {
  if (!HasRows(i, j)) return std::nullopt;
  const int64_t kept = KeptBytes(i, j, skips);
  int64_t row = 0;
  for (int at = cuts_[i].position + 1; at <= cuts_[j].position; ++at) {
    row = std::max(row, steps_[at].row);
  }
  const auto [read, made, passing] = EndsOf(i, j);
  if (!rolling) return read + made + passing + kept + row;
  return passing + std::max(std::max(read, made), std::min(read, made) + kept + row);
}

int64_t SegmentEstimates::OfAgain(size_t i, size_t j, int64_t bytes) const {
  const auto [read, made, passing] = EndsOf(i, j);
  return passing + std::max(read, made) + bytes;
}

int64_t SegmentEstimates::OfColumns(size_t i, size_t j, int64_t bytes) const {
  const auto [read, made, passing] = EndsOf(i, j);
  const std::vector<int> before = cuts_[i].vars();
  int64_t parts = 0;
  for (const int var : cuts_[j].vars()) {
    if (std::find(before.begin(), before.end(), var) != before.end()) continue;
    const TensorType& type = graph_.var(var).type;
    const bool one_channel = type.shape.rank() == 4 && type.shape[1] == 1;
    if (type.format != Format::kNHWC && !one_channel) parts += type.bytes() / images_;
  }
  return passing + read + (parts > 0 ? parts + std::max(made, bytes) : made + bytes);
}

std::optional<int64_t> SegmentEstimates::OfTiles(size_t i, size_t j, int64_t columns) const {
  if (!HasRows(i, j)) return std::nullopt;
  int64_t row = 0;
  for (int at = cuts_[i].position + 1; at <= cuts_[j].position; ++at) {
    row = std::max(row, steps_[at].row);
  }
  const auto [read, made, passing] = EndsOf(i, j);
  return read + made + passing + row / columns;
}

}  // namespace ashlar
