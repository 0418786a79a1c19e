// Optimizers (the update rules of parameters) and schedules of learning rates.
#ifndef ASHLAR_TRAINING_OPTIMIZER_H_
#define ASHLAR_TRAINING_OPTIMIZER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph_builder.h"

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

// Parses "sgd", "adam" or "adamw".
absl::StatusOr<OptimizerSpec::Kind> ParseOptimizer(absl::string_view name);

// The inputs of a step besides images and labels: vars of the graph.
struct StepInputs {
  int rate = 0;  // Float32 {1}
  int step = 0;  // Int64 {1}, counted from 1; only if UsesStep
};
bool UsesStep(const OptimizerSpec& spec);

// A state and the gradient of the loss with respect to it.
struct Learning {
  std::string name;  // of the state; the optimizer's own states are NAME.momentum and similar
  int state = 0, gradient = 0;
};

// Adds updates of all these states, and the optimizer's own states, which start at zero. Add all
// readers of a state before this call.
absl::Status AddOptimizer(GraphBuilder& builder, const OptimizerSpec& spec,
                          absl::Span<const Learning> learning, const StepInputs& inputs);

// The schedule of the learning rate.
struct RateSchedule {
  enum class Kind { kConstant, kCosine, kStep };
  Kind kind = Kind::kConstant;
  int64_t every = 0;    // kStep: epochs
  double factor = 0.1;  // kStep

  // Returns the rate of step `step` (from 0) of `steps`, with `per_epoch` steps an epoch. kCosine
  // ends at 0 after the last step.
  double RateAt(double first, int64_t step, int64_t steps, int64_t per_epoch) const;
  std::string ToString() const;
};

// Parses "constant", "cosine" or "step:EPOCHS[:FACTOR]".
absl::StatusOr<RateSchedule> ParseSchedule(absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_OPTIMIZER_H_
