#include "tools/compare_options.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graph/status.h"
#include "tools/exit_code.h"
#include "tools/option_kinds.h"

namespace ashlar {
namespace {

absl::StatusOr<MetricChoice> ParseChoice(absl::string_view text) {
  MetricChoice choice;
  absl::string_view score = text;
  double number = 0;
  if (absl::ConsumePrefix(&score, "boxes:")) {
    if (absl::SimpleAtod(score, &number) && number >= 0) {
      choice.boxes = number;
      return choice;
    }
    return absl::InvalidArgumentError(absl::StrCat("'", score, "' is no score, as in boxes:0.5"));
  }
  ASHLAR_ASSIGN_OR_RETURN(choice.metric, ParseMetric(text));
  return choice;
}

// Returns name and number of NAME=X, or an empty name and X. Names may contain '='.
std::pair<absl::string_view, absl::string_view> Split(absl::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == absl::string_view::npos) return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

std::optional<double> ToleranceFlags::Of(absl::string_view output) const {
  std::optional<double> found;
  for (const std::string& text : given) {
    const auto [name, value] = Split(text);
    double number = 0;
    const bool is_named = !name.empty() && name == output;
    if (is_named && absl::SimpleAtod(value, &number)) return number;
    if (name.empty() && absl::SimpleAtod(value, &number)) found = number;
  }
  return found;
}

absl::Status ToleranceFlags::Check(absl::string_view option) const {
  for (const std::string& text : given) {
    const auto [name, value] = Split(text);
    double number = 0;
    if (absl::SimpleAtod(value, &number) && number >= 0 && std::isfinite(number)) continue;
    return UsageError(absl::StrCat(option, ": '", value, "' is not a number of at least 0"));
  }
  return absl::OkStatus();
}

absl::Status ToleranceFlags::CheckNames(absl::string_view option, const Graph& graph) const {
  std::vector<std::string> names;
  for (const Binding& output : graph.outputs()) names.push_back(output.name);
  for (const std::string& text : given) {
    const absl::string_view name = Split(text).first;
    if (name.empty() || std::find(names.begin(), names.end(), name) != names.end()) continue;
    return UsageError(
        absl::StrCat(option, ": no output '", name, "'; there are: ", absl::StrJoin(names, ", ")));
  }
  return absl::OkStatus();
}

void CompareOptions::Declare(CLI::App& app) {
  app_ = &app;
  AddModelFlags(app, model_);
  app.add_option("OTHER", other_,
                 "a model of the same inputs, or beside a profile dump (.json) another one")
      ->option_text(" ");
  const OptionGroup comparison(app, "Comparison");
  AddText(comparison, "--ref", reference_, "FILE.npz|host",
          "outputs in a file, or `host` for the reference (default)");
  AddParsed(comparison, "--metric", metric_, ParseChoice, "NAME",
            "max (over the largest element; default), elemwise, nmse, cosine, or boxes:SCORE: "
            "detections from the score on");
  AddRepeated(comparison, "--atol", atol_.given, "X|NAME=X",
              "absolute tolerance, also of one output (default 1e-6, or of the largest value if "
              "that is below 1; integers must be equal)");
  AddRepeated(comparison, "--rtol", rtol_.given, "X|NAME=X",
              "relative tolerance, also of one output (default 1e-3; integers must be equal)");
  AddText(comparison, "--layers", layers_, "all|outputs", "`all`: every value that both sides have")
      ->check(CLI::IsMember({"all", "outputs"}));
  AddFlag(comparison, "--fail-fast", fail_fast_, "stop at the first difference");
  AddFlag(comparison, "--check-finite", tolerance_.check_finite,
          "NaN and infinity are differences");
  AddInputFlags(app, inputs_);
  AddExecutionFlags(app, execution_);
  AddPlanningFlags(app, planning_);
  AddPlanFileFlag(app, planning_);
  AddParsed(
      app, "--device-b", execution_b_.device, CompNode::Parse, "cpu0:0|gpu0:0",
      "the device of the other side; other planning options have twins with -b, too (--passes-b)")
      ->group("Planning");
  AddPlanningFlags(app, planning_b_, "-b");
}

absl::Status CompareOptions::CheckOptions() const {
  ASHLAR_RETURN_IF_ERROR(atol_.Check("--atol"));
  ASHLAR_RETURN_IF_ERROR(rtol_.Check("--rtol"));
  if (ComparesDumps()) return absl::OkStatus();
  ASHLAR_RETURN_IF_ERROR(CheckOther());
  ASHLAR_RETURN_IF_ERROR(CheckReference());
  ASHLAR_RETURN_IF_ERROR(CheckTogether(execution_, planning_));
  const auto [execution, planning] = OtherFlags();
  return CheckTogether(execution, planning);
}

std::vector<IdleOptions> CompareOptions::Idle(const ConsoleFlags&) const {
  std::vector<IdleOptions> idle;
  if (ComparesDumps()) {
    idle.push_back({AllBut(*app_, {"MODEL", "OTHER"}), "profile dumps are records"});
  }
  if (layers_ != "all") idle.push_back({{"--fail-fast"}, "it is for --layers all"});
  if (metric_.boxes) {
    idle.push_back(
        {{"--atol", "--rtol", "--layers", "--check-finite"}, "--metric boxes compares detections"});
  }
  return idle;
}

bool CompareOptions::ComparesDumps() const {
  return HasEnding(model_.path, ".json") && HasEnding(other_, ".json");
}

absl::Status CompareOptions::CheckOther() const {
  if (other_.empty()) return absl::OkStatus();
  if (HasEnding(model_.path, ".json") != HasEnding(other_, ".json")) {
    return UsageError(absl::StrCat(model_.path, " and ", other_,
                                   ": compare two models, or two profile dumps (.json)"));
  }
  if (!reference_.empty()) return UsageError("--ref and another model exclude each other");
  if (layers_ == "all") {
    return UsageError(
        "--layers all compares two plans of one model; of two models the outputs "
        "are compared");
  }
  return absl::OkStatus();
}

bool CompareOptions::HasOtherPlan() const {
  return app_->count("--device-b") > 0 || !planning_b_.given.empty();
}

absl::Status CompareOptions::CheckReference() const {
  const bool file = !reference_.empty() && reference_ != "host";
  if (!reference_.empty() && HasOtherPlan()) {
    return UsageError("--ref and another plan (--passes-b, ...) exclude each other");
  }
  if (file && layers_ == "all") {
    return UsageError("--layers all needs the host reference or another plan, not a file");
  }
  return absl::OkStatus();
}

std::pair<ExecutionFlags, PlanningFlags> CompareOptions::OtherFlags() const {
  ExecutionFlags execution = execution_;
  PlanningFlags planning = planning_;
  planning.suffix = planning_b_.suffix;
  planning.plan_file.clear();
  if (app_->count("--device-b") > 0) {
    execution.device = execution_b_.device;
    if (execution.device.type == CompNode::Type::kCpu) execution.precision = DType::kFloat32;
  }
  planning.SetAll(planning_b_);
  return {execution, planning};
}

Tolerance CompareOptions::ToleranceOf(absl::string_view output) const {
  Tolerance tolerance = tolerance_;
  const std::optional<double> atol = atol_.Of(output), rtol = rtol_.Of(output);
  tolerance.atol_of_largest = !atol;
  tolerance.exact_integers = !atol && !rtol;
  tolerance.atol = atol.value_or(tolerance.atol);
  tolerance.rtol = rtol.value_or(tolerance.rtol);
  return tolerance;
}

}  // namespace ashlar
