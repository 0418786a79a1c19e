// Compares the values of a plan with the values of the whole model.
#ifndef ASHLAR_TOOLS_PLAN_VALUES_H_
#define ASHLAR_TOOLS_PLAN_VALUES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/measure/measure.h"
#include "serialization/npz.h"
#include "tools/console.h"
#include "tools/difference.h"
#include "tools/json_output.h"
#include "tools/model.h"

namespace ashlar {

struct PlanValues {
  struct Output {
    std::string name;
    Difference difference;
  };
  std::string against;   // "the reference on the host", "the whole model"
  std::string left_out;  // the reason why nothing was compared; otherwise empty
  std::vector<Output> outputs;

  bool ok() const;
  Json ToJson() const;
  std::string ToText() const;
};

// Runs the plan of `request` and the whole model once, and compares each output within its
// OutputTolerance. The whole model is evaluated on the host in double precision if it takes at most
// 100 million operations. It runs untiled, without a budget, by exact kernels, if it takes more, or
// if an output rounds floats to integers. If it cannot be run, nothing is compared. Returns errors
// of running the plan.
absl::StatusOr<PlanValues> ComparePlanValues(const Model& model, const PlanRequest& request,
                                             const InputTensors& inputs, Console& console);

// Compares the outputs of two runs, within the OutputTolerances of the graph. Internal if they do
// not have the same names, dtypes and shapes.
absl::StatusOr<std::vector<PlanValues::Output>> CompareOutputs(const Graph& graph,
                                                               const PlanRequest& request,
                                                               const NamedTensors& actual,
                                                               const NamedTensors& expected);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PLAN_VALUES_H_
