// The options of a plan request, in one table. The command line, the C and Python interfaces, plan
// files and packed files iterate over it, so names, texts and defaults are the same everywhere.
#ifndef ASHLAR_RUNTIME_PLAN_REQUEST_REQUEST_OPTIONS_H_
#define ASHLAR_RUNTIME_PLAN_REQUEST_REQUEST_OPTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/plan/request/plan_request.h"

namespace ashlar {

// The form of an option's value in plan files: its text, a bool or an integer.
enum class ValueForm { kText, kSwitch, kNumber };

// Whether plan files store an option.
enum class InPlanFiles {
  kChanged,  // unless it has the default
  kAlways,   // all versions expect it
  kNever,    // they store its effect, or another form of it
};

struct RequestOption {
  std::string name;          // "memory-budget", which is --memory-budget of the command
  std::string metavar = {};  // of its value, in help texts; empty: a switch, "on" or "off"
  std::string help;          // with the default
  // Sets the option in a request; InvalidArgument quotes the text and names the expected form.
  absl::Status (*set)(absl::string_view text, PlanRequest& request);
  // Returns the option of a request as text. `set` takes it if the option is packed, or not the
  // default.
  std::string (*get)(const PlanRequest& request);
  // The name in packed files, if weights or their graph depend on the option. Otherwise null.
  const char* packed = nullptr;
  ValueForm form = ValueForm::kText;
  InPlanFiles in_plan_files = InPlanFiles::kChanged;
  std::string plan_key = {};  // in plan files; empty: the name, with underscores
  // Whether the same plan needs the same value. Otherwise the option is about a search or the
  // execution.
  bool repeats = false;
  std::vector<std::string> excludes = {};  // names of options before it that conflict with it
  std::string needs = {};                  // the name of an option before it; empty: none
};

const std::vector<RequestOption>& RequestOptions();

// Returns the key of an option in plan files.
std::string PlanKey(const RequestOption& option);

// Returns null if there is no such option. Takes "memory_budget" for "memory-budget".
const RequestOption* FindRequestOption(absl::string_view name);

// Texts of options, by name.
using OptionTexts = std::map<std::string, std::string, std::less<>>;

// Parses "planner=exact inplace=off"; a name without a value is a switch.
absl::StatusOr<OptionTexts> ParseOptionTexts(absl::string_view text);

// Writes the name of an option for a message: "--passes".
using SpellOption = absl::FunctionRef<std::string(absl::string_view name)>;
inline std::string AsInTheTable(absl::string_view name) { return std::string(name); }

// Returns the options of a request that repeat its plan (RequestOption::repeats), except defaults.
OptionTexts OptionsToRepeat(const PlanRequest& request);

// Sets options in a request, in the order of the table. InvalidArgument names the option: unknown,
// in conflict with another one, or with an invalid text.
absl::Status SetOptions(const OptionTexts& texts, PlanRequest& request,
                        SpellOption spell = AsInTheTable);

// Returns InvalidArgument if options of the request conflict with its device or with each other.
absl::Status CheckTogether(const PlanRequest& request, SpellOption spell);

// Parses "fp32", "fp16" or "bf16".
absl::StatusOr<DType> ParsePrecision(absl::string_view text);

// Parses tiles: a spec, or "none", which is an empty spec: untiled, even if there are tuned tiles.
absl::StatusOr<TileSpec> ParseTilesOrNone(absl::string_view text);

// Parses a size in bytes; "min" is 0.
absl::StatusOr<int64_t> ParseBudget(absl::string_view text);

// Parses a number of at least 0.
absl::StatusOr<double> ParseRatio(absl::string_view text);
// Returns the shortest text that ParseRatio reads as the same number.
std::string RatioText(double ratio);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_REQUEST_REQUEST_OPTIONS_H_
