#include "runtime/plan/request/request_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "graph/nearest_name.h"
#include "graph/parse.h"
#include "graph/passes/pass.h"
#include "graph/status.h"
#include "memory/planner.h"
#include "memory/problem/work.h"

namespace ashlar {
namespace {

constexpr int64_t kMostAlignment = int64_t{1} << 30;
constexpr double kAnyFlops = std::numeric_limits<double>::infinity();

// Stores a parsed value, or returns its error.
template <typename T, typename Target>
absl::Status Store(absl::StatusOr<T> value, Target& target) {
  if (value.ok()) target = *std::move(value);
  return value.status();
}

std::string OnOff(bool on) { return on ? "on" : "off"; }

absl::StatusOr<std::optional<Processor>> ParseProcessor(absl::string_view text) {
  if (text == "host") return std::optional<Processor>();
  ASHLAR_ASSIGN_OR_RETURN(const Processor processor, Processor::Parse(text));
  return std::optional<Processor>(processor);
}

std::string PlannerNames() {
  return absl::StrJoin(memory::Planners(), ", ", [](std::string* out, const auto& planner) {
    absl::StrAppend(out, planner->name());
  });
}

std::string PassNames() {
  return absl::StrJoin(AllPasses(), ",",
                       [](std::string* out, const Pass& pass) { out->append(pass.name); });
}

absl::Status SetPlanner(absl::string_view text, PlanRequest& request) {
  if (memory::FindPlanner(text) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown planner '", text.substr(0, 80), "'; there are: ", PlannerNames()));
  }
  request.planning.planner.planner = std::string(text);
  return absl::OkStatus();
}

absl::Status SetPasses(absl::string_view text, PlanRequest& request) {
  request.planning.passes = std::string(text);
  return SelectPasses(text).status();
}

absl::StatusOr<int64_t> ParseAlignment(absl::string_view text) {
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  if (bytes > 0 && (bytes & (bytes - 1)) == 0 && bytes <= kMostAlignment) return bytes;
  return absl::InvalidArgumentError(absl::StrCat(bytes, " is not a power of two from 1 to 1 GiB"));
}

// Work is counted in milliseconds of a usual processor.
absl::StatusOr<int64_t> ParseWork(absl::string_view text) {
  ASHLAR_ASSIGN_OR_RETURN(const absl::Duration time, ParseDuration(text));
  const absl::Duration most =
      absl::Milliseconds(memory::kEndlessWork / memory::kWorkPerMillisecond);
  return absl::ToInt64Milliseconds(std::min(time, most)) * memory::kWorkPerMillisecond;
}

absl::Status SetMemoryBudget(absl::string_view text, PlanRequest& request) {
  if (text == "none") {
    request.target.budget.reset();
    return absl::OkStatus();
  }
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseBudget(text));
  request.target.budget = MemoryBudget{bytes, kAnyFlops, false};
  return absl::OkStatus();
}

absl::Status SetTotalBudget(absl::string_view text, PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  if (bytes == 0) return absl::InvalidArgumentError("a budget of no bytes");
  request.target.total = TotalBudget{bytes};
  return absl::OkStatus();
}

absl::Status SetWeightsBudget(absl::string_view text, PlanRequest& request) {
  if (text == "none") {
    request.target.weights_budget.reset();
    return absl::OkStatus();
  }
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  if (bytes == 0) return absl::InvalidArgumentError("a budget of no bytes");
  request.target.weights_budget = bytes;
  return absl::OkStatus();
}

absl::Status SetPanels(absl::string_view text, PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  if (bytes == 0) return absl::InvalidArgumentError("panels of no bytes");
  request.planning.panel_bytes = bytes;
  return absl::OkStatus();
}

absl::Status SetChannelGroups(absl::string_view text, PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(request.planning.group_bytes, ParseSize(text));
  return absl::OkStatus();
}

absl::Status SetWeightsSpeed(absl::string_view text, PlanRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  if (bytes == 0) return absl::InvalidArgumentError("no byte a second");
  request.planning.weights_speed = bytes;
  return absl::OkStatus();
}

// Has no effect without a budget.
absl::Status SetExtraFlops(absl::string_view text, PlanRequest& request) {
  double ratio = kAnyFlops;
  if (text != "any") ASHLAR_RETURN_IF_ERROR(Store(ParseRatio(text), ratio));
  if (request.target.budget) request.target.budget->max_extra_flops = ratio;
  return absl::OkStatus();
}

std::string ExtraFlops(const PlanRequest& request) {
  const std::optional<MemoryBudget>& budget = request.target.budget;
  if (!budget || budget->max_extra_flops == kAnyFlops) return "any";
  return RatioText(budget->max_extra_flops);
}

// Short names for the functions of the table.
using Text = absl::string_view;
using Request = PlanRequest;

std::vector<RequestOption> MakeOptions() {
  return {
      {.name = "precision",
       .metavar = "fp32|fp16|bf16",
       .help = "tensors of 16 bits, with arithmetic in fp32 (default fp32)",
       .set = [](Text t, Request& r) { return Store(ParsePrecision(t), r.target.precision); },
       .get = [](const Request& r) { return std::string(Name(r.target.precision)); },
       .packed = "precision",
       .in_plan_files = InPlanFiles::kAlways,
       .repeats = true},
      {.name = "allow-tf32",
       .help = "on a GPU: products of fp32 numbers rounded to 10 bits of fraction",
       .set = [](Text t,
                 Request& r) { return Store(ParseSwitch(t), r.planning.kernels.allow_tf32); },
       .get = [](const Request& r) { return OnOff(r.planning.kernels.allow_tf32); },
       .form = ValueForm::kSwitch,
       .in_plan_files = InPlanFiles::kAlways,
       .repeats = true},
      {.name = "processor",
       .metavar = "SPEC",
       .help = "the processor to plan for: avx2/32K/512K (instructions, L1 and L2 caches), ..., or "
               "host (default, or $ASHLAR_PROCESSOR); on mcu0:0 generic (default), cortex-m4, "
               "cortex-m7, cortex-m55 or rv32imc",
       .set = [](Text t, Request& r) { return Store(ParseProcessor(t), r.target.processor); },
       .get =
           [](const Request& r) {
             return r.target.processor ? r.target.processor->ToString() : "host";
           },
       .in_plan_files = InPlanFiles::kNever},
      {.name = "planner",
       .metavar = "NAME",
       .help = PlannerNames(),
       .set = SetPlanner,
       .get = [](const Request& r) { return r.planning.planner.planner; },
       .in_plan_files = InPlanFiles::kAlways,
       .repeats = true},
      {.name = "scheduler",
       .metavar = "memory|megengine",
       .help = "the order of operators: with the least peak (default), or MegEngine's",
       .set = [](Text t, Request& r) { return Store(ParseOrder(t), r.planning.order); },
       .get = [](const Request& r) { return std::string(Name(r.planning.order)); },
       .in_plan_files = InPlanFiles::kAlways,
       .repeats = true},
      {.name = "passes",
       .metavar = "all|none|LIST",
       .help = absl::StrCat("rewrites of the graph, some of ", PassNames(), " (default all)"),
       .set = SetPasses,
       .get = [](const Request& r) { return r.planning.passes; },
       .packed = "passes",
       .in_plan_files = InPlanFiles::kAlways,
       .repeats = true},
      {.name = "inplace",
       .metavar = "on|off",
       .help = "views replace copies, and outputs overwrite inputs that nothing reads later "
               "(default on)",
       .set = [](Text t, Request& r) { return Store(ParseSwitch(t), r.planning.inplace); },
       .get = [](const Request& r) { return OnOff(r.planning.inplace); },
       .packed = "inplace",
       .form = ValueForm::kSwitch,
       .in_plan_files = InPlanFiles::kAlways,
       .repeats = true},
      {.name = "release-input",
       .help = "inputs lie in the arena, which reuses their rows after they are read",
       .set = [](Text t, Request& r) { return Store(ParseSwitch(t), r.target.release_input); },
       .get = [](const Request& r) { return OnOff(r.target.release_input); },
       .form = ValueForm::kSwitch,
       .repeats = true},
      {.name = "prefer",
       .metavar = "speed|memory",
       .help = "faster kernels (default), or kernels with small weights and the least workspace",
       .set =
           [](Text t, Request& r) {
             return Store(ParseName<bool>(t, {{"speed", false}, {"memory", true}}),
                          r.planning.kernels.low_workspace);
           },
       .get =
           [](const Request& r) {
             return std::string(r.planning.kernels.low_workspace ? "memory" : "speed");
           },
       .packed = "prefer",
       .in_plan_files = InPlanFiles::kAlways,
       .repeats = true},
      {.name = "exact",
       .help = "direct convolutions only, no Winograd",
       .set = [](Text t, Request& r) { return Store(ParseSwitch(t), r.planning.kernels.exact); },
       .get = [](const Request& r) { return OnOff(r.planning.kernels.exact); },
       .packed = "exact",
       .form = ValueForm::kSwitch,
       .in_plan_files = InPlanFiles::kAlways,
       .repeats = true},
      {.name = "extra-scratch",
       .metavar = "SIZE",
       .help = "bytes by which workspaces of faster kernels may raise the arena (default 0)",
       .set = [](Text t, Request& r) { return Store(ParseSize(t), r.planning.extra_workspace); },
       .get = [](const Request& r) { return absl::StrCat(r.planning.extra_workspace); },
       .form = ValueForm::kNumber,
       .in_plan_files = InPlanFiles::kAlways,
       .plan_key = "extra_scratch_bytes",
       .repeats = true},
      {.name = "align",
       .metavar = "N",
       .help = "alignment of buffers, and of an arena that is less aligned, in bytes (default: the "
               "device's)",
       .set = [](Text t, Request& r) { return Store(ParseAlignment(t), r.debug.alignment); },
       .get = [](const Request& r) { return absl::StrCat(r.debug.alignment); },
       .form = ValueForm::kNumber,
       .in_plan_files = InPlanFiles::kAlways,
       .plan_key = "alignment",
       .repeats = true},
      {.name = "plan-time",
       .metavar = "TIME",
       .help = "work of the search for addresses, counted and not timed (default 250ms; four times "
               "as much for tiles); with less, min tries fewer tiles, from 1s on more",
       .set = [](Text t,
                 Request& r) { return Store(ParseWork(t), r.planning.planner.limits.work); },
       .get =
           [](const Request& r) {
             return absl::FormatDuration(
                 absl::Milliseconds(r.planning.planner.limits.work / memory::kWorkPerMillisecond));
           },
       .in_plan_files = InPlanFiles::kNever,
       .repeats = true},
      {.name = "tile",
       .metavar = "SPEC|none",
       .help = "compute in tiles, as `plan --memory-budget` prints them: FROM-TO:KIND[;...], with "
               "ids of operators (`inspect --nodes`) and the kinds batchN, rowsN, linesN[~ID...], "
               "rollingN[~ID...], gridNxM or inputgridNxM; none: no tiles, not even measured ones",
       .set = [](Text t, Request& r) { return Store(ParseTilesOrNone(t), r.target.tiles); },
       .get =
           [](const Request& r) {
             return r.target.tiles.empty() ? "none" : r.target.tiles.ToString();
           },
       .packed = "tile",
       .in_plan_files = InPlanFiles::kNever,
       .repeats = true},
      {.name = "memory-budget",
       .metavar = "SIZE|min",
       .help = "the fastest plan whose arena has at most so many bytes, in tiles if necessary; "
               "exit 3 if there is none; min: the smallest arena",
       .set = SetMemoryBudget,
       .get =
           [](const Request& r) {
             const std::optional<MemoryBudget>& budget = r.target.budget;
             return !budget ? "none" : budget->bytes == 0 ? "min" : absl::StrCat(budget->bytes);
           },
       .packed = "budget",
       .in_plan_files = InPlanFiles::kNever,
       .excludes = {"tile"}},
      {.name = "total-budget",
       .metavar = "SIZE",
       .help = "the fastest plan whose process takes at most so many bytes, with smaller weights "
               "or in tiles if necessary; exit 3 if there is none",
       .set = SetTotalBudget,
       .get =
           [](const Request& r) {
             return r.target.total ? absl::StrCat(r.target.total->bytes) : "none";
           },
       .in_plan_files = InPlanFiles::kNever,
       .excludes = {"memory-budget"}},
      {.name = "weights-budget",
       .metavar = "SIZE",
       .help = "weights in a window of at most so many bytes, streamed from a packed file in each "
               "run; exit 3 if a step needs more",
       .set = SetWeightsBudget,
       .get =
           [](const Request& r) {
             const std::optional<int64_t>& bytes = r.target.weights_budget;
             return bytes ? absl::StrCat(*bytes) : "none";
           },
       .form = ValueForm::kNumber,
       .plan_key = "weights_budget_bytes",
       .repeats = true},
      {.name = "panels",
       .metavar = "SIZE",
       .help = "compute operators whose packed weights have more bytes panel by panel, each with a "
               "part of the weights (default: as --weights-budget needs it)",
       .set = SetPanels,
       .get = [](const Request& r) { return absl::StrCat(r.planning.panel_bytes); },
       .packed = "panels",
       .form = ValueForm::kNumber,
       .plan_key = "panel_bytes",
       .repeats = true},
      {.name = "channel-groups",
       .metavar = "SIZE",
       .help =
           "compute convolutions in front of depthwise, grouped or narrowing ones in groups of "
           "channels with rows of at most so many bytes (default: as --memory-budget min needs)",
       .set = SetChannelGroups,
       .get = [](const Request& r) { return absl::StrCat(r.planning.group_bytes); },
       .packed = "channel groups",
       .form = ValueForm::kNumber,
       .plan_key = "channel_group_bytes",
       .repeats = true},
      {.name = "weights-speed",
       .metavar = "SIZE",
       .help = "bytes a second at which a plan expects weights to be read, 20GB if the system "
               "caches the file (default: as `tune` measured the disk, otherwise 1GB)",
       .set = SetWeightsSpeed,
       .get = [](const Request& r) { return absl::StrCat(r.planning.weights_speed); },
       .form = ValueForm::kNumber,
       .plan_key = "weights_speed",
       .repeats = true,
       .needs = "weights-budget"},
      {.name = "max-extra-flops",
       .metavar = "RATIO",
       .help =
           "limit on operations that tiles compute twice, over the model's operations (0: none)",
       .set = SetExtraFlops,
       .get = ExtraFlops,
       .packed = "max extra FLOPs",
       .in_plan_files = InPlanFiles::kNever,
       .needs = "memory-budget"},
  };
}

absl::Status CheckGiven(const RequestOption& option, const OptionTexts& texts, SpellOption spell) {
  for (const std::string& other : option.excludes) {
    if (!texts.contains(other)) continue;
    return absl::InvalidArgumentError(absl::StrCat(spell(option.name), " excludes ", spell(other)));
  }
  if (option.needs.empty() || texts.contains(option.needs)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(spell(option.name), " requires ", spell(option.needs)));
}

}  // namespace

const std::vector<RequestOption>& RequestOptions() {
  static const auto& options = *new std::vector<RequestOption>(MakeOptions());
  return options;
}

std::string PlanKey(const RequestOption& option) {
  return option.plan_key.empty() ? absl::StrReplaceAll(option.name, {{"-", "_"}}) : option.plan_key;
}

const RequestOption* FindRequestOption(absl::string_view name) {
  const std::string dashed = absl::StrReplaceAll(name, {{"_", "-"}});
  for (const RequestOption& option : RequestOptions()) {
    if (option.name == dashed) return &option;
  }
  return nullptr;
}

absl::StatusOr<OptionTexts> ParseOptionTexts(absl::string_view text) {
  OptionTexts texts;
  for (absl::string_view part : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> split =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const bool is_switch = !absl::StrContains(part, '=');
    const RequestOption* const option = FindRequestOption(split.first);
    const std::string name(option != nullptr ? absl::string_view(option->name) : split.first);
    if (!texts.emplace(name, is_switch ? "on" : split.second).second) {
      return absl::InvalidArgumentError(absl::StrCat(name, " is given twice"));
    }
  }
  return texts;
}

OptionTexts OptionsToRepeat(const PlanRequest& request) {
  const PlanRequest defaults;
  OptionTexts texts;
  for (const RequestOption& option : RequestOptions()) {
    const std::string text = option.get(request);
    if (option.repeats && text != option.get(defaults)) texts[option.name] = text;
  }
  return texts;
}

absl::Status SetOptions(const OptionTexts& texts, PlanRequest& request, SpellOption spell) {
  for (const auto& [name, text] : texts) {
    if (FindRequestOption(name) != nullptr) continue;
    std::vector<std::string> names;
    for (const RequestOption& option : RequestOptions()) names.push_back(option.name);
    return absl::InvalidArgumentError(absl::StrCat("no option '", name.substr(0, 80),
                                                   "'; the nearest is ", Nearest(name, names)));
  }
  for (const RequestOption& option : RequestOptions()) {
    const auto found = texts.find(option.name);
    if (found == texts.end()) continue;
    ASHLAR_RETURN_IF_ERROR(CheckGiven(option, texts, spell));
    const absl::Status set = option.set(found->second, request);
    if (!set.ok()) return Annotate(set, spell(option.name));
  }
  return absl::OkStatus();
}

absl::Status CheckTogether(const PlanRequest& request, SpellOption spell) {
  const auto& [target, planning, debug] = request;
  const std::string device = target.comp_node.ToString();
  const bool cpu = target.comp_node.type == CompNode::Type::kCpu;
  const bool mcu = target.comp_node.type == CompNode::Type::kMcu;
  const auto error = [](const auto&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(parts...));
  };
  if (target.precision != DType::kFloat32 && planning.passes != "all" &&
      !absl::StrContains(planning.passes, "precision")) {
    return error(spell("precision"), " with ", spell("passes"), " ", planning.passes,
                 ": the pass `precision` is not among them");
  }
  if (planning.kernels.allow_tf32 && cpu) {
    return error(spell("allow-tf32"), " has no effect: ", device, " computes in fp32 only");
  }
  if (target.processor && target.processor->is_microcontroller() && !mcu) {
    return error(spell("processor"), " ", target.processor->ToString(), " with device ", device,
                 ": microcontrollers are device mcu0:0");
  }
  if (target.processor && !target.processor->is_microcontroller() && mcu) {
    return error(spell("processor"), " ", target.processor->ToString(), ": for ", device,
                 " it is one of ", kMicrocontrollers);
  }
  if (target.release_input && !cpu && !mcu) {
    return error(spell("release-input"), ": ", device,
                 " copies inputs into its own memory, so they cannot be donated");
  }
  if ((target.budget || target.total) && planning.planner.planner == "naive") {
    return error(spell("planner"), " naive with ",
                 spell(target.total ? "total-budget" : "memory-budget"),
                 ": naive lets no two tensors share memory, so tiles save none; take another "
                 "planner, such as auto");
  }
  if (target.weights_budget && !cpu) {
    return error(spell("weights-budget"), " is about host memory, and ", device,
                 " has its own; only the CPU's weights are streamed");
  }
  if (target.weights_budget && planning.planner.planner == "naive") {
    return error(spell("planner"), " naive with ", spell("weights-budget"),
                 ": naive lets no two weights share memory");
  }
  if (target.total && !cpu) {
    return error(spell("total-budget"), " is about the memory of the process, and ", device,
                 " has its own; ", spell("memory-budget"), " limits the arena there");
  }
  return absl::OkStatus();
}

absl::StatusOr<DType> ParsePrecision(absl::string_view text) {
  for (const auto& [name, dtype] : {std::pair("fp32", DType::kFloat32),
                                    {"fp16", DType::kFloat16},
                                    {"bf16", DType::kBFloat16}}) {
    if (text == name || text == Name(dtype)) return dtype;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text.substr(0, 80), "' is not fp32, fp16 or bf16"));
}

absl::StatusOr<TileSpec> ParseTilesOrNone(absl::string_view text) {
  return text == "none" ? TileSpec() : TileSpec::Parse(text);
}

absl::StatusOr<int64_t> ParseBudget(absl::string_view text) {
  if (text == "min") return int64_t{0};
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  if (bytes > 0) return bytes;
  return absl::InvalidArgumentError("a budget of no bytes; expected a size or min");
}

std::string RatioText(double ratio) {
  char text[32];
  return {text, std::to_chars(text, std::end(text), ratio).ptr};
}

absl::StatusOr<double> ParseRatio(absl::string_view text) {
  double ratio = 0;
  if (absl::SimpleAtod(text, &ratio) && ratio >= 0) return ratio;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text.substr(0, 64), "' is no ratio of at least 0, such as 0.05"));
}

}  // namespace ashlar
