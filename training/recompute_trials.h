// What it costs, and what memory it takes, to make choices of stages again: in numbers, without
// graphs, as a search asks for many.
#ifndef ASHLAR_TRAINING_RECOMPUTE_TRIALS_H_
#define ASHLAR_TRAINING_RECOMPUTE_TRIALS_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/recompute_order.h"
#include "training/live_bytes.h"
#include "training/recompute_stages.h"

namespace ashlar {

// What a node computes, where that is not cheap to make again.
double OperationsOf(const Graph& graph, const OperatorNode& node);

// By stage, four bits for each of its choices: how often it is made again, or, of sums, which are
// cheap, kTimesAnew: for each reader.
using StageMasks = std::vector<uint32_t>;
constexpr uint32_t kTimesAnew = 15, kMostTimes = 6;
constexpr size_t kTimesBits = 4;
constexpr uint32_t TimesIn(uint32_t mask, size_t choice) {
  return mask >> kTimesBits * choice & kTimesAnew;
}
constexpr uint32_t WithTimes(uint32_t mask, size_t choice, uint32_t times) {
  return (mask & ~(kTimesAnew << kTimesBits * choice)) | times << kTimesBits * choice;
}
// How often a choice is made again that is, but for nested checkpoints.
inline uint32_t UsualTimes(const RecomputeChoice& choice) { return choice.is_sum ? kTimesAnew : 1; }
// All ways to make choices of a stage again: as usual, and with `nested` another number of times.
std::vector<uint32_t> MasksOf(const RecomputeStage& stage, bool nested);

class RecomputeTrials {
 public:
  static constexpr size_t kMostChoices = 6;  // of a stage

  // `graph` as NormsInHalves makes it, and longer there than this.
  RecomputeTrials(const Graph& graph, int loss, const PartsOfNodes& parts);

  struct Whole {
    int64_t peak = 0;
    double operations = 0;  // made again by operators that are not cheap
  };
  Whole Try(const StageMasks& masks);
  // The peak in the order that RecomputeStep has for these vars.
  int64_t PeakOf(const MadeAgain& again) { return FindReach(maker_, live_, again).peak; }

  // Stages [begin, end) by themselves: in front of them all is kept but, where `sums_again`, the
  // sums of the stage right there; behind them all is kept.
  struct Segment {
    int64_t kept = 0;  // bytes that live from there until the gradients of these stages
    int64_t peak = 0;  // the most while these stages and their gradients run, without what is kept
                       // of earlier stages
    double operations = 0;
  };
  Segment TrySegment(size_t begin, size_t end, bool sums_again, const StageMasks& masks);

  // What later stages read of a stage and those before, given what is made again.
  enum class Boundary {
    kKept,
    kMadeHere,  // again by cheap operators, of what this stage keeps
    kOpen,      // again, of what further stages have
  };
  Boundary BoundaryOf(size_t stage, const StageMasks& masks);

  const std::vector<RecomputeStage>& stages() const { return found_.stages; }
  const MadeAgain& cheap() const { return found_.cheap; }
  MadeAgain Again(const StageMasks& masks) const;
  StageMasks AllChoices() const;
  // Of the operators of a step that are not cheap.
  double step_operations() const { return step_operations_; }
  int64_t tries() const { return tries_; }

 private:
  const OrderWithCopies& OrderOf(const StageMasks& masks);
  double Operations(const OrderWithCopies& order) const;

  const Graph& graph_;
  OrderMaker maker_;
  LiveBytes live_;
  RecomputeStages found_;
  std::vector<double> operations_;  // by node; 0 where it is cheap
  // By stage: vars, and places in front of the loss.
  std::vector<std::vector<int>> made_, stage_nodes_;
  double step_operations_ = 0;
  MadeAgain again_;
  int64_t tries_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_TRIALS_H_
