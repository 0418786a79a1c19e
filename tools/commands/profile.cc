// ashlar profile: measures a run, operator by operator.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "runtime/cpu/conv/peak.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/stages/expected_times.h"
#include "runtime/session/profiler.h"
#include "serialization/json_file.h"
#include "serialization/megengine/profile_dump.h"
#include "serialization/megengine/static_memory_info.h"
#include "serialization/trace.h"
#include "tools/bound_session.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/report/statistics.h"
#include "tools/report/table.h"
#include "tools/request.h"
#include "tools/training_flags.h"

namespace ashlar {
namespace {

constexpr size_t kRowsShown = 20;

enum class SortBy { kTime, kMemory, kOrder };

absl::StatusOr<SortBy> ParseSortBy(absl::string_view name) {
  return ParseName<SortBy>(
      name, {{"time", SortBy::kTime}, {"memory", SortBy::kMemory}, {"order", SortBy::kOrder}});
}

// A row of the table: one step, or all steps of one operator type.
struct Row {
  std::string name, type, kernel;
  int steps = 0;
  double ms = 0, expected_ms = 0;
  Footprint footprint;
};

std::vector<Row> RowsByNode(const PlannedGraph& planned, const std::vector<double>& seconds) {
  std::vector<Row> rows;
  const std::vector<double> expected = ExpectedTimes(planned);
  for (size_t step = 0; step < seconds.size(); ++step) {
    const int index = planned.schedule.order[step];
    const OperatorNode& node = planned.graph.node(index);
    if (planned.kernels[index] == nullptr) continue;
    rows.push_back({node.name, std::string(node.op->type()),
                    planned.kernels[index]->implementation(), 1, seconds[step] * 1000,
                    expected[index], FootprintOf(*node.op, planned.graph.SiteOf(node))});
  }
  return rows;
}

// Returns how long a run waited for streamed weights: the time between its steps.
double WaitedMs(const Profiler& profiler) {
  double ms = 0, before = 0;
  for (const StepTime& step : profiler.steps()) {
    ms += (step.start - before) * 1000;
    before = step.end;
  }
  return ms;
}

std::vector<Row> RowsByType(const std::vector<Row>& nodes) {
  std::vector<Row> rows;
  std::map<std::string, size_t> position;
  for (const Row& node : nodes) {
    const auto [it, added] = position.emplace(node.type, rows.size());
    if (added) rows.push_back({node.type, node.type, "", 0, 0, 0, {}});
    Row& row = rows[it->second];
    row.steps++;
    row.ms += node.ms;
    row.expected_ms += node.expected_ms;
    row.footprint.memory += node.footprint.memory;
    row.footprint.computation += node.footprint.computation;
  }
  return rows;
}

class ProfileCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    AddTrainFlag(app, training_);
    const OptionGroup profile(app, "Profile");
    AddText(profile, "--dump", dump_, "FILE.json",
            "graph, times and memory in MegEngine's JSON schema");
    AddText(profile, "--trace", trace_, "FILE.json", "for chrome://tracing and Perfetto");
    AddText(profile, "--static-memory-info", static_memory_info_, "DIR",
            "graph.json and StaticMemoryInfo.json for MegEngine's TensorBoard tool");
    AddParsed(profile, "--sort", sort_, ParseSortBy, "time|memory|order",
              "of the rows (default time)");
    AddText(profile, "--by", by_, "op|node",
            "rows of single operators (node, default) or of types (op)")
        ->check(CLI::IsMember({"op", "node"}));
    AddNumber(profile, "--top", top_, 0, 1 << 30, "rows to show (default 20, in JSON all; 0: all)");
    AddNumber(profile, "--warmup", warmup_, 0, 1 << 30,
              "runs before the one that is recorded (default 2)");
    AddNumber(profile, "--iterations", iterations_, 1, 1 << 20,
              "runs that are recorded: rows have medians, files the last run (default 1)");
    AddInputFlags(app, inputs_);
    AddExecutionFlags(app, execution_);
    AddPlanningFlags(app, planning_);
    AddPlanFileFlag(app, planning_);
  }

  absl::Status CheckOptions() const override { return CheckTogether(execution_, planning_); }
  std::vector<std::string> OutputFiles() const override {
    std::vector<std::string> files = {dump_, trace_};
    if (static_memory_info_.empty()) return files;
    // Returns a file in that folder, or the first missing folder on its path.
    const auto exists = [](const std::filesystem::path& p) {
      std::error_code error;
      return std::filesystem::exists(p, error);
    };
    std::filesystem::path path = static_memory_info_;
    if (exists(path)) {
      path /= "graph.json";
    } else {
      for (auto parent = path.parent_path(); !parent.empty() && !exists(parent);
           parent = path.parent_path()) {
        path = parent;
      }
    }
    files.push_back(path.string());
    return files;
  }

  absl::Status Run(Console& console) override {
    ASHLAR_ASSIGN_OR_RETURN(
        Model model, LoadWithTraining(model_, training_, execution_, planning_, console,
                                      dump_.empty() ? WeightsUse::kAsItRuns : WeightsUse::kAll));
    ASHLAR_ASSIGN_OR_RETURN(InputTensors inputs,
                            MakeInputs(model.graph, inputs_, training_, execution_.seed, console));
    ASHLAR_ASSIGN_OR_RETURN(const PlanRequest request,
                            RequestToRun(model, model_.path, execution_, planning_, console));
    std::optional<Measurement> measured;
    if (!dump_.empty()) {
      console.Progress("measuring memory");
      const auto plan = [&]() -> absl::StatusOr<PlanToMeasure> {
        ASHLAR_ASSIGN_OR_RETURN(PlannedModel made, PlanModel(model, request, console));
        return PlanToMeasure{std::move(made.planned), std::move(made.packed)};
      };
      ASHLAR_ASSIGN_OR_RETURN(measured, MeasurePlan(plan, request, inputs, {.runs = 2}));
    }
    ASHLAR_ASSIGN_OR_RETURN(
        std::unique_ptr<BoundSession> session,
        BoundSession::Create(std::move(model), request, std::move(inputs), console));
    console.Progress("profiling");
    const PlannedGraph& planned = session->planned();
    for (int64_t i = 0; i < warmup_; ++i) ASHLAR_RETURN_IF_ERROR(session->Run());
    std::vector<std::vector<double>> seconds(planned.schedule.order.size());  // by step
    std::vector<double> waited;
    std::optional<Profiler> profiler;
    for (int64_t i = 0; i < iterations_; ++i) {
      profiler.emplace(static_cast<int>(planned.schedule.order.size()));
      ASHLAR_RETURN_IF_ERROR(session->Run(*profiler));
      for (size_t step = 0; step < seconds.size(); ++step) {
        seconds[step].push_back(profiler->steps()[step].end - profiler->steps()[step].start);
      }
      waited.push_back(WaitedMs(*profiler));
    }
    NoteRecording(session->session().recording_status(), console);
    ASHLAR_RETURN_IF_ERROR(WriteFiles(*session, *profiler, std::move(measured)));
    std::vector<double> medians;
    for (std::vector<double>& sample : seconds) {
      medians.push_back(Summarize(std::move(sample)).median);
    }
    return Show(planned, medians, Summarize(std::move(waited)).median, console);
  }

 private:
  absl::Status WriteFiles(BoundSession& session, const Profiler& profiler,
                          std::optional<Measurement> measured) const {
    const PlannedGraph& planned = session.planned();
    ProfileRecord record;
    record.steps = profiler.steps();
    if (!planned.device->is_host()) record.host_steps = profiler.host_steps();
    record.measured = std::move(measured);
    record.arena = session.session().arena().data();
    record.weights = session.session().executable().weights();
    record.state = session.session().state()->memory().data();
    if (!static_memory_info_.empty()) {
      ASHLAR_RETURN_IF_ERROR(WriteStaticMemoryInfo(planned, record, static_memory_info_));
    }
    if (!dump_.empty()) {
      ASHLAR_RETURN_IF_ERROR(WriteJsonFile(dump_, ProfileDump(planned, record), 1));
    }
    if (!trace_.empty()) {
      ASHLAR_ASSIGN_OR_RETURN(const Json trace, ChromeTrace(planned, record.steps));
      ASHLAR_RETURN_IF_ERROR(WriteJsonFile(trace_, trace, -1));
    }
    return absl::OkStatus();
  }

  // Prints the table of operators; `seconds` has the times of each step, `waited_ms` the time
  // between steps.
  absl::Status Show(const PlannedGraph& planned, const std::vector<double>& seconds,
                    double waited_ms, Console& console) const {
    std::vector<Row> rows = RowsByNode(planned, seconds);
    if (by_ == "op") rows = RowsByType(rows);
    if (const std::optional<WeightWindow>& window = planned.weights.window) {
      rows.push_back({"(waiting for weights)", "-", "", 0, waited_ms, window->waiting_ms, {}});
      rows.back().footprint.memory = window->read_bytes;
    }
    if (sort_ != SortBy::kOrder) {
      std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
        return sort_ == SortBy::kTime ? a.ms > b.ms : a.footprint.memory > b.footprint.memory;
      });
    }
    double total = 0, expected = 0;
    for (const Row& row : rows) total += row.ms, expected += row.expected_ms;
    Table table({by_ == "op" ? "type" : "operator", by_ == "op" ? ">steps" : "type", ">time",
                 ">expected", ">%", ">sum %", ">GFLOP/s", ">% peak", ">traffic", "kernel"});
    // The peak of all threads; unknown for devices with their own memory. A kernel that saves
    // multiplications, such as Winograd's, may exceed it.
    const double peak = planned.device->is_host() ? cpu::PeakFlops() / 1e9 * execution_.threads : 0;
    Json document = console.Document(execution_.device, execution_.threads);
    document["model"] = model_.path;
    AddRecompute(training_, document);
    document["total_ms"] = total;
    document["expected_ms"] = expected;
    document["peak_gflops"] = peak;
    document["rows"] = Json::array();
    double sum = 0;
    const size_t listed = top_ > 0 ? std::min<size_t>(rows.size(), top_) : rows.size();
    const size_t shown = top_ < 0 ? std::min(rows.size(), kRowsShown) : listed;
    for (size_t i = 0; i < listed; ++i) {
      const Row& row = rows[i];
      sum += row.ms;
      const double gflops =
          row.ms > 0 ? static_cast<double>(row.footprint.computation) / row.ms / 1e6 : 0;
      document["rows"].push_back({{"name", row.name},
                                  {"type", row.type},
                                  {"steps", row.steps},
                                  {"ms", row.ms},
                                  {"expected_ms", row.expected_ms},
                                  {"computation", row.footprint.computation},
                                  {"computation_flop", row.footprint.computation},
                                  {"memory", row.footprint.memory},
                                  {"traffic_bytes", row.footprint.memory},
                                  {"gflops", gflops},
                                  {"kernel", row.kernel}});
      if (i >= shown) continue;
      table.AddRow({FormatName(row.name, 40), by_ == "op" ? absl::StrCat(row.steps) : row.type,
                    FormatMilliseconds(row.ms), FormatMilliseconds(row.expected_ms),
                    absl::StrFormat("%.1f", Share(row.ms, total)),
                    absl::StrFormat("%.1f", Share(sum, total)), absl::StrFormat("%.1f", gflops),
                    peak > 0 ? absl::StrFormat("%.0f", Share(gflops, peak)) : "-",
                    FormatBytes(row.footprint.memory), row.kernel});
    }
    console.Print(table.ToText());
    if (shown < rows.size()) console.Print(absl::StrCat("and ", rows.size() - shown, " more\n"));
    console.Print(absl::StrCat("total ", FormatMilliseconds(total), ", expected ",
                               FormatMilliseconds(expected)));
    if (iterations_ > 1) console.Print(absl::StrCat(", medians of ", iterations_, " runs"));
    if (peak > 0) {
      console.Print(absl::StrFormat("; the machine's peak is %.1f GFLOP/s with %d thread%s", peak,
                                    execution_.threads, execution_.threads == 1 ? "" : "s"));
    }
    console.Print("\n");
    return console.Write(document);
  }

  static double Share(double part, double total) { return total > 0 ? part / total * 100 : 0; }

  ModelFlags model_;
  InputFlags inputs_;
  ExecutionFlags execution_;
  PlanningFlags planning_;
  TrainingFlags training_;
  std::string dump_, trace_, static_memory_info_;
  std::string by_ = "node";
  SortBy sort_ = SortBy::kTime;
  int64_t top_ = -1;  // -1: the default; 0: all
  int64_t warmup_ = 2, iterations_ = 1;
};

}  // namespace

std::unique_ptr<Command> MakeProfileCommand() { return std::make_unique<ProfileCommand>(); }

}  // namespace ashlar
