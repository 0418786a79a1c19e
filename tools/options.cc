#include "tools/options.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/passes/pass.h"
#include "graph/status.h"
#include "memory/planner.h"
#include "runtime/measure/process_memory.h"
#include "runtime/plan/record/recorded_tiles.h"
#include "serialization/kernel_record_path.h"
#include "tools/exit_code.h"
#include "tools/option_kinds.h"
#include "tools/parse.h"

namespace ashlar {
namespace {

constexpr int kMaxThreads = 1024;

std::string PlannerNames() {
  return absl::StrJoin(memory::Planners(), ", ", [](std::string* out, const auto& planner) {
    absl::StrAppend(out, planner->name());
  });
}

std::string PassNames() {
  return absl::StrJoin(AllPasses(), ",",
                       [](std::string* out, const Pass& pass) { out->append(pass.name); });
}

std::string CheckPasses(const std::string& list) {
  return std::string(SelectPasses(list).status().message());
}

std::string CheckAlignment(const int64_t& bytes) {
  if (bytes > 0 && (bytes & (bytes - 1)) == 0 && bytes <= (int64_t{1} << 30)) return "";
  return absl::StrCat(bytes, " is not a power of two from 1 to 1 GiB");
}

absl::StatusOr<int64_t> ParseAlignment(absl::string_view text) {
  absl::StatusOr<int64_t> bytes = ParseSize(text);
  if (!bytes.ok()) return bytes;
  if (std::string error = CheckAlignment(*bytes); !error.empty()) {
    return absl::InvalidArgumentError(error);
  }
  return bytes;
}

absl::StatusOr<int64_t> ParseTotalBudget(absl::string_view text) {
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  if (bytes > 0) return bytes;
  return absl::InvalidArgumentError("a budget of no bytes");
}

absl::StatusOr<bool> ParseLayout(absl::string_view text) {
  if (text == "nchw") return false;
  if (text == "nhwc") return true;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not nchw or nhwc"));
}

absl::StatusOr<std::optional<Processor>> ParseProcessor(absl::string_view text) {
  if (text == "host") return std::optional<Processor>();
  ASHLAR_ASSIGN_OR_RETURN(const Processor processor, Processor::Parse(text));
  return std::optional<Processor>(processor);
}

absl::StatusOr<bool> ParsePreference(absl::string_view text) {
  if (text == "speed") return false;
  if (text == "memory") return true;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not speed or memory"));
}

}  // namespace

absl::StatusOr<int64_t> ParseBudget(absl::string_view text) {
  if (text == "min") return int64_t{0};
  ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, ParseSize(text));
  if (bytes > 0) return bytes;
  return absl::InvalidArgumentError("a budget of no bytes; expected a size or min");
}

absl::StatusOr<double> ParseRatio(absl::string_view text) {
  double ratio = 0;
  if (absl::SimpleAtod(text, &ratio) && ratio >= 0) return ratio;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text.substr(0, 64), "' is no ratio of at least 0, such as 0.05"));
}

std::string CheckPlanner(const std::string& name) {
  if (memory::FindPlanner(name) != nullptr) return "";
  return absl::StrCat("unknown planner '", name, "'; there are: ", PlannerNames());
}

absl::StatusOr<std::optional<Processor>> DefaultProcessor() {
  const char* const text = std::getenv(kProcessorVariable);
  if (text == nullptr || *text == '\0') return std::optional<Processor>();
  const absl::StatusOr<std::optional<Processor>> processor = ParseProcessor(text);
  if (processor.ok()) return processor;
  return UsageError(absl::StrCat(kProcessorVariable, ": ", processor.status().message()));
}

void AddThreadsFlag(CLI::App& app, int& threads) {
  threads = DefaultThreads();
  AddNumber(app, "--threads", threads, 1, kMaxThreads,
            absl::StrCat("threads of the run (default ", threads, ")"))
      ->group("Execution");
}

void AddDeviceFlags(CLI::App& app, ExecutionFlags& flags) {
  AddParsed(app, "--device", flags.device, CompNode::Parse, "cpu0:0|gpu0:0",
            "the device that runs it (default cpu0:0)")
      ->group("Execution");
  AddThreadsFlag(app, flags.threads);
}

void AddExecutionFlags(CLI::App& app, ExecutionFlags& flags) {
  AddDeviceFlags(app, flags);
  AddNumber(app, "--seed", flags.seed, 0, std::numeric_limits<int64_t>::max(),
            "seed of random inputs (default 0)")
      ->group("Execution");
  AddParsed(app, "--precision", flags.precision, ParsePrecision, "fp32|fp16|bf16",
            "tensors of 16 bits, with sums in fp32; bf16 on a GPU (default fp32)")
      ->group("Execution");
  app.add_flag("--allow-tf32", flags.allow_tf32,
               "on a GPU: products of fp32 numbers rounded to 10 bits of fraction")
      ->group("Execution");
}

void AddPlanningFlags(CLI::App& app, PlanningFlags& flags, const std::string& suffix) {
  const std::string group = suffix.empty() ? "Planning" : kUnlistedGroup;
  flags.app = &app;
  flags.suffix = suffix;
  const auto parsed = [&](const char* name, auto& target, auto parse, const char* metavar,
                          const char* help) {
    return AddParsed(app, name + suffix, target, parse, metavar, help)->group(group);
  };
  flags.processor = DefaultProcessor().value_or(std::nullopt);
  parsed("--processor", flags.processor, ParseProcessor, "SPEC",
         "the processor to plan for: avx2/32K/512K (instructions, L1 and L2 caches), ..., or host "
         "(default, or $ASHLAR_PROCESSOR)");
  app.add_option("--planner" + suffix, flags.planner, PlannerNames())
      ->option_text("NAME")
      ->check(CheckPlanner)
      ->group(group);
  const auto set_order = [&flags](const std::string& name) { flags.order = *ParseOrder(name); };
  app.add_option_function<std::string>(
         "--scheduler" + suffix, set_order,
         "the order of operators: with the least peak (default), or MegEngine's")
      ->option_text("memory|megengine")
      ->check(CLI::IsMember({"memory", "megengine"}))
      ->group(group);
  app.add_option("--passes" + suffix, flags.passes,
                 "rewrites of the graph, some of " + PassNames() + " (default all)")
      ->option_text("all|none|LIST")
      ->check(CheckPasses)
      ->group(group);
  parsed(
      "--inplace", flags.inplace, ParseSwitch, "on|off",
      "views replace copies, and outputs overwrite inputs that nothing reads later (default on)");
  app.add_flag("--release-input" + suffix, flags.release_input,
               "inputs lie in the arena, which reuses their rows after they are read")
      ->option_text(" ")
      ->group(group);
  parsed("--prefer", flags.prefer_memory, ParsePreference, "speed|memory",
         "faster kernels (default), or kernels with small weights and the least workspace");
  app.add_flag("--exact" + suffix, flags.exact, "direct convolutions only, no Winograd")
      ->option_text(" ")
      ->group(group);
  flags.record = DefaultKernelRecordPath();
  if (suffix.empty()) {
    AddParsed(app, "--extra-scratch", flags.extra_scratch, ParseSize, "SIZE",
              "bytes by which workspaces of faster kernels may raise the arena (default 0)")
        ->group(group);
    app.add_flag_callback(
           "--no-autotune", [&flags] { flags.autotune = false; },
           "use none of the kernels and tiles that `tune` measured")
        ->option_text(" ")
        ->group(group);
  }
  parsed("--align", flags.align, ParseAlignment, "N",
         "alignment of buffers in bytes (default: the device's)");
  parsed("--plan-time", flags.plan_time, ParseDuration, "TIME",
         "work of the search for addresses, counted and not timed (default 250ms; four times as "
         "much for tiles)");
  parsed("--tile", flags.tiles, ParseTilesOrNone, "SPEC|none",
         "compute in tiles, as `plan --memory-budget` prints them: FROM-TO:KIND[;...], with ids of "
         "operators (`inspect --nodes`) and the kinds batchN, rowsN, linesN, rollingN, gridNxM or "
         "inputgridNxM; none: no tiles, not even measured ones");
  parsed("--memory-budget", flags.memory_budget, ParseBudget, "SIZE|min",
         "the fastest plan whose arena has at most so many bytes, in tiles if necessary; exit 3 if "
         "there is none; min: the smallest arena")
      ->excludes(app.get_option("--tile" + suffix));
  parsed("--total-budget", flags.total_budget, ParseTotalBudget, "SIZE",
         "the fastest plan whose process takes at most so many bytes, with smaller weights or in "
         "tiles if necessary; exit 3 if there is none")
      ->excludes(app.get_option("--memory-budget" + suffix));
  parsed("--max-extra-flops", flags.max_extra_flops, ParseRatio, "RATIO",
         "limit on operations that tiles compute twice, over the model's operations (0: none)")
      ->needs(app.get_option("--memory-budget" + suffix));
}

bool PlanningFlags::Given(const std::string& option) const {
  if (app == nullptr) return false;
  for (const std::string& name : {option, option + suffix}) {
    const CLI::Option* const found = app->get_option_no_throw(name);
    if (found != nullptr && found->count() > 0) return true;
  }
  return false;
}

void AddPlanFileFlag(CLI::App& app, PlanningFlags& flags) {
  CLI::Option* const plan =
      app.add_option("--plan", flags.plan_file,
                     "a plan that `plan -o FILE.plan` wrote: nothing is searched for")
          ->option_text("FILE.plan");
  for (CLI::Option* option :
       app.get_options([](const CLI::Option* o) { return o->get_group() == "Planning"; })) {
    plan->excludes(option);
  }
  plan->group("Planning");
}

absl::Status CheckTogether(const ExecutionFlags& execution, const PlanningFlags& planning) {
  if (execution.precision == DType::kBFloat16 && execution.device.type == CompNode::Type::kCpu) {
    return UsageError(absl::StrCat("--precision: ", execution.device.ToString(),
                                   " has fp32 and fp16; bf16 needs a GPU, --device gpu0:0"));
  }
  if (execution.precision != DType::kFloat32 && planning.passes != "all" &&
      !absl::StrContains(planning.passes, "precision")) {
    return UsageError(absl::StrCat("--precision with --passes ", planning.passes,
                                   ": the pass `precision` is not among them"));
  }
  if (execution.allow_tf32 && execution.device.type == CompNode::Type::kCpu) {
    return UsageError(absl::StrCat("--allow-tf32 has no effect: ", execution.device.ToString(),
                                   " computes in fp32 only"));
  }
  if (planning.release_input && execution.device.type == CompNode::Type::kGpu) {
    return UsageError(
        absl::StrCat("--release-input: ", execution.device.ToString(),
                     " copies inputs into memory of its own, which nobody can give up"));
  }
  const bool total = planning.total_budget >= 0;
  if ((planning.memory_budget >= 0 || total) && planning.planner == "naive") {
    return UsageError(absl::StrCat("--planner naive with ",
                                   total ? "--total-budget" : "--memory-budget",
                                   ": naive lets no two tensors share memory, so tiles "
                                   "save none; take another planner, such as auto"));
  }
  if (total && execution.device.type != CompNode::Type::kCpu) {
    return UsageError(absl::StrCat("--total-budget is about the memory of the process, and ",
                                   execution.device.ToString(),
                                   " has its own; --memory-budget limits the arena there"));
  }
  return absl::OkStatus();
}

absl::Status CheckEnding(absl::string_view option, const std::string& path,
                         absl::Span<const absl::string_view> endings) {
  struct stat info;
  if (path.empty() || (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))) {
    return absl::OkStatus();
  }
  for (absl::string_view ending : endings) {
    if (absl::EndsWithIgnoreCase(path, ending)) return absl::OkStatus();
  }
  const absl::Span<const absl::string_view> others = endings.subspan(0, endings.size() - 1);
  return UsageError(absl::StrCat(option, " ", path, ": cannot tell the format; expected a ",
                                 absl::StrJoin(others, ", "), others.empty() ? "" : " or ",
                                 endings.back(), " file"));
}

int64_t PlanningFlags::plan_work() const {
  const absl::Duration most =
      absl::Milliseconds(memory::kEndlessWork / memory::kWorkPerMillisecond);
  return absl::ToInt64Milliseconds(std::min(plan_time, most)) * memory::kWorkPerMillisecond;
}

PlanRequest ToPlanRequest(const ExecutionFlags& execution, const PlanningFlags& flags,
                          Console& console) {
  PlanRequest request;
  auto& [target, planning, debug] = request;
  target.comp_node = execution.device;
  target.processor = flags.processor;
  target.threads = execution.threads;
  target.precision = execution.precision;
  target.release_input = flags.release_input;
  planning.passes = flags.passes;
  planning.order = flags.order;
  planning.planner.planner = flags.planner;
  planning.planner.limits.work = flags.plan_work();
  planning.inplace = flags.inplace;
  planning.kernels = {.exact = flags.exact,
                      .least_memory = flags.prefer_memory,
                      .allow_tf32 = execution.allow_tf32};
  planning.extra_workspace = flags.extra_scratch;
  debug.alignment = flags.align;
  if (flags.autotune && !flags.record.empty()) {
    planning.record =
        RecordFor(flags.record, target, [&](const std::string& note) { console.Note(note); });
  }
  target.tiles = flags.tiles;
  target.tuned_tiles = flags.tuned_tiles && !flags.Given("--tile") && flags.memory_budget < 0 &&
                       flags.total_budget < 0;
  if (flags.memory_budget >= 0) {
    target.budget = MemoryBudget{flags.memory_budget, flags.max_extra_flops, false};
  }
  if (flags.total_budget >= 0) {
    UseOneHeap();
    target.total = TotalBudget{flags.total_budget, ProcessBytes(execution.threads), false};
  }
  return request;
}

void AddModelFlags(CLI::App& app, ModelFlags& flags, const std::string& what) {
  app.add_option("MODEL", flags.path, what)->required()->option_text(" ");
  AddRepeated(app, "--shape", flags.shapes, "NAME=1x3x224x224",
              "another shape for an input: the batch, "
              "and the size of images where the model pools whatever it gets")
      ->group("Model");
  AddRepeated(app, "--value", flags.values, "NAME=NUMBER,...",
              "a fixed value for an input of an .onnx model, such as a sampling rate")
      ->group("Model");
  app.add_option("--outputs", flags.outputs,
                 "values or nodes of an .onnx model that become its outputs")
      ->option_text("NAME,...")
      ->group("Model");
  AddRepeated(app, "--then", flags.then, "MODEL",
              "a model that reads the outputs of the one before: both are planned as one")
      ->group("Model");
  // Not listed: the error of a model that needs it names it.
  app.add_flag("--allow-external-symlinks", flags.follow_links,
               "take weights of an .onnx model from files behind links")
      ->group(kUnlistedGroup);
}

void AddInputFlags(CLI::App& app, InputFlags& flags) {
  AddRepeated(app, "--input", flags.files, "NAME=FILE",
              ".npy, .npz, .png, .jpg, .ppm or raw, - for stdin (default: random); several fill a "
              "batch")
      ->group("Inputs");
  AddPreparationFlags(app, flags);
}

void AddPreparationFlags(CLI::App& app, InputFlags& flags) {
  AddParsed(app, "--mean", flags.mean, ParseNumbers, "R,G,B",
            "subtracted from each channel, of 0 to 255 in photographs (default there: ImageNet's, "
            "or 0 beside --scale)")
      ->group("Inputs");
  AddParsed(app, "--scale", flags.scale, ParseNumbers, "R,G,B",
            "each channel is then multiplied by this (default for photographs: ImageNet's, or 1 "
            "beside --mean)")
      ->group("Inputs");
  AddParsed(app, "--layout", flags.nhwc, ParseLayout, "nchw|nhwc",
            "of array and raw files (default nchw)")
      ->group("Inputs");
  AddPictureFlags(app, flags.pictures);
}

}  // namespace ashlar
