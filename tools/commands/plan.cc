// ashlar plan: the memory plan of a model, or of buffers in a CSV file or in a memory snapshot of
// PyTorch, without running.
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "memory/problem/lower_bound.h"
#include "runtime/measure/process_memory.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/recorded_plan.h"
#include "runtime/plan/stages/memory_need.h"
#include "runtime/plan/tiling/tiled_plan.h"
#include "runtime/plan/total_plan.h"
#include "serialization/file_writer.h"
#include "serialization/megengine/conventions.h"
#include "serialization/tflite/offline_plan.h"
#include "tools/budget_checks.h"
#include "tools/exit_code.h"
#include "tools/family.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/model.h"
#include "tools/peak.h"
#include "tools/plan_options.h"
#include "tools/plan_picture.h"
#include "tools/repeat_options.h"
#include "tools/report/family_report.h"
#include "tools/report/frontier.h"
#include "tools/report/frontier_picture.h"
#include "tools/report/int8_twin.h"
#include "tools/report/model_plan_document.h"
#include "tools/report/plan_diff.h"
#include "tools/report/plan_report.h"
#include "tools/report/planner_comparison.h"
#include "tools/report/record_use.h"
#include "tools/report/recording_view.h"
#include "tools/report/shared_arena.h"
#include "tools/report/snapshot_view.h"
#include "tools/report/step_frontier.h"
#include "tools/report/tile_info.h"
#include "tools/request.h"
#include "tools/training_flags.h"
#include "viewer/plan_document.h"
#include "viewer/plan_page.h"

namespace ashlar {
namespace {

class PlanCommand final : public PlanOptions {
 public:
  absl::Status Run(Console& console) override {
    if (output_ == "-") output_.clear();
    console.ResultIsIn(output_);
    if (!diff_.empty()) return Diff(console);
    if (share_arena_) return ShareArena(console);
    if (WritesTflite()) return PlanInside(console);
    if (PlansBuffers()) return PlanBuffers(console);
    ASHLAR_ASSIGN_OR_RETURN(const std::optional<ShapeFamily> family, FamilyOf(model_));
    if (family) return ShowFamily(*family, console);
    return frontier_ ? ShowFrontier(console) : PlanModel(console);
  }

 private:
  // Refuses buffers that no offset places, as there is nothing to validate then.
  static absl::Status CheckAllPlaced(const memory::CsvProblem& csv) {
    for (size_t i = 0; i < csv.problem.buffers.size(); ++i) {
      if (csv.problem.buffers[i].offset) continue;
      return UsageError(absl::StrCat("--validate: id ", FormatName(csv.ids[i]),
                                     " has no offset; without --validate it is planned"));
    }
    return absl::OkStatus();
  }

  // Returns the most bytes that live at once.
  static absl::StatusOr<int64_t> LivenessBound(const memory::Problem& problem) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<memory::LiveBytes> profile,
                            memory::LiveProfile(problem));
    int64_t most = 0;
    for (const memory::LiveBytes& entry : profile) most = std::max(most, entry.bytes);
    return most;
  }

  // Says how large the arena is beside the liveness bound if given offsets decide: the lower bound
  // is then one of these offsets, and not of the buffers alone.
  std::string LivenessLine(const memory::PlanResult& result, int64_t liveness_bound) const {
    if (!validate_ && result.bound_kind != memory::BoundKind::kFixedOffset) return "";
    const double ratio = liveness_bound > 0 ? static_cast<double>(result.plan.arena) /
                                                  static_cast<double>(liveness_bound)
                                            : 1;
    return absl::StrFormat("%sarena %d; %.2f of the liveness bound %d\n",
                           validate_ ? "valid; " : "", result.plan.arena, ratio, liveness_bound);
  }

  // Reads the buffers of the file into `planned`, and returns its snapshot if it is one.
  absl::StatusOr<std::optional<MemorySnapshot>> ReadBuffers(PlannedBuffers& planned) const {
    const int64_t align = std::max<int64_t>(planning_.request.debug.alignment, 1);
    if (PlansSnapshot()) {
      ASHLAR_ASSIGN_OR_RETURN(MemorySnapshot snapshot, LoadSnapshot(model_.path, align));
      planned.problem = snapshot.problem;
      return std::optional(std::move(snapshot));
    }
    absl::StatusOr<memory::CsvProblem> problem =
        model_.path == "-" ? memory::ReadCsv(std::cin, "standard input", align)
                           : memory::ReadCsvFile(model_.path, align);
    if (!problem.ok()) return WithExitCode(problem.status(), ExitCode::kRejectedInput);
    planned.problem = *std::move(problem);
    return std::nullopt;
  }

  absl::Status PlanBuffers(Console& console) {
    if (format() == PlanFormat::kPlan) {
      return UsageError(absl::StrCat("plan files are of models; ", model_.path, " holds buffers"));
    }
    console.Progress(absl::StrCat("reading ", model_.path));
    PlannedBuffers planned;
    ASHLAR_ASSIGN_OR_RETURN(const std::optional<MemorySnapshot> snapshot, ReadBuffers(planned));
    if (validate_) ASHLAR_RETURN_IF_ERROR(CheckAllPlaced(planned.problem));
    planned.names = planned.problem.names.empty() ? planned.problem.ids : planned.problem.names;
    planned.title = model_.path;
    console.Progress("planning");
    absl::StatusOr<memory::PlanResult> result = memory::PlanMemory(
        planned.problem.problem, {planning_.request.planning.planner.planner, limits()});
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
    ASHLAR_ASSIGN_OR_RETURN(const int64_t liveness_bound, LivenessBound(planned.problem.problem));
    document["liveness_bound_bytes"] = liveness_bound;
    if (snapshot) document["snapshot"] = SnapshotDocument(*snapshot);
    document["chunks"] = ChunksDocument(planned);
    if (shows_all()) {
      planned.viewed = {ViewOf(planned.problem.problem, r, planned.names, FileName(model_.path))};
      if (snapshot) planned.viewed.push_back(ViewOfSnapshot(*snapshot, r));
    }
    document["search_ms"] = r.search_ms;
    document["total_ms"] = r.total_ms;
    const std::string table =
        absl::StrCat(absl::StrFormat("%s, %s planned in %s\n",
                                     Counted(planned.problem.problem.buffers.size(), "buffer"),
                                     FormatBytes(r.plan.arena), FormatMilliseconds(r.total_ms)),
                     validate_ ? "" : ArenaLine(r), LivenessLine(r, liveness_bound),
                     snapshot ? SnapshotLines(*snapshot, r) : "", PeakTable(planned));
    return Show(planned, table, std::move(document), console);
  }

  // Writes the model with addresses for TensorFlow Lite for Microcontrollers.
  absl::Status PlanInside(Console& console) {
    ASHLAR_ASSIGN_OR_RETURN(const ModelSource source, SourceOf(model_.path, console));
    if (!source.is_tflite) {
      return UsageError(absl::StrCat("-o ", output_, ": ", model_.path, " is no .tflite file"));
    }
    std::shared_ptr<const MappedFile> file = source.piped;
    if (file == nullptr) {
      absl::StatusOr<std::shared_ptr<const MappedFile>> opened =
          MappedFile::OpenLoaded(source.path);
      if (!opened.ok()) return WithExitCode(opened.status(), ExitCode::kRejectedInput);
      file = *std::move(opened);
    }
    const absl::StatusOr<TfliteBuffers> buffers = BuffersOfTflite(file->bytes(), source.path);
    if (!buffers.ok()) return WithExitCode(buffers.status(), ExitCode::kRejectedInput);
    console.Progress("planning");
    ASHLAR_ASSIGN_OR_RETURN(
        const memory::PlanResult result,
        memory::PlanMemory(buffers->problem,
                           {planning_.request.planning.planner.planner, limits()}));
    const absl::StatusOr<std::string> planned =
        WithOfflinePlan(file->bytes(), source.path, *buffers, result.plan.offsets);
    if (!planned.ok()) return WithExitCode(planned.status(), ExitCode::kRejectedInput);
    ASHLAR_RETURN_IF_ERROR(WriteFile(output_, *planned));
    console.Print(absl::StrCat(model_.path, " -> ", output_, ": ",
                               Counted(buffers->names.size(), "buffer"), ", ",
                               FormatBytes(result.plan.arena), "\n", ArenaLine(result)));
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    document["buffers"] = buffers->names.size();
    AddArena(result, document);
    return console.Write(document);
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
    ASHLAR_ASSIGN_OR_RETURN(Model model,
                            LoadWithTraining(model_, training_, execution_, planning_, console));
    const int first_added_id = model.graph.next_id();
    // The search for the budget decides, even if the file is packed in less memory.
    const std::optional<MemoryBudget>& budget = planning_.request.target.budget;
    if (budget && budget->bytes > 0) model.packed.reset();
    const bool to_run = format() == PlanFormat::kPlan;
    ASHLAR_ASSIGN_OR_RETURN(PlanRequest request,
                            to_run
                                ? RequestToRun(model, model_.path, execution_, planning_, console)
                                : RequestFor(model, execution_, planning_, console));
    request.planning.planner.limits = limits();
    request.planning.workspace = workspace_;
    request.debug.measure_passes = true;
    request.debug.keep_untiled = budget.has_value();
    if (request.target.budget) request.target.budget->find_smallest = true;
    if (request.target.total) request.target.total->find_smallest = true;
    if (int8_twin_) request.target.tuned_tiles = false;  // as the twin is
    console.Progress("planning");
    ASHLAR_ASSIGN_OR_RETURN(const std::optional<PlannedModel> twin, PlanTwin(model, request));
    const bool needs_model = !tile_info_.empty() || format() == PlanFormat::kPlan || shows_all();
    const Graph original = needs_model ? model.graph : Graph();
    const ModelIdentity identity =
        format() == PlanFormat::kPlan ? IdentityOf(model) : ModelIdentity();
    const std::string packed_under = model.packed ? model.packed->options : "";
    if (workspace_ == WorkspaceSource::kRecorded) ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
    const Graph packed_graph = model.packed ? model.graph : Graph();
    ASHLAR_ASSIGN_OR_RETURN(const PlannedModel made,
                            ashlar::PlanModel(std::move(model), request, console));
    const PlannedGraph* const graph = &made.plan();
    const std::optional<MemoryNeed> without_budget = NeedWithoutBudget(made, packed_graph, request);
    if (!tile_info_.empty()) ASHLAR_RETURN_IF_ERROR(WriteTileInfo(original, *graph));
    ASHLAR_RETURN_IF_ERROR(CheckRecordedWorkspaces(*graph));
    const PeakReport peak = ExaminePeak(*graph, first_added_id);

    PlannedBuffers planned = BuffersOf(*graph, model_.path);
    if (format() == PlanFormat::kPlan || shows_all()) {
      ASHLAR_ASSIGN_OR_RETURN(RecordedPlan plan, RecordPlan(original, *graph));
      planned.viewed = {ViewOf(plan, *graph, FileName(model_.path))};
      if (format() == PlanFormat::kPlan) planned.plan_text = PlanText({identity, std::move(plan)});
    }
    if (graph->weights.window) {
      planned.window = ViewOfWindow(*graph, absl::StrCat(FileName(model_.path), ": weights"));
    }
    if (format() == PlanFormat::kHtml) {
      ASHLAR_RETURN_IF_ERROR(AddToCompareWith(*graph, planned.viewed, console));
      if (planned.window && planned.viewed.size() == 1) planned.viewed.push_back(*planned.window);
    }
    absl::Status fits = CheckBudget(*graph, model_.path);
    if (fits.ok()) fits = CheckTotal(made, model_.path);
    const std::string table = absl::StrCat(
        fits.ok() ? "" : absl::StrCat(fits.message(), "\nThe smallest plan that was found:\n\n"),
        PoolTable(model_.path, made), TotalLine(without_budget, made), "\n", ArenaLine(graph->plan),
        graph->plan.proof == memory::Proof::kNone
            ? ""
            : "optimal for this order, these kernels and tiles; other choices may need less\n",
        BottleneckLine(*graph, peak), WorkspaceLine(*graph), InstructionsLine(*graph),
        TimeLine(*graph), RoundingLine(*graph), BFloat16Line(*graph),
        RecordLine(CountRecordUse(*graph)), "\n", PeakTable(planned), "\n",
        made.packed != nullptr ? absl::StrCat("rewritten when the file was packed (",
                                              FormatName(packed_under, 200), ")\n")
                               : PassTable(graph->passes),
        TileLines(*graph),
        twin ? absl::StrCat("\nbeside its twin in 8 bits:\n", TwinTable(made, *twin),
                            graph->tiles.empty()
                                ? ""
                                : "the floats are tiled, the 8 bits are not: the model that "
                                  "`quantize` writes can be tiled, too\n")
             : "");
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    AddModelPlan(*graph, peak, document);
    AddRecompute(training_, document);
    if (training_.train) {
      document["repeat"] = OptionsToRepeat(training_.options.tiles, training_.options.recompute);
    }
    if (twin) document["int8_twin"] = TwinDocument(*twin);
    document["packed"] = made.packed != nullptr;
    if (graph->device->is_host()) {
      document["total"] = TotalDocument(NeedOf(made), AddressesNeeded(made));
      if (without_budget) document["total"]["without_budget_bytes"] = without_budget->total();
      if (const std::optional<TotalBudget>& total = graph->request.target.total) {
        document["total"]["budget_bytes"] = total->bytes;
        document["total"]["fits"] = NeedOf(made).total() <= total->bytes;
        const int64_t least = LeastTotal(*graph, total->process_bytes);
        if (least > total->bytes) document["total"]["least_bytes"] = least;
      }
    }
    document["chunks"] = ChunksDocument(planned);
    if (!fits.ok()) {
      AddRefusal(fits, document);
      planned.plan_text.clear();  // nobody should run a plan that is not the one asked for
    }
    ASHLAR_RETURN_IF_ERROR(Show(planned, table, std::move(document), console));
    return fits;
  }

  // Returns the memory of the plan without the memory budget, with its weights in memory or in the
  // file, as in `made`; nothing without a budget, or if there is no such plan.
  std::optional<MemoryNeed> NeedWithoutBudget(const PlannedModel& made, const Graph& packed_graph,
                                              PlanRequest request) const {
    if (!planning_.request.target.budget || !made.plan().device->is_host()) return std::nullopt;
    std::shared_ptr<const PlannedGraph> untiled = made.plan().untiled;
    if (made.packed != nullptr) {  // in the tiles that met this budget before
      request.target.tiles = TileSpec();
      request.planning.kernels.low_workspace = planning_.request.planning.kernels.low_workspace;
      absl::StatusOr<std::unique_ptr<PlannedGraph>> planned = PlanGraph(packed_graph, request);
      if (planned.ok()) untiled = *std::move(planned);
    }
    if (untiled == nullptr) return std::nullopt;
    return NeedOf(*untiled, ProcessBytes(untiled->request.target.threads), made.packed != nullptr);
  }

  // Warns if the process takes more in total for its smaller arena, and says why.
  static std::string TotalLine(const std::optional<MemoryNeed>& without_budget,
                               const PlannedModel& made) {
    if (!without_budget) return "";
    const MemoryNeed need = NeedOf(made);
    if (need.total() <= without_budget->total()) return "";
    return absl::StrCat("the total is larger than without a budget (",
                        FormatBytes(without_budget->total()),
                        "). What grew: ", DescribeGrowth(*without_budget, need), "\n");
  }

  // Nothing unless --int8-twin asks for it.
  absl::StatusOr<std::optional<PlannedModel>> PlanTwin(Model model,
                                                       const PlanRequest& request) const {
    if (!int8_twin_) return std::optional<PlannedModel>();
    ASHLAR_RETURN_IF_ERROR(UsePlainWeights(model));
    ASHLAR_ASSIGN_OR_RETURN(PlannedModel twin, PlanInt8Twin(model.graph, request));
    return std::optional<PlannedModel>(std::move(twin));
  }

  absl::Status WriteTileInfo(Graph graph, const PlannedGraph& planned) const {
    const PlanRequest settled = planned.SettledRequest();
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<TiledPart> parts,
                            DescribeTiledGraph(graph, settled.target, settled.planning));
    Json document;
    document["schema_version"] = 1;
    document["tile"] = planned.tiles.ToString();
    document["tiles"] = TileInfo(graph, parts);
    return WriteFile(tile_info_, document.dump(1) + "\n");
  }

  // The steps of training that make more and more again.
  absl::Status ShowStepFrontier(Console& console) {
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModelToTrain(model_, training_, console));
    ASHLAR_ASSIGN_OR_RETURN(const TrainingGraph graph, GraphToTrain(std::move(model), training_));
    console.Progress("searching for tensors to recompute");
    ASHLAR_ASSIGN_OR_RETURN(
        const std::vector<FrontierPoint> points,
        PlanStepFrontier(graph, training_.options, ToPlanRequest(execution_, planning_, console),
                         console));
    console.Print(FrontierTable(points));
    Json document = console.Document(execution_.device, execution_.threads);
    document["step_frontier"] = FrontierDocument(points, "recompute");
    return console.Write(document);
  }

  absl::Status ShowFrontier(Console& console) {
    if (training_.train) return ShowStepFrontier(console);
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
    document["frontier"] = FrontierDocument(points, "tile");
    return console.Write(document);
  }

  // The other plan on a page: how a recorded run had placed the buffers, or the whole
  // model's plan where this one is in tiles.
  absl::Status AddToCompareWith(const PlannedGraph& planned, std::vector<ViewedPlan>& viewed,
                                Console& console) {
    if (HasEnding(model_.path, ".json")) {
      ASHLAR_ASSIGN_OR_RETURN(const ProfileRecording recording, ReadProfileDump(model_.path));
      ASHLAR_ASSIGN_OR_RETURN(ViewedPlan recorded,
                              ViewOf(recording, SummarizeMemory(recording),
                                     absl::StrCat(FileName(model_.path), ", recorded")));
      viewed.push_back(std::move(recorded));
    } else if (!planned.tiles.empty()) {
      PlanningFlags whole = planning_;
      whole.request.target.tiles = {};
      whole.request.target.budget.reset();
      whole.request.target.total.reset();
      whole.tuned_tiles = false;
      whole.plan_file.clear();
      ASHLAR_ASSIGN_OR_RETURN(NamedPlan plan, PlanOf(model_.path, whole, console));
      plan.view.title = absl::StrCat(FileName(model_.path), ", whole");
      viewed.push_back(std::move(plan.view));
    }
    return absl::OkStatus();
  }

  // Returns the plan of a file, or of a model as the options plan it.
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
    request.planning.planner.limits = limits();
    console.Progress(absl::StrCat("planning ", path));
    const Graph original = model.graph;
    ASHLAR_ASSIGN_OR_RETURN(const PlannedModel made,
                            ashlar::PlanModel(std::move(model), request, console));
    ASHLAR_ASSIGN_OR_RETURN(RecordedPlan plan, RecordPlan(original, made.plan()));
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
      request.planning.planner.limits = limits();
      console.Progress(absl::StrCat("planning ", path));
      const absl::StatusOr<PlannedModel> made =
          ashlar::PlanModel(std::move(model), request, console);
      if (!made.ok()) {
        if (NeededBytes(made.status())) return made.status();  // which names the model
        return Annotate(made.status(), path);
      }
      ASHLAR_RETURN_IF_ERROR(CheckBudget(made->plan(), path));
      shares.push_back(ShareOf(path, made->plan()));
    }
    console.Print(SharedArenaTable(shares));
    Json document = console.Document(execution_.device, execution_.threads);
    document["share_arena"] = SharedArenaDocument(shares);
    return console.Write(document);
  }

  absl::Status ShowFamily(const ShapeFamily& shapes, Console& console) {
    ASHLAR_ASSIGN_OR_RETURN(const PlannedFamily family,
                            PlanFamily(shapes, model_, execution_, planning_, console));
    console.Print(FamilyTable(family));
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    document["family"] = FamilyDocument(family);
    return console.Write(document);
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
      ASHLAR_ASSIGN_OR_RETURN(document["compare"], ComparePlanners(planned.problem.problem,
                                                                   compare_, limits(), console));
    }
    if (buffers_) document["plan"] = PlanDocument(planned.viewed.front());
    const absl::Status fits = CheckCapacity(planned.result);
    if (!fits.ok()) AddRefusal(fits, document);
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    return fits;
  }

  // Says in the document that the command refuses, as in a document that has nothing else.
  static void AddRefusal(const absl::Status& refused, Json& document) {
    document["exit_code"] = static_cast<int>(ExitCodeOf(refused));
    document["error"] = std::string(refused.message());
  }

  absl::Status CheckCapacity(const memory::PlanResult& r) const {
    if (!capacity() || r.plan.arena <= *capacity()) return absl::OkStatus();
    const int64_t least = std::max(r.lower_bound, r.plan.proven_bound);
    return WithExitCode(
        absl::ResourceExhaustedError(absl::StrCat(
            model_.path, least > *capacity() ? " does not fit" : " was not made to fit",
            ": the best plan found has ", r.plan.arena,
            " bytes, no placement of these buffers has less than ", least, "; --capacity is ",
            *capacity())),
        ExitCode::kDoesNotFit);
  }
};

}  // namespace

std::unique_ptr<Command> MakePlanCommand() { return std::make_unique<PlanCommand>(); }

}  // namespace ashlar
