// ashlar bench: how long a run takes.
#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "runtime/process_memory.h"
#include "tools/bound_session.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/parse.h"
#include "tools/statistics.h"
#include "tools/table.h"

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

class BenchCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    AddParsed(app, "--warmup", warmup_, ParseCountOrDuration, "N|TIME",
              "runs or time before measuring (default 200ms)")
        ->group("Measurement");
    app.add_option("--iterations", iterations_, "at least so many runs (default 10)")
        ->option_text("N")
        ->check(WholeNumber(1, 1 << 30))
        ->group("Measurement");
    AddParsed(app, "--duration", duration_, ParseDuration, "TIME",
              "and at least this long (default 0s)")
        ->group("Measurement");
    AddParsed(app, "--percentile", percentiles_, ParsePercentiles, "LIST",
              "percentiles to show (default 90,99)")
        ->group("Measurement");
    AddInputFlags(app, inputs_);
    AddExecutionFlags(app, execution_);
    AddPlanningFlags(app, planning_);
  }

  absl::Status Run(Console& console) override {
    const Clock::time_point start = Clock::now();
    ASHLAR_ASSIGN_OR_RETURN(Model model, LoadModel(model_, console));
    ASHLAR_ASSIGN_OR_RETURN(InputTensors inputs,
                            MakeInputs(model.graph, inputs_, execution_.seed, console));
    ASHLAR_ASSIGN_OR_RETURN(
        std::unique_ptr<BoundSession> session,
        BoundSession::Create(std::move(model), ToPlanningOptions(execution_, planning_, console),
                             std::move(inputs), console));
    const double load_ms = MillisecondsSince(start);
    const Clock::time_point first = Clock::now();
    ASHLAR_RETURN_IF_ERROR(session->Run());
    const double first_run_ms = MillisecondsSince(first);
    console.Progress("warming up");
    ASHLAR_RETURN_IF_ERROR(WarmUp(*session));
    console.Progress("measuring");
    ASHLAR_ASSIGN_OR_RETURN(std::vector<double> latencies, MeasureRuns(*session));
    return Show(std::move(latencies), load_ms, first_run_ms, console);
  }

 private:
  absl::Status WarmUp(BoundSession& session) const {
    const Clock::time_point start = Clock::now();
    const int64_t* count = std::get_if<int64_t>(&warmup_);
    for (int64_t i = 0;; ++i) {
      if (count != nullptr ? i >= *count
                           : MillisecondsSince(start) >=
                                 absl::ToDoubleMilliseconds(std::get<absl::Duration>(warmup_))) {
        return absl::OkStatus();
      }
      ASHLAR_RETURN_IF_ERROR(session.Run());
    }
  }

  // Milliseconds of each run.
  absl::StatusOr<std::vector<double>> MeasureRuns(BoundSession& session) const {
    const double duration_ms = absl::ToDoubleMilliseconds(duration_);
    std::vector<double> latencies;
    latencies.reserve(static_cast<size_t>(iterations_));
    const Clock::time_point start = Clock::now();
    do {
      const Clock::time_point begin = Clock::now();
      ASHLAR_RETURN_IF_ERROR(session.Run());
      latencies.push_back(MillisecondsSince(begin));
    } while (static_cast<int64_t>(latencies.size()) < iterations_ ||
             MillisecondsSince(start) < duration_ms);
    return latencies;
  }

  absl::Status Show(std::vector<double> latencies, double load_ms, double first_run_ms,
                    Console& console) const {
    const Summary summary = Summarize(latencies);
    const int64_t peak_rss = ReadResidentSet().peak;
    std::sort(latencies.begin(), latencies.end());
    Table table({"latency", ">"});
    Json document = console.Document(execution_.device, execution_.threads);
    document["iterations"] = latencies.size();
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
    table.AddRow({"load", FormatMilliseconds(load_ms)});
    table.AddRow({"first run", FormatMilliseconds(first_run_ms)});
    table.AddRow({"peak RSS", FormatBytes(peak_rss)});
    document["load_ms"] = load_ms;
    document["first_run_ms"] = first_run_ms;
    document["peak_rss_bytes"] = peak_rss;
    console.Print(table.ToText());
    return console.Write(document);
  }

  ModelFlags model_;
  InputFlags inputs_;
  ExecutionFlags execution_;
  PlanningFlags planning_;
  CountOrDuration warmup_ = absl::Milliseconds(200);
  int64_t iterations_ = 10;
  absl::Duration duration_ = absl::ZeroDuration();
  std::vector<double> percentiles_ = {90, 99};
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace ashlar
