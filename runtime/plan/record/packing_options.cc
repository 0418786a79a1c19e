#include "runtime/plan/record/packing_options.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/status.h"
#include "runtime/plan/request/request_options.h"

namespace ashlar {
namespace {

// Increase it when kernels change their packing but not its key.
constexpr char kLayouts[] = "layouts 2";
constexpr char kPasses[] = "passes";

// Options with a budget's answer: tiles, and kernels that they fit with.
bool IsFoundForBudget(const RequestOption& option) {
  return option.name == "tile" || option.name == "prefer";
}

bool IsOfBudget(const RequestOption& option) {
  return option.name == "memory-budget" || option.needs == "memory-budget";
}

bool SameBudget(const PlanRequest& a, const PlanRequest& b) {
  return a.target.budget && b.target.budget && a.target.budget->bytes == b.target.budget->bytes &&
         a.target.budget->max_extra_flops == b.target.budget->max_extra_flops;
}

// Sets the option of "exact on"; false: there is none, or it has another form.
bool SetPacked(absl::string_view part, PlanRequest& request) {
  for (const RequestOption& option : RequestOptions()) {
    absl::string_view value = part;
    if (option.packed == nullptr ||
        !absl::ConsumePrefix(&value, absl::StrCat(option.packed, " "))) {
      continue;
    }
    return option.set(value, request).ok();
  }
  return part == kLayouts;
}

}  // namespace

std::string PackingOptionsText(const PlanRequest& request) {
  const PlanRequest defaults;
  std::string text = kLayouts;
  for (const RequestOption& option : RequestOptions()) {
    if (option.packed == nullptr) continue;
    const std::string value = option.get(request);
    if (option.name != kPasses && value == option.get(defaults)) continue;
    absl::StrAppend(&text, ", ", option.packed, " ", value);
  }
  return text;
}

absl::StatusOr<PlanRequest> ParsePackingOptions(absl::string_view text) {
  PlanRequest request;
  for (absl::string_view part : absl::StrSplit(text, ", ")) {
    if (SetPacked(part, request)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("weights are packed under '", text.substr(0, 200), "', of which this version ",
                     "does not know '", part.substr(0, 64), "'"));
  }
  return request;
}

absl::Status CheckSamePacking(const PlanRequest& packed, const PlanRequest& asked) {
  std::string has, wants;
  for (const RequestOption& option : RequestOptions()) {
    if (option.packed == nullptr || (IsOfBudget(option) && !asked.target.budget)) continue;
    const std::string a = option.get(packed), b = option.get(asked);
    if (a == b) continue;
    const char* const comma = has.empty() ? "" : ", ";
    absl::StrAppend(&has, comma, option.packed, " ", a);
    absl::StrAppend(&wants, comma, option.packed, " ", b);
  }
  if (has.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("weights are packed under '", has, "', asked for is '", wants, "'"));
}

void TakePackedOptions(absl::string_view packed,
                       absl::FunctionRef<bool(absl::string_view name)> given,
                       PlanRequest& request) {
  const absl::StatusOr<PlanRequest> file = ParsePackingOptions(packed);
  if (!file.ok()) return;
  request.target.tuned_tiles = false;
  const bool searches = request.target.budget && !SameBudget(*file, request);
  if (!searches) request.target.budget.reset();  // its tiles were found when the file was packed
  for (const RequestOption& option : RequestOptions()) {
    const bool differs_by_model = option.name == "precision" || IsOfBudget(option);
    if (option.packed == nullptr || differs_by_model || given(option.name)) continue;
    if (searches && IsFoundForBudget(option)) continue;
    option.set(option.get(*file), request).IgnoreError();  // the text that `set` has read
  }
}

}  // namespace ashlar
