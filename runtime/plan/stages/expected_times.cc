#include "runtime/plan/stages/expected_times.h"

#include "runtime/plan/stages/time_estimate.h"

namespace ashlar {

std::vector<double> ExpectedTimes(const PlannedGraph& planned) {
  const ProcessorSpeed speed = SpeedOf(*planned.device, planned.request.target, planned.planning);
  std::vector<double> times(planned.graph.nodes().size(), 0);
  for (size_t i = 0; i < times.size(); ++i) {
    const Kernel* const kernel = planned.kernels[i].get();
    if (kernel == nullptr) continue;
    times[i] = EstimateOperator(planned.graph, planned.model, static_cast<int>(i), speed,
                                /*share=*/1, kernel);
  }
  return times;
}

}  // namespace ashlar
