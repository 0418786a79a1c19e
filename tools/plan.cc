// ashlar plan: the memory plan of a model, or of buffers in a CSV file, without running.
#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"
#include "runtime/plan/tiled_plan.h"
#include "serialization/file_writer.h"
#include "serialization/megengine/conventions.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/frontier.h"
#include "tools/frontier_picture.h"
#include "tools/inputs.h"
#include "tools/model.h"
#include "tools/parse.h"
#include "tools/peak.h"
#include "tools/plan_diff.h"
#include "tools/plan_picture.h"
#include "tools/plan_report.h"
#include "tools/record_use.h"
#include "tools/recording_view.h"
#include "tools/request.h"
#include "tools/shared_arena.h"
#include "tools/table.h"
#include "tools/tile_info.h"
#include "tools/training_flags.h"
#include "viewer/plan_document.h"
#include "viewer/plan_page.h"

namespace ashlar {
namespace {

// Of the arena to the lower bound.
std::string RatioToBound(const memory::PlanResult& result) {
  if (result.lower_bound == 0) return "1.00000";
  return absl::StrFormat(
      "%.5f", static_cast<double>(result.plan.arena) / static_cast<double>(result.lower_bound));
}

std::string CheckPlanners(const std::string& list) {
  for (absl::string_view name : absl::StrSplit(list, ',')) {
    if (std::string error = CheckPlanner(std::string(name)); !error.empty()) return error;
  }
  return "";
}

absl::StatusOr<WorkspaceSource> ParseWorkspace(absl::string_view name) {
  return ParseName<WorkspaceSource>(
      name, {{"kernel", WorkspaceSource::kKernel}, {"recorded", WorkspaceSource::kRecorded}});
}

class PlanCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app_ = &app;
    AddModelFlags(app, model_, "the model file (.ash or .onnx), or buffers (.csv, or - for stdin)");
    app.add_option("MORE", more_, "with --share-arena: the other models")->option_text(" ");
    app.add_flag("--share-arena", share_arena_,
                 "one arena for several models that never run at once: the largest of theirs")
        ->option_text(" ")
        ->group("Planning");
    AddTrainFlag(app, training_);
    AddPlanningFlags(app, planning_);
    AddParsed(app, "--capacity", capacity_, ParseSize, "SIZE",
              "stop at the first plan that fits; exit 3 if none does")
        ->group("Planning");
    app.add_flag("--frontier", frontier_,
                 "the curve of peak against time, each point measured; -o FILE.svg draws it")
        ->option_text(" ")
        ->group("Planning");
    app.add_option("--tile-info", tile_info_, "write what each tile makes and needs, as JSON")
        ->option_text("FILE")
        ->group("Output");
    AddParsed(app, "--workspace", workspace_, ParseWorkspace, "kernel|recorded",
              "sizes of workspaces: our kernels' (default), or those that a dump recorded")
        ->group("Planning");
    app.add_option("--compare", compare_,
                   "several planners side by side; slow ones refuse large problems")
        ->option_text("A,B,...")
        ->check(CheckPlanners)
        ->group("Planning");
    app.add_option("--diff", diff_,
                   "the plan beside that of another model, or of a .plan file; -o FILE.html")
        ->option_text("FILE")
        ->group("Planning");
    AddExecutionFlags(app, execution_);
    AddParsed(app, "--format", format_, ParsePlanFormat, "FORMAT",
              "table, csv, svg, html, plan (default: by the ending of -o; .txt: table)")
        ->group("Output");
    app.add_flag("--buffers", buffers_, "with --json: all buffers, steps and relations, too")
        ->option_text(" ")
        ->group("Output");
    app.add_option("-o,--output", output_, "where the plan goes (default, and -: stdout)")
        ->option_text("FILE")
        ->group("Output");
  }

  absl::Status CheckOptions() const override {
    if (frontier_) ASHLAR_RETURN_IF_ERROR(CheckFrontierOptions());
    if (!diff_.empty()) ASHLAR_RETURN_IF_ERROR(CheckDiffOptions());
    ASHLAR_RETURN_IF_ERROR(CheckShareOptions());
    if (format() == PlanFormat::kPlan && workspace_ == WorkspaceSource::kRecorded) {
      return UsageError("--workspace recorded: such a plan cannot be run, and so is in no file");
    }
    if (app_->count("--format") == 0) {
      ASHLAR_RETURN_IF_ERROR(CheckEnding("-o", output_, kPlanEndings));
    }
    return CheckTogether(execution_, planning_);
  }
  std::vector<IdleOptions> Idle(const ConsoleFlags& console) const override {
    std::vector<IdleOptions> idle;
    if (PlansBuffers()) {
      idle.push_back({AllBut(*app_, {"MODEL", "--planner", "--align", "--plan-time", "--capacity",
                                     "--compare", "--format", "--output", "--buffers"}),
                      absl::StrCat("it is for models, and ", model_.path, " holds buffers")});
    }
    if (!console.prints() && output_.empty()) {
      idle.push_back({{"--format"}, "--json takes stdout; say with -o where the plan goes"});
    }
    if (console.json.empty())
      idle.push_back({{"--buffers"}, "they are a part of what --json writes"});
    return idle;
  }
  std::vector<std::string> OutputFiles() const override {
    return {output_ == "-" ? "" : output_, tile_info_};
  }

  absl::Status Run(Console& console) override {
    if (output_ == "-") output_.clear();
    console.ResultIsIn(output_);
    if (!diff_.empty()) return Diff(console);
    if (share_arena_) return ShareArena(console);
    if (PlansBuffers()) return PlanCsv(console);
    return frontier_ ? ShowFrontier(console) : PlanModel(console);
  }

 private:
  bool PlansBuffers() const { return model_.path == "-" || HasEnding(model_.path, ".csv"); }
  PlanFormat format() const {
    return app_->count("--format") > 0 ? format_ : PlanFormatOf(output_);
  }

  // The curve is made of many plans; what is about one of them is not for it.
  absl::Status CheckFrontierOptions() const {
    for (const char* option : {"--tile", "--memory-budget", "--total-budget", "--tile-info",
                               "--capacity", "--compare", "--workspace", "--format", "--train"}) {
      if (app_->count(option) == 0) continue;
      return UsageError(absl::StrCat(option, " is about one plan, and --frontier shows many"));
    }
    if (planning_.planner == "naive") {
      return UsageError("--frontier with --planner naive: no two tensors would share memory");
    }
    return CheckEnding("-o", output_, {".svg"});
  }

  absl::Status CheckDiffOptions() const {
    for (const char* option : {"--tile-info", "--capacity", "--compare", "--workspace", "--format",
                               "--frontier", "--buffers", "--train"}) {
      if (app_->count(option) == 0) continue;
      return UsageError(absl::StrCat(option, " is about one plan, and --diff compares two"));
    }
    return CheckEnding("-o", output_, {".html", ".htm"});
  }

  absl::Status CheckShareOptions() const {
    if (!share_arena_) {
      if (more_.empty()) return absl::OkStatus();
      return UsageError(absl::StrCat(more_[0],
                                     ": several models are planned with --share-arena, "
                                     "or one behind the other with --then"));
    }
    for (const char* option : {"--tile-info", "--capacity", "--compare", "--workspace", "--format",
                               "--frontier", "--buffers", "--diff", "--output"}) {
      if (app_->count(option) == 0) continue;
      return UsageError(
          absl::StrCat(option, " is about one plan, and --share-arena makes several"));
    }
    if (more_.empty()) return UsageError("--share-arena: expected several models");
    return absl::OkStatus();
  }

  std::optional<int64_t> capacity() const {
    return app_->count("--capacity") > 0 ? std::optional<int64_t>(capacity_) : std::nullopt;
  }

  memory::SearchLimits limits() const {
    return {.work = planning_.plan_work(), .capacity = capacity()};
  }

  absl::Status PlanCsv(Console& console) {
    if (format() == PlanFormat::kPlan) {
      return UsageError(absl::StrCat("plan files are of models; ", model_.path, " holds buffers"));
    }
    console.Progress(absl::StrCat("reading ", model_.path));
    const int64_t align = std::max<int64_t>(planning_.align, 1);
    absl::StatusOr<memory::CsvProblem> problem =
        model_.path == "-" ? memory::ReadCsv(std::cin, "standard input", align)
                           : memory::ReadCsvFile(model_.path, align);
    if (!problem.ok()) return WithExitCode(problem.status(), ExitCode::kRejectedInput);
    PlannedBuffers planned;
    planned.problem = *std::move(problem);
    planned.names = planned.problem.names.empty() ? planned.problem.ids : planned.problem.names;
    planned.title = model_.path;
    console.Progress("planning");
    absl::StatusOr<memory::PlanResult> result =
        memory::PlanMemory(planned.problem.problem, {planning_.planner, limits()});
    if (!result.ok()) {
      return WithExitCode(
          Annotate(result.status(), model_.path),
          absl::IsInvalidArgument(result.status()) ? ExitCode::kRejectedInput : ExitCode::kFailure);
    }
    planned.result = *std::move(result);

    const memory::PlanResult& r = planned.result;
    Json document = console.Document(execution_.device, execution_.threads);
    document["buffers"] = planned.problem.problem.buffers.size();
    AddArena(r, document);
    document["chunks"] = ChunksDocument(planned);
    if (shows_all()) {
      planned.viewed = {ViewOf(planned.problem.problem, r, planned.names, FileName(model_.path))};
    }
    document["search_ms"] = r.search_ms;
    document["total_ms"] = r.total_ms;
    const std::string table =
        absl::StrCat(absl::StrFormat("%s, %s planned in %s\n",
                                     Counted(planned.problem.problem.buffers.size(), "buffer"),
                                     FormatBytes(r.plan.arena), FormatMilliseconds(r.total_ms)),
                     ArenaLine(r), PeakTable(planned));
    return Show(planned, table, std::move(document), console);
  }

  // A model that comes from no dump has operators with workspaces, and no sizes of them.
  absl::Status CheckRecordedWorkspaces(const PlannedGraph& planned) const {
    if (workspace_ != WorkspaceSource::kRecorded) return absl::OkStatus();
    bool wanted = false;
    for (size_t i = 0; i < planned.workspace.size(); ++i) {
      if (planned.workspace[i] > 0) return absl::OkStatus();
      const Operator& op = *planned.graph.node(static_cast<int>(i)).op;
      wanted = wanted || (planned.model.scheduled[i] && ConventionsOf(op.type()).has_workspace);
    }
    if (!wanted) return absl::OkStatus();
    return UsageError(absl::StrCat("--workspace recorded: ", model_.path,
                                   " records none; models imported from a profile dump do"));
  }

  absl::Status PlanModel(Console& console) {
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModelToTrain(model_, training_, console));
    ASHLAR_ASSIGN_OR_RETURN(model, WithTraining(std::move(model), training_));
    const int first_added_id = model.graph.next_id();
    // Whether a smaller budget would do only a search tells.
    if (planning_.memory_budget > 0) model.packed.reset();
    ASHLAR_ASSIGN_OR_RETURN(PlanRequest request, RequestFor(model, execution_, planning_, console));
    request.means.planner.limits = limits();
    request.means.workspace = workspace_;
    request.checks.measure_passes = true;
    if (request.wishes.budget) request.wishes.budget->find_smallest = true;
    if (request.wishes.total) request.wishes.total->find_smallest = true;
    console.Progress("planning");
    const bool needs_model = !tile_info_.empty() || format() == PlanFormat::kPlan || shows_all();
    const Graph original = needs_model ? model.graph : Graph();
    const ModelIdentity identity =
        format() == PlanFormat::kPlan ? IdentityOf(model) : ModelIdentity();
    const std::string packed_under = model.packed ? model.packed->options : "";
    if (workspace_ == WorkspaceSource::kRecorded) ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
    ASHLAR_ASSIGN_OR_RETURN(const PlannedModel made,
                            ashlar::PlanModel(std::move(model), request, console));
    const PlannedGraph* const graph = &made.plan();
    if (!tile_info_.empty()) ASHLAR_RETURN_IF_ERROR(WriteTileInfo(original, *graph));
    ASHLAR_RETURN_IF_ERROR(CheckRecordedWorkspaces(*graph));
    const PeakReport peak = ExaminePeak(*graph, first_added_id);

    PlannedBuffers planned = BuffersOf(*graph, model_.path);
    if (format() == PlanFormat::kPlan || shows_all()) {
      ASHLAR_ASSIGN_OR_RETURN(RecordedPlan plan, RecordPlan(original, *graph, request.checks));
      planned.viewed = {ViewOf(plan, *graph, FileName(model_.path))};
      if (format() == PlanFormat::kPlan) planned.plan_text = PlanText({identity, std::move(plan)});
    }
    if (format() == PlanFormat::kHtml) {
      ASHLAR_RETURN_IF_ERROR(AddToCompareWith(*graph, planned.viewed, console));
    }
    const std::string table = absl::StrCat(
        PoolTable(model_.path, made), "\n", ArenaLine(graph->plan), BottleneckLine(*graph, peak),
        WorkspaceLine(*graph), RecordLine(graph->record_use()), "\n", PeakTable(planned), "\n",
        made.packed != nullptr ? absl::StrCat("rewritten when the file was packed (",
                                              FormatName(packed_under, 200), ")\n")
                               : PassTable(graph->passes),
        TileLines(*graph));
    ASHLAR_ASSIGN_OR_RETURN(Json document, ModelDocument(*graph, peak, console));
    document["packed"] = made.packed != nullptr;
    if (graph->device->is_host()) {
      document["total"] = TotalDocument(NeedOf(made), AddressesNeeded(made));
      if (const std::optional<TotalBudget>& total = graph->wishes.total) {
        document["total"]["budget_bytes"] = total->bytes;
        document["total"]["fits"] = NeedOf(made).total() <= total->bytes;
      }
    }
    document["chunks"] = ChunksDocument(planned);
    absl::Status fits = CheckBudget(*graph, model_.path);
    if (fits.ok()) fits = CheckTotal(made);
    // Nobody should run a plan that is not the one asked for.
    if (!fits.ok()) planned.plan_text.clear();
    ASHLAR_RETURN_IF_ERROR(Show(planned, table, std::move(document), console));
    return fits;
  }

  absl::Status WriteTileInfo(Graph graph, const PlannedGraph& planned) const {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<TiledPart> parts,
                            DescribeTiledGraph(graph, planned.wishes, planned.means));
    Json document;
    document["schema_version"] = 1;
    document["tile"] = planned.wishes.tiles.ToString();
    document["tiles"] = TileInfo(graph, parts);
    return WriteFile(tile_info_, document.dump(1) + "\n");
  }

  absl::Status CheckBudget(const PlannedGraph& planned, const std::string& path) const {
    if (!planned.wishes.budget || planned.wishes.budget->bytes == 0) return absl::OkStatus();
    if (planned.plan.plan.arena <= planned.wishes.budget->bytes) return absl::OkStatus();
    return WithExitCode(
        absl::ResourceExhaustedError(
            absl::StrCat(path, " does not fit: --memory-budget is ", planned.wishes.budget->bytes,
                         " bytes, the smallest that would do is ", planned.smallest_budget)),
        ExitCode::kDoesNotFit);
  }

  absl::Status CheckTotal(const PlannedModel& made) const {
    const std::optional<TotalBudget>& total = made.plan().wishes.total;
    const MemoryNeed need = NeedOf(made);
    if (!total || need.total() <= total->bytes) return absl::OkStatus();
    return WithExitCode(
        absl::ResourceExhaustedError(absl::StrCat(
            model_.path, " does not fit: --total-budget is ", total->bytes,
            " bytes, the smallest total that was found is ", need.total(), ": ", need.ToString())),
        ExitCode::kDoesNotFit);
  }

  absl::Status ShowFrontier(Console& console) {
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(model_, console, WeightsUse::kPlain));
    ASHLAR_ASSIGN_OR_RETURN(const InputTensors inputs,
                            MakeInputs(model.graph, InputFlags(), execution_.seed, console));
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<FrontierPoint> points,
        MeasureFrontier(model.graph, ToPlanRequest(execution_, planning_, console), inputs,
                        console));
    console.Print(FrontierTable(points));
    if (!output_.empty()) {
      ASHLAR_RETURN_IF_ERROR(
          WriteFile(output_, FrontierSvg(absl::StrCat(model_.path, ": arena and time"), points)));
    }
    Json document = console.Document(execution_.device, execution_.threads);
    document["frontier"] = FrontierDocument(points);
    return console.Write(document);
  }

  // Whether every buffer is shown, by the viewer or in a document.
  bool shows_all() const { return format() == PlanFormat::kHtml || buffers_; }

  // What a page shows beside the plan: how a recorded run had placed the buffers, or the whole
  // model's plan where this one is in tiles.
  absl::Status AddToCompareWith(const PlannedGraph& planned, std::vector<ViewedPlan>& viewed,
                                Console& console) {
    if (HasEnding(model_.path, ".json")) {
      ASHLAR_ASSIGN_OR_RETURN(const ProfileRecording recording, ReadProfileDump(model_.path));
      ASHLAR_ASSIGN_OR_RETURN(ViewedPlan recorded,
                              ViewOf(recording, SummarizeMemory(recording),
                                     absl::StrCat(FileName(model_.path), ", recorded")));
      viewed.push_back(std::move(recorded));
    } else if (!planned.wishes.tiles.empty()) {
      PlanningFlags whole = planning_;
      whole.tiles = TileSpec();
      whole.plan_file.clear();
      whole.memory_budget = whole.total_budget = -1;
      ASHLAR_ASSIGN_OR_RETURN(NamedPlan plan, PlanOf(model_.path, whole, console));
      plan.view.title = absl::StrCat(FileName(model_.path), ", whole");
      viewed.push_back(std::move(plan.view));
    }
    return absl::OkStatus();
  }

  // That of a file, or of a model as options plan it.
  absl::StatusOr<NamedPlan> PlanOf(const std::string& path, const PlanningFlags& planning,
                                   Console& console) {
    if (HasEnding(path, ".plan")) {
      ASHLAR_ASSIGN_OR_RETURN(StoredPlan file, ReadNamedPlan(path));
      ViewedPlan view = ViewOf(file.plan, FileName(path));
      return NamedPlan{path, std::move(file.plan), std::move(view)};
    }
    ModelFlags flags = model_;
    flags.path = path;
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(flags, console));
    ASHLAR_ASSIGN_OR_RETURN(PlanRequest request, RequestFor(model, execution_, planning, console));
    request.means.planner.limits = limits();
    console.Progress(absl::StrCat("planning ", path));
    const Graph original = model.graph;
    ASHLAR_ASSIGN_OR_RETURN(const PlannedModel made,
                            ashlar::PlanModel(std::move(model), request, console));
    ASHLAR_ASSIGN_OR_RETURN(RecordedPlan plan, RecordPlan(original, made.plan(), request.checks));
    ViewedPlan view = ViewOf(plan, made.plan(), FileName(path));
    return NamedPlan{path, std::move(plan), std::move(view)};
  }

  absl::Status Diff(Console& console) {
    ASHLAR_ASSIGN_OR_RETURN(const NamedPlan a, PlanOf(model_.path, planning_, console));
    ASHLAR_ASSIGN_OR_RETURN(const NamedPlan b, PlanOf(diff_, planning_, console));
    console.Print(DiffTable(a, b));
    if (!output_.empty()) ASHLAR_RETURN_IF_ERROR(WriteFile(output_, PlanPage({a.view, b.view})));
    Json document = console.Document(execution_.device, execution_.threads);
    document.update(DiffDocument(a, b));
    return console.Write(document);
  }

  absl::Status ShareArena(Console& console) {
    std::vector<ArenaShare> shares;
    std::vector<std::string> paths = {model_.path};
    paths.insert(paths.end(), more_.begin(), more_.end());
    for (const std::string& path : paths) {
      ModelFlags flags = model_;
      flags.path = path;
      ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(flags, console));
      ASHLAR_ASSIGN_OR_RETURN(PlanRequest request,
                              RequestFor(model, execution_, planning_, console));
      request.means.planner.limits = limits();
      console.Progress(absl::StrCat("planning ", path));
      ASHLAR_ASSIGN_OR_RETURN(const PlannedModel made,
                              ashlar::PlanModel(std::move(model), request, console));
      ASHLAR_RETURN_IF_ERROR(CheckBudget(made.plan(), path));
      shares.push_back(ShareOf(path, made.plan()));
    }
    console.Print(SharedArenaTable(shares));
    Json document = console.Document(execution_.device, execution_.threads);
    document["share_arena"] = SharedArenaDocument(shares);
    return console.Write(document);
  }

  absl::StatusOr<Json> ModelDocument(const PlannedGraph& planned, const PeakReport& peak,
                                     const Console& console) const {
    const memory::PlanResult& r = planned.plan;
    const auto pool = [](int64_t bytes) { return Json{{"planned_bytes", bytes}}; };
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    if (planned.device->is_host()) document["processor"] = planned.processor().ToString();
    AddArena(r, document);
    document["pools"] = {{"arena", pool(r.plan.arena)},
                         {"weights", pool(planned.weights.bytes)},
                         {"input", pool(planned.input_bytes())},
                         {"output", pool(planned.output_bytes())}};
    if (planned.state.bytes > 0) document["pools"]["state"] = pool(planned.state.bytes);
    const bool runs = peak.bottleneck_node >= 0;
    document["arena"] = {
        {"lower_bound_bytes", r.lower_bound},
        {"proof", std::string(memory::ProofName(r.proof))},
        {"bottleneck_step", r.bottleneck_step},
        {"bottleneck_operator", runs ? planned.graph.node(peak.bottleneck_node).name : ""},
        {"workspace_at_peak_bytes", peak.workspace_bytes},
        {"copies_at_peak_bytes", peak.copies_bytes},
        {"planner", r.plan.planner}};
    document["extra_flops_ratio"] = planned.extra_flops_ratio;
    document["predicted_ms"] = planned.predicted_ms;
    document["kernel_record"] = RecordDocument(planned.record_use());
    document["tile"] = planned.wishes.tiles.ToString();
    document["prefer"] = planned.means.kernels.least_memory ? "memory" : "speed";
    if (planned.wishes.budget && planned.wishes.budget->bytes > 0) {
      document["budget_bytes"] = planned.wishes.budget->bytes;
      document["fits"] = r.plan.arena <= planned.wishes.budget->bytes;
      document["smallest_budget_bytes"] = planned.smallest_budget;
    }
    document["plan_ms"] = planned.plan_ms;
    document["memory_plan_ms"] = r.total_ms;
    document["passes"] = Json::array();
    for (const PassReport& pass : planned.passes) {
      document["passes"].push_back({{"name", pass.name},
                                    {"operators_before", pass.operators_before},
                                    {"operators_after", pass.operators_after},
                                    {"arena_bytes_before", pass.arena_bytes_before},
                                    {"arena_bytes_after", pass.arena_bytes_after}});
    }
    document["workspaces"] = WorkspaceDocument(planned);
    document["comp_seq"] = Json::array();
    for (int node : planned.schedule.order) {
      document["comp_seq"].push_back(planned.graph.node(node).name);
    }
    return document;
  }

  // Prints and writes everything, then says whether it fits.
  absl::Status Show(const PlannedBuffers& planned, const std::string& table, Json document,
                    Console& console) {
    const PlanFormat format = this->format();
    if (format == PlanFormat::kTable || !output_.empty()) console.Print(table);
    const bool has_file = format != PlanFormat::kPlan || !planned.plan_text.empty();
    if (has_file && (format != PlanFormat::kTable || !output_.empty())) {
      ASHLAR_ASSIGN_OR_RETURN(const std::string file, PlanFile(planned, format, table));
      if (output_.empty()) {
        console.Print(file);
      } else {
        ASHLAR_RETURN_IF_ERROR(WriteFile(output_, file));
      }
    }
    if (!compare_.empty()) {
      ASHLAR_RETURN_IF_ERROR(Compare(planned.problem.problem, document, console));
    }
    if (buffers_) document["plan"] = PlanDocument(planned.viewed.front());
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    if (!capacity() || planned.result.plan.arena <= *capacity()) return absl::OkStatus();
    const memory::PlanResult& r = planned.result;
    const int64_t least = std::max(r.lower_bound, r.plan.proven_bound);
    return WithExitCode(
        absl::ResourceExhaustedError(absl::StrCat(
            model_.path, least > *capacity() ? " does not fit" : " was not made to fit",
            ": the best plan found has ", r.plan.arena, " bytes, no plan less than ", least,
            "; --capacity is ", *capacity())),
        ExitCode::kDoesNotFit);
  }

  absl::Status Compare(const memory::Problem& problem, Json& document, Console& console) const {
    Table table({"planner", ">arena", ">bytes", ">to bound", ">search", "proof"});
    document["compare"] = Json::array();
    for (absl::string_view name : absl::StrSplit(compare_, ',')) {
      console.Progress(absl::StrCat("planning with ", name));
      const absl::StatusOr<memory::PlanResult> result =
          memory::PlanMemory(problem, {std::string(name), limits()});
      if (absl::IsFailedPrecondition(result.status())) {
        const std::string reason(result.status().message());
        table.AddRow({std::string(name), "-", "-", "-", "-", reason});
        document["compare"].push_back({{"planner", std::string(name)}, {"error", reason}});
        continue;
      }
      if (!result.ok()) return result.status();
      table.AddRow({std::string(name), FormatBytes(result->plan.arena),
                    absl::StrCat(result->plan.arena), RatioToBound(*result),
                    FormatMilliseconds(result->search_ms), memory::ProofText(*result)});
      document["compare"].push_back({{"planner", std::string(name)},
                                     {"arena_bytes", result->plan.arena},
                                     {"lower_bound_bytes", result->lower_bound},
                                     {"proof", std::string(memory::ProofName(result->proof))},
                                     {"search_ms", result->search_ms},
                                     {"total_ms", result->total_ms}});
    }
    console.Print(absl::StrCat("\n", table.ToText()));
    return absl::OkStatus();
  }

  CLI::App* app_ = nullptr;
  ModelFlags model_;
  ExecutionFlags execution_;
  PlanningFlags planning_;
  TrainingFlags training_;
  WorkspaceSource workspace_ = WorkspaceSource::kKernel;
  int64_t capacity_ = 0;
  bool frontier_ = false, buffers_ = false, share_arena_ = false;
  std::vector<std::string> more_;  // models beside MODEL
  std::string compare_, output_, tile_info_, diff_;
  PlanFormat format_ = PlanFormat::kTable;
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() { return std::make_unique<PlanCommand>(); }

}  // namespace ashlar
