// Optimizers: the rule by which a step changes parameters, and the rates from step to step.
#ifndef ASHLAR_TRAINING_OPTIMIZER_H_
#define ASHLAR_TRAINING_OPTIMIZER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace ashlar {

struct OptimizerSpec {
  enum class Kind { kSgd, kAdam, kAdamW };
  Kind kind = Kind::kSgd;
  double momentum = 0.9;  // of SGD
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // of Adam

  std::string ToString() const;  // "sgd momentum=0.9 weight_decay=0"
};

// "sgd", "adam" or "adamw".
absl::StatusOr<OptimizerSpec::Kind> ParseOptimizer(absl::string_view name);

// The inputs of a step beside images and labels: vars of the graph.
struct StepInputs {
  int rate = 0;  // Float32 {1}
  int step = 0;  // Int64 {1}, counted from 1; only where UsesStep
};
bool UsesStep(const OptimizerSpec& spec);

// A state and the gradient of the loss by it.
struct Learning {
  std::string name;  // of the state; the optimizer's own states are NAME.momentum and the like
  int state = 0, gradient = 0;
};

// Adds updates of all these, and the optimizer's states, which begin with zeros. What reads a state
// has to be in the graph by now.
absl::Status AddOptimizer(GraphBuilder& builder, const OptimizerSpec& spec,
                          absl::Span<const Learning> learning, const StepInputs& inputs);

// How the rate goes on from its first value.
struct RateSchedule {
  enum class Kind { kConstant, kCosine, kStep };
  Kind kind = Kind::kConstant;
  int64_t every = 0;    // kStep: epochs
  double factor = 0.1;  // kStep

  // Of step `step` (from 0) of `steps` in all, `per_epoch` an epoch. kCosine ends at 0 behind the
  // last one.
  double RateAt(double first, int64_t step, int64_t steps, int64_t per_epoch) const;
  std::string ToString() const;
};

// "constant", "cosine" or "step:EPOCHS[:FACTOR]".
absl::StatusOr<RateSchedule> ParseSchedule(absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_OPTIMIZER_H_
