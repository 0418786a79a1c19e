// ashlar bench: measures the time of runs.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "runtime/measure/process_memory.h"
#include "runtime/plan/record/recorded_plan.h"
#include "runtime/session/pipeline.h"
#include "tools/bound_session.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/family.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/interrupt.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/report/record_use.h"
#include "tools/report/statistics.h"
#include "tools/report/table.h"
#include "tools/request.h"
#include "tools/training_flags.h"
#include "tools/version.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

absl::StatusOr<std::vector<double>> ParsePercentiles(absl::string_view text) {
  ASHLAR_ASSIGN_OR_RETURN(std::vector<double> percentiles, ParseNumbers(text));
  for (double p : percentiles) {
    if (p >= 0 && p <= 100) continue;
    return absl::InvalidArgumentError(absl::StrCat(p, " is not a percentile from 0 to 100"));
  }
  return percentiles;
}

// Runs with the same inputs, several in flight.
class Load {
 public:
  static absl::StatusOr<Load> Create(std::shared_ptr<const Executable> executable,
                                     const PipelineOptions& options, InputTensors inputs) {
    Load load;
    load.graph_ = &executable->graph();
    load.planned_ = &executable->planned();
    load.inputs_ = std::move(inputs);
    ASHLAR_ASSIGN_OR_RETURN(load.pipeline_, Pipeline::Create(executable, options));
    load.slots_.resize(static_cast<size_t>(options.in_flight));
    for (Slot& slot : load.slots_) slot.outputs = OutputTensors(*load.graph_);
    return load;
  }

  // Runs once in each slot and returns the milliseconds of the first run. If runs are recorded, all
  // slots are recorded afterwards.
  absl::StatusOr<double> RunEachOnce() {
    std::vector<double> latencies;
    for (size_t i = 0; i < slots_.size(); ++i) {
      ASHLAR_RETURN_IF_ERROR(StartOne(latencies));
      ASHLAR_RETURN_IF_ERROR(WaitForAll(latencies));
    }
    return latencies[0];
  }

  // Starts a run; appends the milliseconds of the runs that it waits for.
  absl::Status StartOne(std::vector<double>& latencies) {
    if (pipeline_->next() == nullptr) ASHLAR_RETURN_IF_ERROR(WaitForOne(latencies));
    Slot& slot = slots_[started_++ % slots_.size()];
    slot.start = Clock::now();
    ASHLAR_RETURN_IF_ERROR(BindTensors(*pipeline_->next(), inputs_, slot.outputs));
    ASHLAR_RETURN_IF_ERROR(pipeline_->Start());
    return overlaps() ? absl::OkStatus() : WaitForOne(latencies);
  }

  absl::Status WaitForAll(std::vector<double>& latencies) {
    while (pipeline_->running() > 0) ASHLAR_RETURN_IF_ERROR(WaitForOne(latencies));
    return absl::OkStatus();
  }

  // Whether a run continues while the next one is started.
  bool overlaps() const { return slots_.size() > 1 && !planned_->device->is_host(); }
  const Pipeline& pipeline() const { return *pipeline_; }
  const PlannedGraph& planned() const { return *planned_; }
  const Graph& graph() const { return *graph_; }
  // Returns the first dimension of the first input that can be images; 0 if none can.
  int64_t images_per_run() const {
    for (const Binding& binding : graph_->inputs()) {
      const Shape& shape = graph_->var(binding.var).type.shape;
      if (shape.rank() == 4) return shape[0];
    }
    return 0;
  }

 private:
  struct Slot {
    std::vector<HostTensor> outputs;  // in the order of Graph::outputs()
    Clock::time_point start;
  };

  absl::Status WaitForOne(std::vector<double>& latencies) {
    ASHLAR_RETURN_IF_ERROR(pipeline_->Wait());
    latencies.push_back(MillisecondsSince(slots_[ended_++ % slots_.size()].start));
    return absl::OkStatus();
  }

  const Graph* graph_ = nullptr;
  const PlannedGraph* planned_ = nullptr;
  InputTensors inputs_;
  std::vector<Slot> slots_;  // used in turn
  size_t started_ = 0, ended_ = 0;
  std::unique_ptr<Pipeline> pipeline_;  // destroyed before the tensors
};

class BenchCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    AddTrainFlag(app, training_);
    const OptionGroup measurement(app, "Measurement");
    AddParsed(measurement, "--warmup", warmup_, ParseCountOrDuration, "N|TIME",
              "runs or time before measuring (default 200ms)");
    AddNumber(measurement, "--iterations", iterations_, 1, 1 << 30,
              "at least so many runs (default 10)");
    AddParsed(measurement, "--duration", duration_, ParseDuration, "TIME",
              "and at least this long (default 0s)");
    AddParsed(measurement, "--percentile", percentiles_, ParsePercentiles, "LIST",
              "percentiles to show (default 90,99)");
    CLI::Option* const in_flight =
        AddNumber(measurement, "--in-flight", pipeline_.in_flight, 1, 64,
                  "runs on the way at once (default 1); on a GPU, the tensors of one are copied "
                  "while another works");
    AddFlag(measurement, "--arena-each", pipeline_.arena_each,
            "and an arena for each, so that their work overlaps, too")
        ->needs(in_flight);
    AddInputFlags(app, inputs_);
    AddExecutionFlags(app, execution_);
    AddPlanningFlags(app, planning_);
    AddPlanFileFlag(app, planning_);
  }

  absl::Status CheckOptions() const override {
    if (training_.train && pipeline_.in_flight > 1) {
      return UsageError("--in-flight with --train: a step begins after the one before");
    }
    return CheckTogether(execution_, planning_);
  }

  absl::Status Run(Console& console) override {
    const Clock::time_point start = Clock::now();
    ASHLAR_ASSIGN_OR_RETURN(const ModelFlags flags,
                            AtChosenPoint(model_, planning_, inputs_, console));
    ASHLAR_ASSIGN_OR_RETURN(Model model,
                            LoadWithTraining(flags, training_, execution_, planning_, console));
    ASHLAR_ASSIGN_OR_RETURN(InputTensors inputs,
                            MakeInputs(model.graph, inputs_, training_, execution_.seed, console));
    ASHLAR_ASSIGN_OR_RETURN(const PlanRequest request,
                            RequestToRun(model, flags.path, execution_, planning_, console));
    ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                            CompileModel(std::move(model), request, console));
    ASHLAR_ASSIGN_OR_RETURN(Load load,
                            Load::Create(std::move(executable), pipeline_, std::move(inputs)));
    Report report;
    report.load_ms = MillisecondsSince(start);
    if (pipeline_.in_flight > 1 && !load.overlaps()) {
      console.Note(absl::StrCat("on ", execution_.device.ToString(),
                                " each run is over before the next one begins"));
    }
    ASHLAR_ASSIGN_OR_RETURN(report.first_run_ms, load.RunEachOnce());
    NoteRecording(load.pipeline().recording_status(), console);
    const InterruptWatch watch;
    console.Progress("warming up");
    ASHLAR_RETURN_IF_ERROR(WarmUp(load, watch, report));
    console.Progress("measuring");
    ASHLAR_RETURN_IF_ERROR(Measure(load, watch, report));
    report.interrupted = watch.interrupted();
    const size_t runs = report.latencies.size();
    if (runs > 0) ASHLAR_RETURN_IF_ERROR(Show(load, report, console));
    if (!report.interrupted) return absl::OkStatus();
    return WithExitCode(
        absl::CancelledError(absl::StrCat(model_.path, ": interrupted after ", runs, " runs")),
        ExitCode::kInterrupted);
  }

 private:
  struct Report {
    double load_ms = 0, first_run_ms = 0, warmup_ms = 0;
    int64_t warmup_runs = 0;        // after the first
    std::vector<double> latencies;  // ms, of each run
    double elapsed_ms = 0;          // from the start of the first run to the end of the last
    bool interrupted = false;
  };

  absl::Status WarmUp(Load& load, const InterruptWatch& watch, Report& report) const {
    const Clock::time_point start = Clock::now();
    const int64_t* count = std::get_if<int64_t>(&warmup_);
    std::vector<double> ignored;
    for (int64_t i = 0;
         count != nullptr ? i < *count
                          : MillisecondsSince(start) <
                                absl::ToDoubleMilliseconds(std::get<absl::Duration>(warmup_));
         ++i) {
      if (watch.interrupted()) break;
      ignored.clear();
      ASHLAR_RETURN_IF_ERROR(load.StartOne(ignored));
      ++report.warmup_runs;
    }
    ASHLAR_RETURN_IF_ERROR(load.WaitForAll(ignored));
    report.warmup_ms = MillisecondsSince(start);
    return absl::OkStatus();
  }

  absl::Status Measure(Load& load, const InterruptWatch& watch, Report& report) const {
    const double duration_ms = absl::ToDoubleMilliseconds(duration_);
    report.latencies.reserve(static_cast<size_t>(iterations_));
    const Clock::time_point start = Clock::now();
    int64_t started = 0;
    while (!watch.interrupted() &&
           (started < iterations_ || MillisecondsSince(start) < duration_ms)) {
      ASHLAR_RETURN_IF_ERROR(load.StartOne(report.latencies));
      ++started;
    }
    ASHLAR_RETURN_IF_ERROR(load.WaitForAll(report.latencies));
    report.elapsed_ms = MillisecondsSince(start);
    return absl::OkStatus();
  }

  absl::Status Show(const Load& load, Report report, Console& console) const {
    std::vector<double>& latencies = report.latencies;
    const Summary summary = Summarize(latencies);
    const int64_t peak_rss = ReadResidentSet().peak;
    std::sort(latencies.begin(), latencies.end());
    Table table({"latency", ">"});
    Json document = console.Document(execution_.device, execution_.threads);
    document["kernel_record"] = RecordDocument(CountRecordUse(load.planned()));
    AddSubject(load, report, document);
    document["iterations"] = latencies.size();
    document["interrupted"] = report.interrupted;
    document["latency_ms"] = {{"min", summary.min},   {"median", summary.median},
                              {"mean", summary.mean}, {"p90", summary.p90},
                              {"p99", summary.p99},   {"max", summary.max}};
    table.AddRow({"runs", absl::StrCat(latencies.size())});
    table.AddRow({"min", FormatMilliseconds(summary.min)});
    table.AddRow({"median", FormatMilliseconds(summary.median)});
    table.AddRow({"mean", FormatMilliseconds(summary.mean)});
    for (double p : percentiles_) {
      const double value = Percentile(latencies, p);
      document["latency_ms"][absl::StrCat("p", p)] = value;
      table.AddRow({absl::StrCat("p", p), FormatMilliseconds(value)});
    }
    table.AddRow({"max", FormatMilliseconds(summary.max)});
    table.AddRow({"load", FormatMilliseconds(report.load_ms)});
    table.AddRow({"first run", FormatMilliseconds(report.first_run_ms)});
    document["load_ms"] = report.load_ms;
    document["first_run_ms"] = report.first_run_ms;
    AddThroughput(load, report, table, document);
    AddMemory(load, table, document);
    table.AddRow({"peak RSS", FormatBytes(peak_rss)});
    document["peak_rss_bytes"] = peak_rss;
    console.Print(absl::StrCat(SubjectText(load, report, console), "\n", table.ToText()));
    console.Print(RecordLine(CountRecordUse(load.planned())));
    return console.Write(document);
  }

  // Describes the measured setting, so that a log is complete by itself.
  std::string SubjectText(const Load& load, const Report& report, const Console& console) const {
    const Graph& graph = load.graph();
    std::string inputs;
    for (const Binding& input : graph.inputs()) {
      absl::StrAppend(&inputs, ", ", FormatName(input.name), " ",
                      graph.var(input.var).type.ToString());
    }
    const std::string options = console.OptionsText();
    return absl::StrCat(model_.path, " on ", execution_.device.ToString(),
                        load.planned().device->is_host()
                            ? absl::StrCat(" (", load.planned().processor().ToString(), ")")
                            : "",
                        ", ", Counted(execution_.threads, "thread"), inputs, "\nashlar ", Version(),
                        ", ", Counted(report.warmup_runs, "run"), " of warm-up in ",
                        FormatMilliseconds(report.warmup_ms), options.empty() ? "" : ", ", options,
                        "\n");
  }

  void AddSubject(const Load& load, const Report& report, Json& document) const {
    document["model"] = model_.path;
    AddRecompute(training_, document);
    document["inputs"] = BindingsJson(load.graph(), load.graph().inputs());
    if (load.planned().device->is_host()) {
      document["processor"] = load.planned().processor().ToString();
    }
    document["warmup"] = {{"runs", report.warmup_runs}, {"ms", report.warmup_ms}};
  }

  static void AddThroughput(const Load& load, const Report& report, Table& table, Json& document) {
    const double runs = static_cast<double>(report.latencies.size()) / report.elapsed_ms * 1e3;
    const int64_t images = load.images_per_run();
    const double images_per_second = runs * static_cast<double>(images);
    table.AddRow({"runs/s", absl::StrFormat("%.2f", runs)});
    if (images > 0) table.AddRow({"images/s", absl::StrFormat("%.2f", images_per_second)});
    document["runs_per_second"] = runs;
    document["images_per_second"] = images > 0 ? Json(images_per_second) : Json();
  }

  static void AddMemory(const Load& load, Table& table, Json& document) {
    const Pipeline& pipeline = load.pipeline();
    const int64_t arena = load.planned().plan.plan.arena;
    const int64_t state = load.planned().state.bytes;
    const int64_t tensors = pipeline.device_bytes() - pipeline.arenas() * arena - state;
    table.AddRow({"in flight", absl::StrCat(pipeline.in_flight())});
    table.AddRow({pipeline.arenas() == 1 ? "arena" : absl::StrCat(pipeline.arenas(), " arenas"),
                  FormatBytes(pipeline.arenas() * arena)});
    table.AddRow({"weights", FormatBytes(load.planned().weights.memory_bytes())});
    if (state > 0) table.AddRow({"state", FormatBytes(state)});
    if (tensors > 0) table.AddRow({"inputs and outputs there", FormatBytes(tensors)});
    document["in_flight"] = pipeline.in_flight();
    document["memory"] = {{"arenas", pipeline.arenas()},
                          {"arena_bytes", arena},
                          {"weights_bytes", load.planned().weights.memory_bytes()},
                          {"device_tensor_bytes", tensors}};
    if (state > 0) document["memory"]["state_bytes"] = state;
  }

  ModelFlags model_;
  InputFlags inputs_;
  ExecutionFlags execution_;
  PlanningFlags planning_;
  TrainingFlags training_;
  PipelineOptions pipeline_{.in_flight = 1};
  CountOrDuration warmup_ = absl::Milliseconds(200);
  int64_t iterations_ = 10;
  absl::Duration duration_ = absl::ZeroDuration();
  std::vector<double> percentiles_ = {90, 99};
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace ashlar
