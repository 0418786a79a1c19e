#include "tools/plan_options.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "library/shape_family.h"
#include "tools/exit_code.h"
#include "tools/option_kinds.h"

namespace ashlar {
namespace {

std::string CheckPlanners(const std::string& list) {
  for (absl::string_view name : absl::StrSplit(list, ',')) {
    PlanRequest request;
    const absl::Status set = FindRequestOption("planner")->set(name, request);
    if (!set.ok()) return std::string(set.message());
  }
  return "";
}

absl::StatusOr<WorkspaceSource> ParseWorkspace(absl::string_view name) {
  return ParseName<WorkspaceSource>(
      name, {{"kernel", WorkspaceSource::kKernel}, {"recorded", WorkspaceSource::kRecorded}});
}

}  // namespace

void PlanOptions::Declare(CLI::App& app) {
  app_ = &app;
  AddModelFlags(app, model_,
                "the model file (.ash, .onnx, .tflite), or buffers (.csv, - for stdin; .pickle: "
                "PyTorch's memory snapshot)");
  app.add_option("MORE", more_, "with --share-arena: the other models")->option_text(" ");
  const OptionGroup planning(app, "Planning");
  AddFlag(planning, "--share-arena", share_arena_,
          "one arena for several models that never run at once: the largest of theirs");
  AddTrainFlag(app, training_);
  AddPlanningFlags(app, planning_);
  AddParsed(planning, "--capacity", capacity_, ParseSize, "SIZE",
            "stop at the first plan that fits; exit 3 if none does");
  AddFlag(planning, "--frontier", frontier_,
          "plans from the largest to the smallest arena, each measured; -o FILE.svg draws them");
  AddFlag(planning, "--int8-twin", int8_twin_,
          "also plan the model in 8 bits, with assumed ranges");
  const OptionGroup output(app, "Output");
  AddText(output, "--tile-info", tile_info_, "FILE",
          "write the regions that each tile computes and reads, as JSON");
  AddParsed(planning, "--workspace", workspace_, ParseWorkspace, "kernel|recorded",
            "sizes of workspaces: the kernels' (default), or as a profile dump recorded them");
  AddText(planning, "--compare", compare_, "A,B,...",
          "several planners side by side; slow ones refuse large problems")
      ->check(CheckPlanners);
  AddFlag(planning, "--validate", validate_,
          "check the offsets of all buffers in a .csv file, and compare the arena with the "
          "liveness bound");
  AddText(planning, "--diff", diff_, "FILE",
          "compare with the plan of another model, or of a .plan file; -o FILE.html");
  AddExecutionFlags(app, execution_);
  AddParsed(output, "--format", format_, ParsePlanFormat, "table|csv|svg|html|plan",
            "format of the plan (default: by the ending of -o; .txt: table)");
  AddFlag(output, "--buffers", buffers_, "with --json: also all buffers, steps and relations");
  AddText(output, "-o,--output", output_, "FILE", "file for the plan (default, and -: stdout)");
}

absl::Status PlanOptions::CheckOptions() const {
  ASHLAR_RETURN_IF_ERROR(CheckTwinOptions());
  if (frontier_) ASHLAR_RETURN_IF_ERROR(CheckFrontierOptions());
  if (!diff_.empty()) ASHLAR_RETURN_IF_ERROR(CheckDiffOptions());
  ASHLAR_RETURN_IF_ERROR(CheckShareOptions());
  ASHLAR_RETURN_IF_ERROR(CheckFamilyOptions());
  if (format() == PlanFormat::kPlan && workspace_ == WorkspaceSource::kRecorded) {
    return UsageError(
        "--workspace recorded: a plan with recorded workspaces cannot run, so it is not written to "
        "a file");
  }
  if (WritesTflite()) return absl::OkStatus();
  if (app_->count("--format") == 0 && output_ != "-") {
    ASHLAR_RETURN_IF_ERROR(CheckEnding("-o", output_, kPlanEndings));
  }
  return CheckTogether(execution_, planning_);
}

std::vector<IdleOptions> PlanOptions::Idle(const ConsoleFlags& console) const {
  std::vector<IdleOptions> idle;
  if (WritesTflite()) {
    idle.push_back({AllBut(*app_, {"MODEL", "--planner", "--plan-time", "--output"}),
                    absl::StrCat("the plan inside ", output_, " is for another program")});
  }
  if (PlansBuffers()) {
    idle.push_back({AllBut(*app_, {"MODEL", "--planner", "--align", "--plan-time", "--capacity",
                                   "--compare", "--format", "--output", "--buffers", "--validate"}),
                    absl::StrCat("it is for models, and ", model_.path, " holds buffers")});
  }
  if (!PlansBuffers() || PlansSnapshot()) {
    idle.push_back({{"--validate"}, absl::StrCat(model_.path, " is no .csv file of buffers")});
  }
  if (!console.prints() && output_.empty()) {
    idle.push_back({{"--format"}, "--json writes to stdout; -o names the file of the plan"});
  }
  if (console.json.empty()) {
    idle.push_back({{"--buffers"}, "they are a part of what --json writes"});
  }
  return idle;
}

std::vector<std::string> PlanOptions::OutputFiles() const {
  return {output_ == "-" ? "" : output_, tile_info_};
}

bool PlanOptions::PlansBuffers() const {
  return model_.path == "-" || HasEnding(model_.path, ".csv") || PlansSnapshot();
}

bool PlanOptions::PlansSnapshot() const {
  return HasEnding(model_.path, ".pickle") || HasEnding(model_.path, ".pkl");
}

bool PlanOptions::WritesTflite() const { return HasEnding(output_, ".tflite"); }

PlanFormat PlanOptions::format() const {
  return app_->count("--format") > 0 ? format_ : PlanFormatOf(output_);
}

std::optional<int64_t> PlanOptions::capacity() const {
  return app_->count("--capacity") > 0 ? std::optional<int64_t>(capacity_) : std::nullopt;
}

memory::SearchLimits PlanOptions::limits() const {
  return {.work = planning_.request.planning.planner.limits.work, .capacity = capacity()};
}

absl::Status PlanOptions::CheckNone(absl::Span<const char* const> options,
                                    absl::string_view told) const {
  for (const char* option : options) {
    if (app_->count(option) > 0) return UsageError(absl::StrCat(option, told));
  }
  return absl::OkStatus();
}

// Refuses options of a single plan, because the curve consists of many plans.
absl::Status PlanOptions::CheckFrontierOptions() const {
  ASHLAR_RETURN_IF_ERROR(
      CheckNone({"--tile", "--memory-budget", "--total-budget", "--weights-budget", "--tile-info",
                 "--capacity", "--compare", "--workspace", "--format"},
                " is about one plan, and --frontier shows many"));
  if (planning_.request.planning.planner.planner == "naive") {
    return UsageError("--frontier with --planner naive: no two tensors would share memory");
  }
  return CheckEnding("-o", output_, {".svg"});
}

absl::Status PlanOptions::CheckTwinOptions() const {
  if (!int8_twin_) return absl::OkStatus();
  if (execution_.device.type != CompNode::Type::kCpu) {
    return UsageError("--int8-twin: a twin is planned on the CPU alone");
  }
  return CheckNone({"--train", "--frontier", "--diff", "--share-arena", "--workspace"},
                   " is not for --int8-twin, which plans one model of floats and its twin");
}

absl::Status PlanOptions::CheckDiffOptions() const {
  ASHLAR_RETURN_IF_ERROR(CheckNone({"--tile-info", "--capacity", "--compare", "--workspace",
                                    "--format", "--frontier", "--buffers", "--train"},
                                   " is about one plan, and --diff compares two"));
  return CheckEnding("-o", output_, {".html", ".htm"});
}

absl::Status PlanOptions::CheckFamilyOptions() const {
  if (std::none_of(model_.shapes.begin(), model_.shapes.end(), ShapeFamily::HasChoice)) {
    return absl::OkStatus();
  }
  return CheckNone(
      {"--tile-info", "--capacity", "--compare", "--workspace", "--format", "--frontier",
       "--buffers", "--diff", "--output", "--train", "--int8-twin", "--share-arena"},
      " is about one plan, and --shape declares several");
}

absl::Status PlanOptions::CheckShareOptions() const {
  if (!share_arena_) {
    if (more_.empty()) return absl::OkStatus();
    return UsageError(absl::StrCat(more_[0],
                                   ": several models are planned with --share-arena, "
                                   "or one behind the other with --then"));
  }
  ASHLAR_RETURN_IF_ERROR(CheckNone({"--tile-info", "--capacity", "--compare", "--workspace",
                                    "--format", "--frontier", "--buffers", "--diff", "--output"},
                                   " is about one plan, and --share-arena makes several"));
  if (more_.empty()) return UsageError("--share-arena: expected several models");
  return absl::OkStatus();
}

}  // namespace ashlar
