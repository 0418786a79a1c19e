// Estimates the operations and the peak memory of recomputation choices, without building graphs,
// because a search evaluates many.
#ifndef ASHLAR_TRAINING_RECOMPUTE_TRIALS_H_
#define ASHLAR_TRAINING_RECOMPUTE_TRIALS_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/recompute_choice.h"
#include "graph/recompute_order.h"
#include "training/live_bytes.h"
#include "training/recompute_stages.h"

namespace ashlar {

// Returns the operations of a node; 0 if it is cheap to recompute.
double OperationsOf(const Graph& graph, const OperatorNode& node);

// By stage, four bits for each choice: how many times it is recomputed. Sums, which are cheap, have
// kTimesAnew: recomputed for each reader.
using StageMasks = std::vector<uint32_t>;
constexpr uint32_t kTimesAnew = 15, kMostTimes = 6;
constexpr size_t kTimesBits = 4;
constexpr uint32_t TimesIn(uint32_t mask, size_t choice) {
  return mask >> kTimesBits * choice & kTimesAnew;
}
constexpr uint32_t WithTimes(uint32_t mask, size_t choice, uint32_t times) {
  return (mask & ~(kTimesAnew << kTimesBits * choice)) | times << kTimesBits * choice;
}
// Returns how many times a recomputed choice is recomputed, unless checkpoints are nested.
inline uint32_t UsualTimes(const RecomputeChoice& choice) { return choice.is_sum ? kTimesAnew : 1; }
// Returns all masks of a stage: each choice saved or recomputed as usual, and with `nested` another
// number of times.
std::vector<uint32_t> MasksOf(const RecomputeStage& stage, bool nested);

class RecomputeTrials {
 public:
  static constexpr size_t kMostChoices = 6;  // per stage

  // `graph` comes from NormsInHalves, and must outlive this object.
  RecomputeTrials(const Graph& graph, int loss, const PartsOfNodes& parts);

  struct Whole {
    int64_t peak = 0;
    double operations = 0;  // recomputed, without cheap operators
  };
  Whole Try(const StageMasks& masks);
  // Returns the peak in the order that RecomputeStep uses for these vars.
  int64_t PeakOf(const MadeAgain& again) { return FindReach(maker_, live_, again).peak; }

  // Stages [begin, end) considered alone. All vars of later stages are saved. All vars of earlier
  // stages are saved, except, if `sums_again`, the sums of the stage directly before `begin`.
  struct Segment {
    int64_t kept = 0;  // bytes live from there until the gradients of these stages
    int64_t peak = 0;  // the most while these stages and their gradients run, without the saved
                       // tensors of earlier stages
    double operations = 0;
  };
  Segment TrySegment(size_t begin, size_t end, bool sums_again, const StageMasks& masks);

  // How the vars at the end of a stage, which later stages read, become available in the backward
  // pass.
  enum class Boundary {
    kKept,
    kMadeHere,  // recomputed by cheap operators from tensors saved in this stage
    kOpen,      // otherwise: the segment must continue into further stages
  };
  Boundary BoundaryOf(size_t stage, const StageMasks& masks);

  const std::vector<RecomputeStage>& stages() const { return found_.stages; }
  const MadeAgain& cheap() const { return found_.cheap; }
  MadeAgain Again(const StageMasks& masks) const;
  StageMasks AllChoices() const;
  // The operations of the step, without its cheap operators.
  double step_operations() const { return step_operations_; }
  int64_t tries() const { return tries_; }

 private:
  const OrderWithCopies& OrderOf(const StageMasks& masks);
  double Operations(const OrderWithCopies& order) const;

  const Graph& graph_;
  OrderMaker maker_;
  LiveBytes live_;
  RecomputeStages found_;
  std::vector<double> operations_;  // by node; 0 if it is cheap
  // By stage: vars, and positions before the loss.
  std::vector<std::vector<int>> made_, stage_nodes_;
  double step_operations_ = 0;
  MadeAgain again_;
  int64_t tries_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_RECOMPUTE_TRIALS_H_
