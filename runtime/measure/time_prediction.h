// How long a plan will take: the times of its kernels, each measured alone.
#ifndef ASHLAR_RUNTIME_MEASURE_TIME_PREDICTION_H_
#define ASHLAR_RUNTIME_MEASURE_TIME_PREDICTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/planned_graph.h"

namespace ashlar {

// For each kernel of the plan, which equal operators share, its median time times the number of
// operators. Kernels run on memory of their own, one after another as in the plan, so that weights
// have left the caches by the time that they are read again.
class TimePrediction {
 public:
  // `planned` must outlive it.
  static absl::StatusOr<std::unique_ptr<TimePrediction>> Create(const PlannedGraph& planned);
  ~TimePrediction();

  // Runs each kernel once more. At least one such round comes before milliseconds().
  absl::Status Measure();
  // Of one run.
  double milliseconds() const;

 private:
  class Samples;
  TimePrediction();

  std::unique_ptr<Samples> samples_;
};

// The same from at least three rounds, which take some two seconds where they can. For a device
// that can only be planned for it is an estimate by arithmetic and traffic.
absl::StatusOr<double> PredictTime(const PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_MEASURE_TIME_PREDICTION_H_
