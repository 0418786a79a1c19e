// ashlar compile: writes a model as a program in C99.
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "codegen/c_program.h"
#include "codegen/c_text.h"
#include "codegen/executed_calls.h"
#include "graph/status.h"
#include "runtime/mcu/mcu_device.h"
#include "runtime/plan/record/recorded_plan.h"
#include "serialization/file_writer.h"
#include "tools/bound_session.h"
#include "tools/budget_checks.h"
#include "tools/command.h"
#include "tools/difference.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/model.h"
#include "tools/option_kinds.h"
#include "tools/options.h"
#include "tools/output_tolerance.h"
#include "tools/repeat_options.h"
#include "tools/report/model_plan_document.h"
#include "tools/report/plan_report.h"
#include "viewer/plan_document.h"

namespace ashlar {
namespace {

class CompileCommand final : public Command {
 public:
  void Declare(CLI::App& app) override {
    AddModelFlags(app, model_);
    AddText(app, "-o,--output", folder_, "DIR", "the folder of the files, made if it is not there")
        ->required();
    AddText(app, "--name", name_, "NAME", "of files and functions (default: the model's)");
    AddPlanningFlags(app, planning_);
  }

  absl::Status CheckOptions() const override {
    if (!name_.empty() && !IsIdentifier(name_)) {
      return UsageError(absl::StrCat("--name ", name_,
                                     ": expected a letter, then letters, digits "
                                     "and underscores"));
    }
    ASHLAR_RETURN_IF_ERROR(CheckTogether(Execution(), planning_));
    const PlanRequest request = planning_.RequestOn(mcu::kCompNode);
    const int64_t alignment = request.debug.alignment;
    const int64_t least = mcu::ArenaAlignment(request.target.processor.value_or(Processor()));
    if (alignment > 0 && alignment < least) {
      return UsageError(absl::StrCat("--align ", alignment, ": expected at least ", least,
                                     ", for every type of C"));
    }
    return absl::OkStatus();
  }
  std::vector<IdleOptions> Idle(const ConsoleFlags&) const override {
    return {{{"--no-autotune"}, "nothing is measured for microcontrollers"},
            {{"--total-budget"},
             "it is about the memory of a process; --memory-budget limits the "
             "arena"}};
  }

  absl::Status Run(Console& console) override {
    console.ResultIsIn(folder_);
    ASHLAR_ASSIGN_OR_RETURN(const Model model, LoadModel(model_, console, WeightsUse::kPlain));
    const PlanRequest request = Request(console);
    console.Progress("planning");
    ASHLAR_ASSIGN_OR_RETURN(PlannedModel planned, PlanModel(model, request, console));
    ASHLAR_RETURN_IF_ERROR(CheckBudget(planned.plan(), model_.path));
    ASHLAR_ASSIGN_OR_RETURN(const RecordedPlan record, RecordPlan(model.graph, planned.plan()));
    const std::string title = std::filesystem::path(model_.path).filename();
    const std::string plan = PlanDocument(ViewOf(record, planned.plan(), title)).dump(1);
    ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                            Executable::FromPlan(std::move(planned.planned)));
    console.Progress("testing");
    ASHLAR_ASSIGN_OR_RETURN(const SelfTest test, MakeSelfTest(executable));
    ASHLAR_ASSIGN_OR_RETURN(const double error, CheckAgainstDesktop(model, test, console));
    console.Progress(absl::StrCat("writing ", folder_));
    const std::string name =
        name_.empty() ? IdentifierLike(std::filesystem::path(model_.path).stem().string()) : name_;
    ASHLAR_ASSIGN_OR_RETURN(CProgram program, WriteCProgram(*executable, test, {name, title}));
    program.files.push_back({"plan.json", plan + "\n"});
    ASHLAR_RETURN_IF_ERROR(WriteFiles(program.files));
    return Report(name, program, executable->planned(), error, console);
  }

 private:
  static ExecutionFlags Execution() {
    ExecutionFlags execution;
    execution.device = mcu::kCompNode;
    execution.threads = 1;
    return execution;
  }
  PlanRequest Request(Console& console) const {
    PlanningFlags planning = planning_;
    planning.autotune = false;
    return ToPlanRequest(Execution(), planning, console);
  }

  // Returns the largest error of an output of the self-test's runs, relative to the largest
  // element, against the untiled model on this machine. An error if rounding cannot explain it.
  absl::StatusOr<double> CheckAgainstDesktop(const Model& model, const SelfTest& test,
                                             Console& console) const {
    InputTensors inputs;
    for (size_t i = 0; i < model.graph.inputs().size(); ++i) {
      inputs.emplace(model.graph.inputs()[i].name, test.inputs[i]);
    }
    PlanRequest request;
    request.planning.kernels.exact = true;
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<BoundSession> session,
                            BoundSession::Create(model, request, std::move(inputs), console));
    const std::vector<OutputTolerance> tolerances = OutputTolerances(model.graph, request);
    double worst = 0;
    for (const SelfTest::Run& run : test.runs) {
      if (run.resets) ASHLAR_RETURN_IF_ERROR(session->session().ResetStates());
      ASHLAR_RETURN_IF_ERROR(session->Run());
      for (size_t i = 0; i < session->outputs().size(); ++i) {
        const auto& [name, expected] = session->outputs()[i];
        const Difference difference =
            Compare(run.output_values[i], expected, tolerances[i].tolerance);
        worst = std::max(worst, difference.max_rel);
        if (difference.ok) continue;
        return absl::InternalError(absl::StrFormat(
            "%s: output %s of the program differs from the desktop's by %.3g of the largest "
            "element",
            model_.path, FormatName(name), difference.max_rel));
      }
    }
    return worst;
  }

  absl::Status WriteFiles(const std::vector<CFile>& files) const {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) return absl::UnknownError(absl::StrCat(folder_, ": ", error.message()));
    for (const CFile& file : files) {
      ASHLAR_RETURN_IF_ERROR(WriteFile(std::filesystem::path(folder_) / file.name, file.text));
    }
    return absl::OkStatus();
  }

  // The calls with their work, by which their instructions are expected.
  static Json CallsDocument(const PlannedGraph& planned) {
    Json calls = Json::array();
    for (const mcu::CodeCall* const call : ExecutedCalls(planned)) {
      const mcu::CodeWork& work = call->work;
      calls.push_back({{"function", call->name},
                       {"pixels", work.pixels},
                       {"results", work.results},
                       {"runs", work.runs},
                       {"products", work.products},
                       {"fours", work.fours},
                       {"sixteens", work.sixteens}});
    }
    return calls;
  }

  absl::Status Report(const std::string& name, const CProgram& program, const PlannedGraph& planned,
                      double error, Console& console) const {
    const CProgramSizes& sizes = program.sizes;
    const int64_t constants = sizes.weights + sizes.tables + sizes.shapes + sizes.order;
    console.Print(absl::StrFormat(
        "%s -> %s: %s, RAM %s (arena %s, %sinputs %s, outputs %s), constants %s\n"
        "kernels: %s\n%soutputs: %s\n",
        model_.path, (std::filesystem::path(folder_) / (name + ".c")).string(),
        Counted(sizes.steps, "call"),
        FormatBytes(sizes.arena + sizes.states + sizes.inputs + sizes.outputs),
        FormatBytes(sizes.arena),
        sizes.states > 0 ? absl::StrCat("states ", FormatBytes(sizes.states), ", ") : "",
        FormatBytes(sizes.inputs), FormatBytes(sizes.outputs), FormatBytes(constants),
        absl::StrJoin(sizes.kernels, ", "), InstructionsLine(planned),
        error == 0 ? "as the desktop's, to the bit"
                   : absl::StrFormat("as the desktop's within %.3g of the largest", error)));
    Json document = console.Document(mcu::kCompNode, 1);
    document["model"] = model_.path;
    document["name"] = name;
    document["folder"] = folder_;
    document["files"] = Json::array();
    for (const CFile& file : program.files) document["files"].push_back(file.name);
    document["ram"] = {{"arena_bytes", sizes.arena},
                       {"input_bytes", sizes.inputs},
                       {"output_bytes", sizes.outputs}};
    if (sizes.states > 0) document["ram"]["state_bytes"] = sizes.states;
    document["flash"] = {{"weights_bytes", sizes.weights},
                         {"tables_bytes", sizes.tables},
                         {"shapes_bytes", sizes.shapes},
                         {"order_bytes", sizes.order}};
    document["calls"] = sizes.steps;
    document["kernels"] = sizes.kernels;
    document["processor"] = planned.processor().ToString();
    document["expected_instructions"] = ExpectedInstructions(planned);
    document["work"] = CallsDocument(planned);
    document["tile"] = planned.tiles.ToString();
    document["repeat"] = OptionsToRepeat(planned);
    document["max_rel_error"] = error;
    return console.Write(document);
  }

  ModelFlags model_;
  PlanningFlags planning_;
  std::string folder_, name_;
};

}  // namespace

std::unique_ptr<Command> MakeCompileCommand() { return std::make_unique<CompileCommand>(); }

}  // namespace ashlar
