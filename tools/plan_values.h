// The values of a plan against those of the whole model.
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
  std::string left_out;  // why nothing was compared; else empty
  Tolerance tolerance;
  std::vector<Output> outputs;

  bool ok() const;
  Json ToJson() const;
  std::string ToText() const;
};

// Runs the plan of `request` and the whole model once. The whole model is evaluated on the host in
// double precision if it takes at most 100 million operations; otherwise it runs untiled, without a
// budget, by exact kernels. A model that computes in integers alone must give the same bits. If the
// whole model cannot be had, nothing is compared. Errors are those of running the plan.
absl::StatusOr<PlanValues> ComparePlanValues(const Model& model, const PlanRequest& request,
                                             const InputTensors& inputs, Console& console);

// The error that rounding may make: none in a model that computes in integers alone, the default
// tolerance of `compare` in Float32, a step of 16 bits, whose fractions TF32's are; with tensors of
// 8 bits, whose steps rounding may move, a share of the signal.
Tolerance RoundingTolerance(const Graph& graph, const PlanRequest& request);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PLAN_VALUES_H_
