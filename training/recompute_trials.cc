#include "training/recompute_trials.h"

#include <algorithm>

namespace ashlar {
namespace {

constexpr int kReachOfCopies = 4;  // argument `reach` of Recompute

}  // namespace

std::vector<uint32_t> MasksOf(const RecomputeStage& stage, bool nested) {
  std::vector<uint32_t> masks = {0};
  for (size_t k = 0; k < stage.choices.size(); ++k) {
    const uint32_t usual = UsualTimes(stage.choices[k]);
    const size_t without = masks.size();
    for (const uint32_t times : {usual, usual == 1 ? 2U : 1U}) {
      for (size_t i = 0; i < without; ++i) masks.push_back(WithTimes(masks[i], k, times));
      if (!nested) break;
    }
  }
  return masks;
}

double OperationsOf(const Graph& graph, const OperatorNode& node) {
  if (node.op->role() != Role::kCompute || node.outputs.empty() ||
      IsCheap(graph, node.outputs[0])) {
    return 0;
  }
  return static_cast<double>(node.op->Computation(graph.SiteOf(node)));
}

RecomputeTrials::RecomputeTrials(const Graph& graph, int loss, const PartsOfNodes& parts)
    : graph_(graph),
      maker_(graph, loss),
      live_(graph, maker_),
      found_(FindStages(graph, loss, maker_, kMostChoices, parts)),
      made_(found_.stages.size()),
      stage_nodes_(found_.stages.size()) {
  for (const OperatorNode& node : graph.nodes()) {
    operations_.push_back(OperationsOf(graph, node));
    step_operations_ += operations_.back();
  }
  const OrderWithCopies& order = OrderOf(StageMasks(found_.stages.size(), 0));
  for (size_t place = 0; place < maker_.nodes_to_the_loss(); ++place) {
    int stage = -1;
    for (const int output : graph.node(order.placed[place].node).outputs) {
      stage = found_.stage_of[static_cast<size_t>(output)];
      if (stage >= 0) made_[static_cast<size_t>(stage)].push_back(output);
    }
    if (stage >= 0) stage_nodes_[static_cast<size_t>(stage)].push_back(static_cast<int>(place));
  }
}

MadeAgain RecomputeTrials::Again(const StageMasks& masks) const {
  MadeAgain again = found_.cheap;
  for (size_t s = 0; s < masks.size(); ++s) {
    const std::vector<RecomputeChoice>& choices = found_.stages[s].choices;
    for (size_t k = 0; k < choices.size(); ++k) {
      const uint32_t times = TimesIn(masks[s], k);
      for (const int var : choices[k].with) {
        const auto v = static_cast<size_t>(var);
        if (choices[k].is_sum && found_.cheap[v] != kKept) {
          again[v] = times == kTimesAnew ? kAnew : static_cast<uint8_t>(times);
        } else {
          again[v] = std::max(again[v], times == kTimesAnew ? kOnce : static_cast<uint8_t>(times));
        }
      }
    }
  }
  return again;
}

StageMasks RecomputeTrials::AllChoices() const {
  StageMasks all;
  for (const RecomputeStage& stage : found_.stages) {
    all.push_back(MasksOf(stage, /*nested=*/false).back());
  }
  return all;
}

const OrderWithCopies& RecomputeTrials::OrderOf(const StageMasks& masks) {
  ++tries_;
  again_ = Again(masks);
  return maker_.Make(again_, kReachOfCopies);
}

double RecomputeTrials::Operations(const OrderWithCopies& order) const {
  double operations = 0;
  for (const OrderWithCopies::Placed& placed : order.placed) {
    if (placed.made >= 0) operations += operations_[static_cast<size_t>(placed.node)];
  }
  return operations;
}

RecomputeTrials::Whole RecomputeTrials::Try(const StageMasks& masks) {
  const OrderWithCopies& order = OrderOf(masks);
  const std::vector<int64_t>& at = live_.Of(order);
  return {*std::max_element(at.begin(), at.end()), Operations(order)};
}

RecomputeTrials::Segment RecomputeTrials::TrySegment(size_t begin, size_t end, bool sums_again,
                                                     const StageMasks& masks) {
  StageMasks only(found_.stages.size(), 0);
  std::copy(masks.begin() + static_cast<std::ptrdiff_t>(begin),
            masks.begin() + static_cast<std::ptrdiff_t>(end),
            only.begin() + static_cast<std::ptrdiff_t>(begin));
  if (sums_again) {
    const std::vector<RecomputeChoice>& choices = found_.stages[begin - 1].choices;
    for (size_t k = 0; k < choices.size(); ++k) {
      if (choices[k].is_sum) only[begin - 1] = WithTimes(only[begin - 1], k, kTimesAnew);
    }
  }
  const OrderWithCopies& order = OrderOf(only);
  const std::vector<int64_t>& at = live_.Of(order);
  Segment segment;
  segment.operations = Operations(order);
  int64_t before = 0;
  for (size_t s = 0; s < end; ++s) {
    int64_t kept = 0;
    for (const int var : made_[s]) {
      const auto [last, bytes] = live_.Kept(var);
      if (last >= static_cast<int>(maker_.nodes_to_the_loss())) kept += bytes;
    }
    (s < begin ? before : segment.kept) += kept;
  }
  for (size_t s = begin; s < end; ++s) {
    for (const int place : stage_nodes_[s]) {
      segment.peak = std::max(segment.peak, at[static_cast<size_t>(place)] - before);
    }
  }
  const size_t from = found_.stages[end - 1].window_begin, to = found_.stages[begin].window_end;
  const size_t last = to < order.begins.size() ? order.begins[to] : order.placed.size();
  for (size_t p = from < order.begins.size() ? order.begins[from] : last; p < last; ++p) {
    segment.peak = std::max(segment.peak, at[p] - before);
  }
  return segment;
}

RecomputeTrials::Boundary RecomputeTrials::BoundaryOf(size_t stage, const StageMasks& masks) {
  if (stage + 1 == found_.stages.size()) return Boundary::kKept;
  const int end = found_.stages[stage].end;
  if (end < 0) return Boundary::kOpen;
  const MadeAgain again = Again(masks);
  if (again[static_cast<size_t>(end)] == kKept) return Boundary::kKept;
  std::vector<int> open = {end};
  while (!open.empty()) {
    const int var = open.back();
    open.pop_back();
    const int maker = graph_.var(var).producer;
    if (found_.stage_of[static_cast<size_t>(var)] != static_cast<int>(stage) ||
        operations_[static_cast<size_t>(maker)] > 0) {
      return Boundary::kOpen;
    }
    const OperatorNode& node = graph_.node(maker);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue &&
          again[static_cast<size_t>(node.inputs[i])] != kKept) {
        open.push_back(node.inputs[i]);
      }
    }
  }
  return Boundary::kMadeHere;
}

}  // namespace ashlar
