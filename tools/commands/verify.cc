// ashlar verify: compares planned with actual memory.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "runtime/device/code_pages.h"
#include "runtime/measure/measure.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/family.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/plan_values.h"
#include "tools/report/family_report.h"
#include "tools/report/plan_report.h"
#include "tools/report/record_use.h"
#include "tools/report/table.h"
#include "tools/request.h"
#include "tools/training_flags.h"

namespace ashlar {
namespace {

constexpr char kPeakMethod[] = "peak of the resident set (VmHWM), with the process";

struct NamedPool {
  const char* name;
  const PoolMeasurement* pool;
};

class VerifyCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    AddTrainFlag(app, training_);
    AddInputFlags(app, inputs_);
    AddExecutionFlags(app, execution_);
    const OptionGroup measurement(app, "Measurement");
    AddNumber(measurement, "--runs", measure_.runs, 2, 1 << 20,
              "runs to count heap calls of, and one (default 3)");
    AddParsed(measurement, "--understate", understate_, ParseSize, "SIZE",
              "negative control: claim a chunk smaller than it is; exit 4");
    AddFlag(measurement, "--no-values", no_values_, "do not compare values with the untiled model");
    AddPlanningFlags(app, planning_);
    AddPlanFileFlag(app, planning_);
  }

  absl::Status CheckOptions() const override { return CheckTogether(execution_, planning_); }

  absl::Status Run(Console& console) override {
    ASHLAR_ASSIGN_OR_RETURN(const std::optional<ShapeFamily> family, FamilyOf(model_));
    if (family && inputs_.files.empty()) return VerifyFamily(*family, console);
    ASHLAR_ASSIGN_OR_RETURN(const ModelFlags flags,
                            AtChosenPoint(model_, planning_, inputs_, console));
    ASHLAR_ASSIGN_OR_RETURN(const Verified verified, VerifyModel(flags, console));
    return Show(verified.measurement, verified.values, console);
  }

 private:
  struct Verified {
    Measurement measurement;
    PlanValues values;
  };

  absl::StatusOr<Verified> VerifyModel(const ModelFlags& flags, Console& console) {
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadWithTraining(flags, training_, execution_, planning_,
                                                          console, WeightsUse::kAll));
    ASHLAR_ASSIGN_OR_RETURN(InputTensors inputs,
                            MakeInputs(model.graph, inputs_, training_, execution_.seed, console));
    ASHLAR_ASSIGN_OR_RETURN(PlanRequest request,
                            RequestToRun(model, flags.path, execution_, planning_, console));
    request.debug.understate_bytes = understate_;
    measure_.done_with = LettingGoOf(model);
    measure_.exit_code_on_fault = static_cast<int>(ExitCode::kOverrun);
    console.Progress("running and measuring");
    if (understate_ > 0) {  // a packed plan states its chunks as they are
      model.packed.reset();
      model.at_own_shapes.reset();
    }
    const auto plan = [&]() -> absl::StatusOr<PlanToMeasure> {
      const std::vector<std::shared_ptr<const MappedFile>> files = FilesOf(model);
      LetGoOfCode();  // of making inputs and of reading options
      ASHLAR_ASSIGN_OR_RETURN(PlannedModel made, PlanModel(std::move(model), request, console));
      for (const auto& file : files) file->DropResidentPages();
      return PlanToMeasure{std::move(made.planned), std::move(made.packed)};
    };
    absl::StatusOr<Measurement> measured = MeasurePlan(plan, request, std::move(inputs), measure_);
    if (!measured.ok()) {
      return request.planning.recorded ? PlanFileError(measured.status()) : measured.status();
    }
    Measurement measurement = *std::move(measured);
    // Plan the same tiles: with guards, a budget would give others, or none.
    const std::optional<int64_t> window = measurement.weights_budget;
    request.target = measurement.target;
    request.planning = measurement.planning;
    request.debug.understate_bytes = 0;
    console.Progress("running with guard bytes");
    // Load again, so that while measuring nothing held the weights twice, and the file is mapped
    // only once at a time. Their checksums were compared above.
    model = Model();
    measure_.done_with = nullptr;
    ASHLAR_ASSIGN_OR_RETURN(model, LoadWithTraining(flags, training_, execution_, planning_,
                                                    console, WeightsUse::kNone));
    ASHLAR_ASSIGN_OR_RETURN(measurement.overruns, FindOverruns(std::move(model), request, window,
                                                               measurement.inputs, console));
    measurement.ok = measurement.ok && measurement.overruns.empty() && StaysBelow(measurement);
    if (window && !no_values_ && !planning_.request.target.total) {
      console.Note(
          "values are compared with all weights in memory: in a control group that has no room for "
          "them, take --no-values, and `compare --ref FILE.npz` for the values");
    }
    ASHLAR_ASSIGN_OR_RETURN(PlanValues values, Values(flags, request, measurement.inputs, console));
    return Verified{std::move(measurement), std::move(values)};
  }

  // Runs with guard bytes, and with weights streamed through a window if there is one.
  static absl::StatusOr<std::vector<std::string>> FindOverruns(Model model, PlanRequest request,
                                                               std::optional<int64_t> window,
                                                               const InputTensors& inputs,
                                                               Console& console) {
    const DoneWith letting_go = LettingGoOf(model);
    if (!window) return CheckGuards(std::move(model.graph), request, inputs, letting_go);
    request.target.weights_budget = window;
    request.debug.guard_bytes = kGuardBytes;
    ASHLAR_ASSIGN_OR_RETURN(const PlannedModel made, PlanModel(std::move(model), request, console));
    LetGoOfCode();  // of planning, which would stay: code is locked as it is used
    return CheckGuards(made.packed, inputs);
  }

  // Verifies each point alone, then all in one arena.
  absl::Status VerifyFamily(const ShapeFamily& family, Console& console) {
    ASHLAR_RETURN_IF_ERROR(CheckTogether(family, planning_));
    if (training_.train) {
      return UsageError("--train is about one plan, and --shape declares several");
    }
    ASHLAR_ASSIGN_OR_RETURN(PlannedFamily planned,
                            PlanFamily(family, model_, execution_, planning_, console));
    Table table({"point", ">arena planned", ">actual", ">output planned", ">actual", ">heap calls",
                 "guards", "values", ""});
    Json points = Json::array();
    bool ok = true, differs = false;
    for (const InputShapes& point : planned.shapes.points()) {
      absl::StatusOr<Verified> verified = VerifyModel(AtPoint(model_, point), console);
      if (!verified.ok()) return Annotate(verified.status(), ShapesText(point));
      const Measurement& m = verified->measurement;
      const PlanValues& values = verified->values;
      table.AddRow({ShapesText(point), absl::StrCat(m.arena.planned_bytes),
                    absl::StrCat(m.arena.actual_bytes), absl::StrCat(m.output.planned_bytes),
                    absl::StrCat(m.output.actual_bytes), absl::StrCat(m.heap.own_calls),
                    m.overruns.empty() ? "intact" : "OVERRUN",
                    !values.left_out.empty() ? "not compared"
                    : values.ok()            ? "equal"
                                             : "DIFFER",
                    m.ok ? "ok" : "EXCEEDS"});
      points.push_back({{"shapes", ShapesDocument(point)},
                        {"arena", PoolDocument(m.arena)},
                        {"weights", PoolDocument(m.weights)},
                        {"input", PoolDocument(m.input)},
                        {"output", PoolDocument(m.output)},
                        {"own_calls", m.heap.own_calls},
                        {"overruns", m.overruns},
                        {"values", values.ToJson()},
                        {"ok", m.ok && values.ok()}});
      ok = ok && m.ok;
      differs = differs || !values.ok();
    }
    const int64_t arena = planned.arena(), weights = planned.weights;
    const auto count = static_cast<int64_t>(planned.plans.size());
    console.Progress("switching between the points");
    ASHLAR_ASSIGN_OR_RETURN(
        const FamilySwitching switching,
        SwitchBetweenPoints(std::move(planned), measure_.runs, execution_.seed));
    console.Print(absl::StrCat(
        table.ToText(), "\nall in one arena of ", FormatBytes(arena), " with weights of ",
        FormatBytes(weights), ", in random order: ", Counted(switching.runs, "run"), ", ",
        Counted(switching.heap.own_calls, "heap call"),
        HeapCountingAvailable() ? "" : " (not counted in this build)", ", results ",
        switching.differing == 0 ? "as of each point alone"
                                 : absl::StrCat("DIFFER in ", switching.differing, " runs"),
        "\n"));
    const bool switches = switching.heap.own_calls == 0 && switching.differing == 0;
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    document["family"] = {{"shape", family.text()},
                          {"arena_bytes", arena},
                          {"weights_bytes", weights},
                          {"points", std::move(points)},
                          {"switching",
                           {{"runs", switching.runs},
                            {"own_calls", switching.heap.own_calls},
                            {"counted", HeapCountingAvailable()},
                            {"differing", switching.differing}}}};
    document["ok"] = ok && !differs && switches;
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    const auto failed = [&](absl::string_view what, ExitCode code) {
      return WithExitCode(absl::FailedPreconditionError(
                              absl::StrCat(model_.path, ", ", Counted(count, "point"), ": ", what)),
                          code);
    };
    if (!ok) return failed("actual > planned", ExitCode::kOverrun);
    if (!switches && switching.differing == 0) {
      return failed("switching made heap calls", ExitCode::kOverrun);
    }
    if (differs || !switches) return failed("values differ", ExitCode::kMismatch);
    return absl::OkStatus();
  }

  static Json PoolDocument(const PoolMeasurement& pool) {
    return {{"planned_bytes", pool.planned_bytes},
            {"actual_bytes", pool.actual_bytes},
            {"method", pool.method}};
  }

  // Whether the process stays below --total-budget. Without that option its memory is reported, but
  // not limited. Not checked without heap counting: sanitizers use memory of their own.
  bool StaysBelow(const Measurement& m) const {
    return !planning_.request.target.total || !HeapCountingAvailable() ||
           m.rss_peak <= m.need.total();
  }

  // Compares values, unless a total budget leaves no memory for the whole model in addition to the
  // plan.
  absl::StatusOr<PlanValues> Values(const ModelFlags& flags, const PlanRequest& request,
                                    const InputTensors& inputs, Console& console) const {
    PlanValues none;
    none.left_out = no_values_                       ? "--no-values"
                    : training_.train                ? "a step of training"
                    : planning_.request.target.total ? "the total is limited"
                                                     : "";
    if (!none.left_out.empty()) return none;
    console.Progress("comparing values with the whole model");
    const absl::StatusOr<Model> model = LoadModel(flags, console, WeightsUse::kAll);
    absl::StatusOr<PlanValues> values =
        model.ok() ? ComparePlanValues(*model, request, inputs, console) : model.status();
    if (values.ok() || absl::IsInternal(values.status())) return values;
    none.left_out =
        std::string(values.status().message());  // failed in the memory left by the plan
    return none;
  }

  absl::Status Show(const Measurement& m, const PlanValues& values, Console& console) const {
    std::vector<NamedPool> pools = {{"arena", &m.arena}, {"weights", &m.weights}};
    if (m.state.planned_bytes > 0) pools.push_back({"state", &m.state});
    pools.insert(pools.end(), {{"input", &m.input}, {"output", &m.output}});
    Table table(
        {"pool", ">planned", ">actual", ">planned bytes", ">actual bytes", "", "measured by"});
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    AddRecompute(training_, document);
    std::string excess;
    for (const auto& [name, pool] : pools) {
      const bool fits = pool->actual_bytes <= pool->planned_bytes;
      table.AddRow({name, FormatBytes(pool->planned_bytes), FormatBytes(pool->actual_bytes),
                    absl::StrCat(pool->planned_bytes), absl::StrCat(pool->actual_bytes),
                    fits ? "ok" : "EXCEEDS", pool->method});
      document["pools"][name] = PoolDocument(*pool);
      if (!fits && excess.empty()) {
        excess = absl::StrCat(name, ": ", pool->actual_bytes, " bytes used, ", pool->planned_bytes,
                              " planned");
      }
    }
    document["heap"] = {
        {"own_calls", m.heap.own_calls},         {"own_bytes", m.heap.own_bytes},
        {"library_calls", m.heap.library_calls}, {"library_net_bytes", m.heap.library_net_bytes},
        {"counted", HeapCountingAvailable()},    {"runs", m.runs_counted}};
    if (m.device.has_value()) {
      document["device_memory"] = {{"asked_bytes", m.device->asked},
                                   {"taken_bytes", m.device->taken},
                                   {"library_bytes", m.device->libraries}};
    }
    document["rss"] = {{"before", m.rss_before},     {"after", m.rss_after},
                       {"peak", m.rss_peak},         {"before_bytes", m.rss_before},
                       {"after_bytes", m.rss_after}, {"peak_bytes", m.rss_peak}};
    if (m.need.process > 0) {
      document["total"] = TotalDocument(m.need, m.addresses);
      document["total"]["actual_bytes"] = m.rss_peak;
      document["total"]["method"] = kPeakMethod;
      if (planning_.request.target.total) {
        document["total"]["budget_bytes"] = planning_.request.target.total->bytes;
        document["total"]["fits"] = m.rss_peak <= planning_.request.target.total->bytes;
      }
      const bool below = m.rss_peak <= m.need.total();
      table.AddRow({"total", FormatBytes(m.need.total()), FormatBytes(m.rss_peak),
                    absl::StrCat(m.need.total()), absl::StrCat(m.rss_peak),
                    below                             ? "ok"
                    : !planning_.request.target.total ? "above the estimate"
                                                      : "EXCEEDS",
                    kPeakMethod});
      if (!StaysBelow(m) && excess.empty()) {
        excess = absl::StrCat("resident set: ", m.rss_peak, " bytes at its peak, ", m.need.total(),
                              " planned");
      }
    }
    const bool above = m.need.process > 0 && m.rss_peak > m.need.total();
    document["overruns"] = m.overruns;
    document["kernel_record"] = RecordDocument(m.record_use);
    document["values"] = values.ToJson();
    document["ok"] = m.ok && values.ok();
    console.Print(table.ToText());
    if (above && !planning_.request.target.total) {
      console.Print(
          "the total is an estimate, as code, libraries and reading the model are no part of a "
          "plan; --total-budget makes it a promise\n");
    }
    console.Print(RecordLine(m.record_use));
    console.Print(absl::StrFormat(
        "\nheap in %s: %s by Ashlar (%s), %d by libraries (net %s)%s\n"
        "resident set: %s before, %s after, %s at its peak\n",
        Counted(m.runs_counted, "further run"), Counted(m.heap.own_calls, "call"),
        Counted(m.heap.own_bytes, "byte"), m.heap.library_calls,
        Counted(m.heap.library_net_bytes, "byte"),
        HeapCountingAvailable() ? "" : "; not counted in this build", FormatBytes(m.rss_before),
        FormatBytes(m.rss_after), FormatBytes(m.rss_peak)));
    if (m.need.process > 0) {
      console.Print(absl::StrFormat(
          "of the total, the process itself: %s; addresses that it needs (ulimit -v): %s\n",
          FormatBytes(m.need.process), FormatBytes(m.addresses)));
    }
    if (m.device.has_value()) {
      console.Print(absl::StrFormat(
          "device memory: %s asked for, free memory shrank by %s; libraries and contexts took %s\n",
          FormatBytes(m.device->asked), FormatBytes(m.device->taken),
          FormatBytes(m.device->libraries)));
    }
    for (const std::string& overrun : m.overruns) {
      console.Print(absl::StrCat("overrun: ", FormatName(overrun, 300), "\n"));
      if (excess.empty()) excess = overrun;
    }
    console.Print(values.ToText());
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    if (m.ok && !values.ok()) {
      return WithExitCode(absl::FailedPreconditionError(absl::StrCat(
                              model_.path, ": the plan's values differ from ", values.against)),
                          ExitCode::kMismatch);
    }
    if (m.ok) return absl::OkStatus();
    if (excess.empty()) {
      excess = absl::StrFormat("a run made %d heap calls, and libraries kept %d bytes",
                               m.heap.own_calls, m.heap.library_net_bytes);
    }
    return WithExitCode(
        absl::FailedPreconditionError(absl::StrCat(model_.path, ": actual > planned: ", excess)),
        ExitCode::kOverrun);
  }

  ModelFlags model_;
  InputFlags inputs_;
  ExecutionFlags execution_;
  PlanningFlags planning_;
  TrainingFlags training_;
  MeasureOptions measure_;
  int64_t understate_ = 0;
  bool no_values_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeVerifyCommand() { return std::make_unique<VerifyCommand>(); }

}  // namespace ashlar
