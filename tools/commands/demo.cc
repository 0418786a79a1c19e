// ashlar demo: runs a network untiled and in an arena of 512 KiB; measures and draws both.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/recorded_plan.h"
#include "serialization/file_writer.h"
#include "tools/bound_session.h"
#include "tools/command.h"
#include "tools/difference.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/option_kinds.h"
#include "tools/options.h"
#include "tools/report/plan_report.h"
#include "tools/report/table.h"
#include "tools/zoo/zoo.h"
#include "viewer/viewed_plan.h"

namespace ashlar {
namespace {

constexpr int64_t kBudget = 512 << 10;
constexpr int kTimedRuns = 5;

struct Way {
  const char* name;
  int64_t budget;  // 0: none
};
constexpr Way kWays[] = {{"whole", 0}, {"in 512 KiB", kBudget}};

// The result of one of the plans.
struct Shown {
  PlannedBuffers plan;
  Measurement measured;
  std::unique_ptr<BoundSession> session;
  // The fastest run.
  double milliseconds = std::numeric_limits<double>::infinity();
};

class DemoCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    app_ = &app;
    AddText(app, "-o,--output", output_, "FILE.html",
            "the picture to write (default plan.html, or plan-1.html if that is there)");
    AddNumber(app, "--threads", threads_, 1, 1024, "threads of the runs (default: all)");
    AddNumber(app, "--image", network_.image, 1, 1 << 14,
              "height and width in pixels (default 224)");
  }

  absl::Status CheckOptions() const override { return CheckEnding("-o", output_, {".html"}); }
  std::vector<std::string> OutputFiles() const override { return {FreeFile()}; }

  absl::Status Run(Console& console) override {
    output_ = FreeFile();
    console.ResultIsIn(output_);
    std::vector<Shown> shown;
    for (const Way& way : kWays) {
      console.Progress(absl::StrCat("MobileNetV2 ", way.name));
      ASHLAR_ASSIGN_OR_RETURN(Shown result, Show(way, console));
      shown.push_back(std::move(result));
    }
    console.Progress("running both in turn");
    ASHLAR_RETURN_IF_ERROR(Time(shown));
    return Report(shown, console);
  }

 private:
  absl::StatusOr<Shown> Show(const Way& way, Console& console) const {
    ASHLAR_ASSIGN_OR_RETURN(const Graph graph, BuildMobileNetV2(network_));
    ASHLAR_ASSIGN_OR_RETURN(InputTensors inputs, MakeInputs(graph, {}, /*seed=*/0, console));
    PlanRequest request;
    request.target.threads = threads_;
    if (way.budget > 0) request.target.budget = MemoryBudget{.bytes = way.budget};
    Shown shown;
    MeasureOptions measure;
    measure.exit_code_on_fault = static_cast<int>(ExitCode::kOverrun);
    ASHLAR_ASSIGN_OR_RETURN(shown.measured, Measure(graph, request, inputs, measure));
    ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<PlannedGraph> planned, PlanGraph(graph, request));
    shown.plan = BuffersOf(*planned, absl::StrCat("MobileNetV2 ", way.name));
    ASHLAR_ASSIGN_OR_RETURN(const RecordedPlan plan, RecordPlan(graph, *planned));
    shown.plan.viewed = {ViewOf(plan, *planned, shown.plan.title)};
    ASHLAR_ASSIGN_OR_RETURN(shown.session,
                            BoundSession::FromPlan(std::move(planned), std::move(inputs)));
    return shown;
  }

  // Runs the plans alternately, so that other work on the machine slows all of them.
  static absl::Status Time(std::vector<Shown>& shown) {
    for (int run = 0; run < kTimedRuns; ++run) {
      for (Shown& one : shown) {
        const auto begin = std::chrono::steady_clock::now();
        ASHLAR_RETURN_IF_ERROR(one.session->Run());
        const std::chrono::duration<double, std::milli> taken =
            std::chrono::steady_clock::now() - begin;
        one.milliseconds = std::min(one.milliseconds, taken.count());
      }
    }
    return absl::OkStatus();
  }

  // Returns the file to write: by default plan.html, or plan-1.html and so on, because an existing
  // page may show another model.
  std::string FreeFile() const {
    std::string file = output_;
    std::error_code error;
    for (int i = 1; app_->count("--output") == 0 && std::filesystem::exists(file, error); ++i) {
      file = absl::StrCat("plan-", i, ".html");
    }
    return file;
  }

  absl::Status Report(const std::vector<Shown>& shown, Console& console) const {
    Table table(
        {"MobileNetV2", ">arena planned", ">highest byte written", ">ms a run", ">heap calls"});
    Json document = console.Document(CompNode(), threads_);
    bool ok = true;
    for (size_t i = 0; i < shown.size(); ++i) {
      const Measurement& m = shown[i].measured;
      ok = ok && m.ok && (kWays[i].budget == 0 || m.arena.planned_bytes <= kWays[i].budget);
      table.AddRow(
          {kWays[i].name, absl::StrCat(m.arena.planned_bytes), absl::StrCat(m.arena.actual_bytes),
           absl::StrFormat("%.2f", shown[i].milliseconds), absl::StrCat(m.heap.own_calls)});
      document["plans"].push_back({{"name", kWays[i].name},
                                   {"arena_bytes", m.arena.planned_bytes},
                                   {"arena_actual_bytes", m.arena.actual_bytes},
                                   {"latency_ms", shown[i].milliseconds},
                                   {"heap_calls", m.heap.own_calls}});
    }
    double difference = 0;
    for (size_t i = 0; i < shown[0].session->outputs().size(); ++i) {
      difference = std::max(difference, Compare(shown[1].session->outputs()[i].second,
                                                shown[0].session->outputs()[i].second, Tolerance())
                                            .max_abs);
    }
    const std::string text = absl::StrCat(
        table.ToText(), absl::StrFormat("outputs differ by %g at most; memory as planned: %s\n",
                                        difference, ok ? "yes" : "NO"));
    ASHLAR_ASSIGN_OR_RETURN(const std::string page,
                            PlanFile(shown[1].plan, PlanFormat::kHtml, text));
    ASHLAR_RETURN_IF_ERROR(WriteFile(output_, page));
    document["file"] = output_;
    document["largest_difference"] = difference;
    document["ok"] = ok;
    console.Print(absl::StrCat(text, "the small plan is drawn: open ", output_, "\n"));
    ASHLAR_RETURN_IF_ERROR(console.Write(document));
    if (ok) return absl::OkStatus();
    return WithExitCode(absl::FailedPreconditionError("actual > planned"), ExitCode::kOverrun);
  }

  const CLI::App* app_ = nullptr;
  std::string output_ = "plan.html";
  int threads_ = DefaultThreads();
  ZooOptions network_;
};

}  // namespace

std::unique_ptr<Command> MakeDemoCommand() { return std::make_unique<DemoCommand>(); }

}  // namespace ashlar
