// How long a plan will take: the times of its kernels, each measured alone.
#ifndef ASHLAR_RUNTIME_TIME_PREDICTION_H_
#define ASHLAR_RUNTIME_TIME_PREDICTION_H_

#include "absl/status/statusor.h"
#include "runtime/planned_graph.h"

namespace ashlar {

// Milliseconds of one run: for each kernel of the plan, which equal operators share, its time times
// the number of operators. Kernels run on memory of their own, one after another as in the plan, so
// that weights have left the caches by the time that they are read again. Takes about as long as
// three runs of one of each.
absl::StatusOr<double> PredictTime(const PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_TIME_PREDICTION_H_
