#include "training/optimizer.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"
#include "opr/table.h"
#include "opr/update.h"

namespace ashlar {
namespace {

constexpr const char* kOptimizerNames[] = {"sgd", "adam", "adamw"};

// Adds a state of zeros, of the type of another one.
absl::StatusOr<int> AddZeros(GraphBuilder& builder, int like, const std::string& name) {
  const TensorType type = builder.graph().var(like).type;
  GraphBuilder::NodeOptions options;
  options.name = name;
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                          builder.Add(Operators().MakeState(HostTensor::Zeros(type)), {}, options));
  return made[0];
}

}  // namespace

std::string OptimizerSpec::ToString() const {
  std::string text = kOptimizerNames[static_cast<size_t>(kind)];
  if (kind == Kind::kSgd) {
    absl::StrAppend(&text, " momentum=", momentum, nesterov ? " nesterov" : "");
  } else {
    absl::StrAppend(&text, " betas=", beta1, ",", beta2);
  }
  return absl::StrCat(text, " weight_decay=", weight_decay);
}

absl::StatusOr<OptimizerSpec::Kind> ParseOptimizer(absl::string_view name) {
  for (size_t i = 0; i < std::size(kOptimizerNames); ++i) {
    if (name == kOptimizerNames[i]) return static_cast<OptimizerSpec::Kind>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no optimizer; expected sgd, adam or adamw"));
}

bool UsesStep(const OptimizerSpec& spec) { return spec.kind != OptimizerSpec::Kind::kSgd; }

absl::Status AddOptimizer(GraphBuilder& builder, const OptimizerSpec& spec,
                          absl::Span<const Learning> learning, const StepInputs& inputs) {
  for (const Learning& l : learning) {
    OperatorPtr op;
    std::vector<int> operands = {l.state, l.gradient, inputs.rate};
    std::vector<std::string> states;
    if (spec.kind == OptimizerSpec::Kind::kSgd) {
      op = std::make_shared<const SgdUpdate>(
          SgdUpdateParam{spec.momentum, spec.weight_decay, spec.nesterov});
      if (spec.momentum != 0) states = {".momentum"};
    } else {
      op = std::make_shared<const AdamUpdate>(
          AdamUpdateParam{spec.beta1, spec.beta2, spec.epsilon, spec.weight_decay,
                          spec.kind == OptimizerSpec::Kind::kAdamW});
      operands.push_back(inputs.step);
      states = {".adam_mean", ".adam_square"};
    }
    for (const std::string& suffix : states) {
      ASHLAR_ASSIGN_OR_RETURN(const int zeros, AddZeros(builder, l.state, l.name + suffix));
      operands.push_back(zeros);
    }
    GraphBuilder::NodeOptions options;
    options.name = l.name + ".update";
    ASHLAR_RETURN_IF_ERROR(builder.Add(std::move(op), std::move(operands), options).status());
  }
  return absl::OkStatus();
}

double RateSchedule::RateAt(double first, int64_t step, int64_t steps, int64_t per_epoch) const {
  switch (kind) {
    case Kind::kConstant:
      break;
    case Kind::kCosine:
      return first / 2 *
             (1 + std::cos(std::numbers::pi * static_cast<double>(step) /
                           static_cast<double>(std::max<int64_t>(steps, 1))));
    case Kind::kStep:
      return first * std::pow(factor, static_cast<double>(step / per_epoch / every));
  }
  return first;
}

std::string RateSchedule::ToString() const {
  switch (kind) {
    case Kind::kConstant:
      break;
    case Kind::kCosine:
      return "cosine";
    case Kind::kStep:
      return absl::StrCat("step:", every, ":", factor);
  }
  return "constant";
}

absl::StatusOr<RateSchedule> ParseSchedule(absl::string_view text) {
  RateSchedule schedule;
  if (text == "constant") return schedule;
  if (text == "cosine") {
    schedule.kind = RateSchedule::Kind::kCosine;
    return schedule;
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  schedule.kind = RateSchedule::Kind::kStep;
  const bool counted = parts.size() >= 2 && parts.size() <= 3 && parts[0] == "step" &&
                       absl::SimpleAtoi(parts[1], &schedule.every) && schedule.every > 0;
  const bool falls = parts.size() < 3 || (absl::SimpleAtod(parts[2], &schedule.factor) &&
                                          schedule.factor > 0 && schedule.factor <= 1);
  if (counted && falls) return schedule;
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is no schedule; expected constant, cosine or step:EPOCHS[:FACTOR]"));
}

}  // namespace ashlar
