// Compares the values of a plan with the values of the whole model.
#ifndef ASHLAR_TOOLS_PLAN_VALUES_H_
#define ASHLAR_TOOLS_PLAN_VALUES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/measure/measure.h"
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
  Tolerance tolerance;
  std::vector<Output> outputs;

  bool ok() const;
  Json ToJson() const;
  std::string ToText() const;
};

// Runs the plan of `request` and the whole model once. The whole model is evaluated on the host in
// double precision if it takes at most 100 million operations. Otherwise it runs untiled, without a
// budget, by exact kernels. A model that computes in integers alone must give the same bits. If the
// whole model cannot be run, nothing is compared. Returns errors of running the plan.
absl::StatusOr<PlanValues> ComparePlanValues(const Model& model, const PlanRequest& request,
                                             const InputTensors& inputs, Console& console);

// Returns the tolerance for rounding errors:
//   integers alone: none
//   Float32: the default tolerance of `compare`
//   16 bits, TF32: a step of 16 bits (TF32 has the same number of fraction bits)
//   8-bit tensors: a share of the signal, because rounding may move a value by a step
Tolerance RoundingTolerance(const Graph& graph, const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PLAN_VALUES_H_
