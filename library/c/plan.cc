// Plans in the C interface.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "codegen/c_single_file.h"
#include "codegen/c_text.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "library/c/plan_options.h"
#include "library/plan_model.h"
#include "memory/csv.h"
#include "memory/problem/lower_bound.h"
#include "memory/svg.h"
#include "runtime/plan/request/request_options.h"
#include "runtime/plan/stages/memory_need.h"
#include "serialization/counted_results.h"
#include "serialization/file_writer.h"
#include "serialization/json_file.h"
#include "serialization/plan_file.h"
#include "viewer/plan_document.h"
#include "viewer/plan_page.h"

namespace ashlar::c {

ashlar_tensor TensorOf(const std::string& name, const TensorType& type,
                       std::deque<std::string>& names) {
  ashlar_tensor tensor = {};
  tensor.name = names.emplace_back(name).c_str();
  tensor.dtype = static_cast<int32_t>(type.dtype);
  tensor.rank = type.shape.rank();
  for (int i = 0; i < std::min(tensor.rank, ASHLAR_MAX_RANK); ++i) {
    tensor.shape[i] = type.shape.dims()[i];
  }
  tensor.bytes = type.bytes();
  return tensor;
}

ashlar_memory MemoryOf(const PlannedGraph& planned) {
  ashlar_memory memory = {};
  memory.arena = planned.plan.plan.arena;
  memory.arena_alignment = planned.arena_alignment();
  memory.input = planned.input_bytes();
  memory.output = planned.output_bytes();
  memory.weights = planned.weights.memory_bytes();
  memory.lower_bound = planned.plan.lower_bound;
  memory.proof = static_cast<int32_t>(planned.plan.proof);
  memory.bottleneck_step = static_cast<int32_t>(planned.plan.bottleneck_step);
  memory.predicted_ms = planned.predicted_ms;
  memory.state = planned.state.bytes;
  memory.released_input = planned.released_bytes();
  return memory;
}

namespace {

std::vector<ashlar_buffer> BuffersOf(const RecordedPlan& record) {
  std::vector<ashlar_buffer> buffers;
  for (const RecordedChunk& chunk : record.chunks) {
    const memory::Buffer& from = chunk.buffer;
    buffers.push_back({from.id, from.lower, from.upper, from.size, from.alignment,
                       from.offset.value_or(-1), chunk.inside, chunk.at, chunk.name.c_str()});
  }
  return buffers;
}

absl::StatusOr<std::vector<ashlar_step>> StepsOf(const RecordedPlan& record) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<memory::LiveBytes> profile,
                          memory::LiveProfile(record.problem()));
  std::vector<ashlar_step> steps;
  size_t section = 0;
  int64_t live = 0;
  for (const RecordedStep& from : record.steps) {
    const auto step = static_cast<int64_t>(steps.size());
    while (section < profile.size() && profile[section].step <= step) {
      live = profile[section++].bytes;
    }
    steps.push_back(
        {from.name.c_str(), from.type.c_str(), from.kernel.c_str(), live, from.workspace_bytes});
  }
  return steps;
}

// Copies the plan for the caller to read.
absl::Status Describe(const Graph& model, const PlannedGraph& planned, std::string title,
                      ashlar_plan& plan) {
  ASHLAR_ASSIGN_OR_RETURN(plan.record, RecordPlan(model, planned));
  plan.viewed = ViewOf(plan.record, planned, std::move(title));
  for (const Binding& input : planned.graph.inputs()) {
    plan.inputs.push_back(TensorOf(input.name, planned.graph.var(input.var).type, plan.names));
  }
  for (const Binding& output : planned.graph.outputs()) {
    plan.outputs.push_back(TensorOf(output.name, planned.graph.var(output.var).type, plan.names));
  }
  for (const CountedOutput& counted : CountedOutputsOf(planned.graph)) {
    plan.counted.push_back(
        {static_cast<int32_t>(counted.output), static_cast<int32_t>(counted.count), counted.axis});
  }
  for (const StateEntry& state : planned.state.entries) {
    plan.states.push_back(TensorOf(state.name, state.type, plan.names));
  }
  plan.buffers = BuffersOf(plan.record);
  ASHLAR_ASSIGN_OR_RETURN(plan.steps, StepsOf(plan.record));
  plan.memory = MemoryOf(planned);
  plan.tile = planned.tiles.empty() ? "none" : planned.tiles.ToString();
  plan.passes = planned.planning.passes;
  OptionTexts more = OptionsToRepeat(planned.SettledRequest());
  for (const char* field : {"tile", "passes", "prefer"}) more.erase(field);
  plan.more = absl::StrJoin(more, " ", absl::PairFormatter("="));
  plan.choices.tile = plan.tile.c_str();
  plan.choices.more = plan.more.c_str();
  plan.choices.passes = plan.passes.c_str();
  plan.choices.prefer_memory = planned.planning.kernels.low_workspace ? 1 : 0;
  return absl::OkStatus();
}

// Sets the totals, with and without the budget, and tells if the smaller arena takes more in all.
void CompareTotals(const PlannedGraph& planned, bool in_file, ashlar_memory& memory) {
  constexpr int64_t kProgram = 0;
  const MemoryNeed need = NeedOf(planned, kProgram, in_file);
  memory.total = need.total();
  if (planned.untiled == nullptr) return;
  const MemoryNeed without = NeedOf(*planned.untiled, kProgram, in_file);
  memory.total_without_budget = without.total();
  if (need.total() <= without.total()) return;
  Log(absl::StrCat("the total is larger than without a budget: ", need.total(), " bytes, not ",
                   without.total(), ". What grew: ", DescribeGrowth(without, need)));
}

// Plans the model. Shares weights with `share` unless it is null.
absl::StatusOr<std::unique_ptr<ashlar_plan>> MakePlan(Model model, const PlanRequest& request,
                                                      const ashlar_plan* share) {
  const Graph source = model.graph;
  std::string title = std::filesystem::path(model.file.name).filename().string();
  const DoneWith letting_go = LettingGoOf(model);
  ASHLAR_ASSIGN_OR_RETURN(PlannedModel made, PlanModel(std::move(model), request, Log));
  auto plan = std::make_unique<ashlar_plan>();
  const PlannedGraph& planned = made.plan();
  ASHLAR_RETURN_IF_ERROR(Describe(source, planned, std::move(title), *plan));
  if (planned.device->is_host()) CompareTotals(planned, made.packed != nullptr, plan->memory);
  if (made.planned != nullptr) made.planned->untiled.reset();
  const bool in_file = made.packed != nullptr && !planned.weights.window;
  plan->memory.weights_in_file = in_file ? planned.weights.bytes : 0;
  const LoadedPlan* const other = share == nullptr ? nullptr : share->loaded.get();
  if (made.packed != nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(plan->loaded, LoadedPlan::MakePacked(std::move(made.packed), other));
  } else {
    ASHLAR_ASSIGN_OR_RETURN(plan->loaded,
                            LoadedPlan::Make(std::move(made.planned), letting_go, other));
  }
  plan->memory.weights_shared = plan->loaded->shared_bytes();
  return plan;
}

absl::Status WriteCsv(const ashlar_plan& exported, std::ostream& out) {
  const RecordedPlan& record = exported.record;
  memory::CsvProblem problem{record.problem(), {}, {}};
  problem.ids = memory::IdsInFile(problem.problem.buffers);
  memory::Plan plan;
  plan.arena = record.arena;
  for (const RecordedChunk& chunk : record.chunks) {
    problem.names.push_back(chunk.name);
    plan.offsets.push_back(chunk.buffer.offset.value_or(0));
  }
  return memory::WriteCsv(problem, plan, out);
}

absl::Status WriteSvg(const ashlar_plan& exported, std::ostream& out) {
  const RecordedPlan& record = exported.record;
  memory::SvgOptions options;
  memory::Plan plan;
  plan.arena = record.arena;
  options.lower_bound = record.lower_bound;
  for (const RecordedChunk& chunk : record.chunks) {
    options.names.push_back(chunk.name);
    options.workspaces.push_back(chunk.kind == ChunkKind::kWorkspace);
    plan.offsets.push_back(chunk.buffer.offset.value_or(0));
  }
  return memory::WriteSvg(record.problem(), plan, options, out);
}

absl::Status WriteJson(const ashlar_plan& exported, std::ostream& out) {
  out << JsonText(PlanDocument(exported.viewed), -1);
  return absl::OkStatus();
}

absl::Status WriteHtml(const ashlar_plan& exported, std::ostream& out) {
  out << PlanPage({exported.viewed});
  return absl::OkStatus();
}

// Writes the program as one file. `name` is the program's; empty: the model's.
absl::Status WriteC(const ashlar_plan& exported, absl::string_view name, std::ostream& out) {
  const std::string& title = exported.viewed.title;
  const std::string program = name.empty()
                                  ? IdentifierLike(std::filesystem::path(title).stem().string())
                                  : std::string(name);
  if (!IsIdentifier(program)) {
    return InvalidArgument(absl::StrCat(
        "format 'c:", name.substr(0, 64),
        "' names no program: expected a letter, then letters, digits and underscores"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                          exported.loaded->Load());
  const CompNode device = executable->planned().device->comp_node();
  if (device.type != CompNode::Type::kMcu) {
    return InvalidArgument(absl::StrCat(
        "format 'c' writes plans for device mcu0:0; this one is for ", device.ToString()));
  }
  ASHLAR_ASSIGN_OR_RETURN(const SelfTest test, MakeSelfTest(executable));
  ASHLAR_ASSIGN_OR_RETURN(const CProgram files, WriteCProgram(*executable, test, {program, title}));
  out << SingleFileOf(files, program);
  return absl::OkStatus();
}
absl::Status WriteCOfModel(const ashlar_plan& exported, std::ostream& out) {
  return WriteC(exported, "", out);
}

using Writer = std::function<absl::Status(const ashlar_plan&, std::ostream&)>;
struct ExportFormat {
  const char* name;
  absl::Status (*write)(const ashlar_plan&, std::ostream&);
};
constexpr ExportFormat kExportFormats[] = {{"svg", WriteSvg},
                                           {"csv", WriteCsv},
                                           {"json", WriteJson},
                                           {"html", WriteHtml},
                                           {"c", WriteCOfModel}};

absl::StatusOr<Writer> WriterOf(const char* format) {
  ASHLAR_RETURN_IF_ERROR(CheckGiven(format, "format"));
  for (const ExportFormat& known : kExportFormats) {
    if (absl::string_view(format) == known.name) return known.write;
  }
  absl::string_view name = format;
  if (absl::ConsumePrefix(&name, "c:") && !name.empty()) {
    return [name](const ashlar_plan& plan, std::ostream& out) { return WriteC(plan, name, out); };
  }
  return InvalidArgument(absl::StrCat("format '", absl::string_view(format).substr(0, 64),
                                      "' is not svg, csv, json, html, c or c:NAME"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ashlar_plan>> PlanOf(const ashlar_model& model,
                                                    const ashlar_plan_options& options) {
  using Made = std::unique_ptr<ashlar_plan>;
  return MakeWatched<Made>(options, [&](const Watched& watched) -> absl::StatusOr<Made> {
    ASHLAR_ASSIGN_OR_RETURN(Model source, ModelFor(model, options));
    ASHLAR_ASSIGN_OR_RETURN(PlanRequest request, RequestFor(source, options, watched));
    request.debug.keep_untiled = request.target.budget.has_value();
    return MakePlan(std::move(source), request, options.share);
  });
}

}  // namespace ashlar::c

using ashlar::c::Call;
using ashlar::c::CheckGiven;

ashlar_status ashlar_model_plan(const ashlar_model* model, const ashlar_plan_options* options,
                                ashlar_plan** plan) {
  return ashlar::c::CallToMake(model, "model", plan, "plan", options, "ashlar_plan_options",
                               ashlar::c::PlanOf);
}

const char* ashlar_plan_option_name(size_t index) {
  const auto& options = ashlar::RequestOptions();
  return index < options.size() ? options[index].name.c_str() : nullptr;
}

void ashlar_plan_release(ashlar_plan* plan) { delete plan; }

ashlar_status ashlar_plan_memory(const ashlar_plan* plan, ashlar_memory* memory) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(plan, "plan"));
    return ashlar::c::Write(plan->memory, "ashlar_memory", memory);
  });
}

ashlar_status ashlar_plan_choices(const ashlar_plan* plan, ashlar_choices* choices) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(plan, "plan"));
    return ashlar::c::Write(plan->choices, "ashlar_choices", choices);
  });
}

ashlar_status ashlar_plan_inputs(const ashlar_plan* plan, const ashlar_tensor** first,
                                 size_t* count) {
  return ashlar::c::Hand(plan, "plan", &ashlar_plan::inputs, first, count);
}

ashlar_status ashlar_plan_outputs(const ashlar_plan* plan, const ashlar_tensor** first,
                                  size_t* count) {
  return ashlar::c::Hand(plan, "plan", &ashlar_plan::outputs, first, count);
}

ashlar_status ashlar_plan_counted(const ashlar_plan* plan, const ashlar_counted** first,
                                  size_t* count) {
  return ashlar::c::Hand(plan, "plan", &ashlar_plan::counted, first, count);
}

ashlar_status ashlar_plan_states(const ashlar_plan* plan, const ashlar_tensor** first,
                                 size_t* count) {
  return ashlar::c::Hand(plan, "plan", &ashlar_plan::states, first, count);
}

ashlar_status ashlar_plan_buffers(const ashlar_plan* plan, const ashlar_buffer** first,
                                  size_t* count) {
  return ashlar::c::Hand(plan, "plan", &ashlar_plan::buffers, first, count);
}

ashlar_status ashlar_plan_steps(const ashlar_plan* plan, const ashlar_step** first, size_t* count) {
  return ashlar::c::Hand(plan, "plan", &ashlar_plan::steps, first, count);
}

ashlar_status ashlar_plan_export(const ashlar_plan* plan, const char* format, ashlar_write_fn write,
                                 void* context) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(plan, "plan"));
    if (write == nullptr) return ashlar::c::InvalidArgument("write is NULL");
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::c::Writer writer, ashlar::c::WriterOf(format));
    std::ostringstream out;
    ASHLAR_RETURN_IF_ERROR(writer(*plan, out));
    const std::string text = std::move(out).str();
    if (write(context, text.data(), text.size()) == 0) return absl::OkStatus();
    return ashlar::c::InvalidArgument("the export was stopped by the caller's write function");
  });
}

ashlar_status ashlar_plan_save(const ashlar_plan* plan, const ashlar_model* model,
                               const char* path) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(plan, "plan"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(model, "model"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(path, "path"));
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::Model source, ashlar::c::ModelOf(*model, *plan));
    return ashlar::WriteFile(path, ashlar::PlanText({IdentityOf(source), plan->record}));
  });
}

ashlar_status ashlar_plan_load(const ashlar_plan* plan) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(plan, "plan"));
    return plan->loaded->Load().status();
  });
}
