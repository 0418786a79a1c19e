#include "tools/report/plan_report.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "codegen/executed_calls.h"
#include "library/packing_command.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/matrix_mul.h"
#include "runtime/plan/record/recorded_plan.h"
#include "runtime/plan/stages/rewrite.h"
#include "runtime/plan/stages/stream_weights.h"
#include "tools/format.h"
#include "tools/repeat_options.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

constexpr size_t kTensorsShown = 8;
constexpr size_t kMostChunks = 100'000;

// Returns the kernel of the node's workspace; null if the size was recorded.
const Kernel* WorkspaceOwner(const PlannedGraph& planned, int node) {
  const bool recorded = planned.planning.workspace == WorkspaceSource::kRecorded;
  return recorded ? nullptr : planned.kernels[node].get();
}

// The kernels that round further than direct sums.
struct Rounding {
  int kernels = 0;
  double factor = 1;  // the largest
};

Rounding RoundingOf(const PlannedGraph& planned) {
  Rounding rounding;
  for (const int node : planned.schedule.order) {
    const double factor =
        planned.kernels[node] == nullptr ? 1 : planned.kernels[node]->relative_rounding();
    rounding.kernels += factor > 1;
    rounding.factor = std::max(rounding.factor, factor);
  }
  return rounding;
}

// Returns the number of convolutions and matrix products of Float32 on the host; 0 if another
// precision was asked for.
int FloatProducts(const PlannedGraph& planned) {
  if (!planned.device->is_host() || planned.request.target.precision != DType::kFloat32) return 0;
  int count = 0;
  for (const int index : planned.schedule.order) {
    const OperatorNode& node = planned.graph.node(index);
    const absl::string_view type = node.op->type();
    const bool multiplies = type == ConvolutionForward::kType || type == ConvBiasForward::kType ||
                            type == MatrixMul::kType;
    if (multiplies && planned.graph.var(node.outputs[0]).type.dtype == DType::kFloat32) ++count;
  }
  return count;
}

// Describes the reads of streamed weights, and how long a run waits for them.
std::string WindowLines(const std::string& path, const PlannedModel& made) {
  const PlannedGraph& planned = made.plan();
  const WeightWindow& window = *planned.weights.window;
  const ReadSpeed speed = ReadSpeedOf(planned.planning);
  const absl::string_view source = speed.source;
  return absl::StrFormat(
      "weights are streamed from a packed file: of %s, %s stay in the window, %s are read in each "
      "run (%s)\n"
      "a run is expected to take %s, of which it waits %s for reads, at %.2f GB/s and %.2f ms a "
      "read (%s)\n%s",
      FormatBytes(window.resident_bytes + window.read_bytes), FormatBytes(window.resident_bytes),
      FormatBytes(window.read_bytes), Counted(static_cast<int64_t>(window.reads.size()), "read"),
      FormatMilliseconds(planned.predicted_ms), FormatMilliseconds(window.waiting_ms),
      speed.disk.bytes_per_ms / 1e6, speed.disk.read_ms,
      source == "given"      ? "--weights-speed"
      : source == "measured" ? "the disk, as `tune` measured it"
                             : "assumed: `tune` measures the disk",
      made.packed != nullptr
          ? ""
          : absl::StrCat("this file's weights are not packed: the plan is of the file that `",
                         PackingCommand(path, planned.request), "` writes\n"));
}

}  // namespace

std::string ArenaLine(const memory::PlanResult& result) {
  const int64_t excluded = result.plan.proven_bound;
  const std::string by_search =
      excluded > result.lower_bound ? absl::StrFormat(" (%d by search)", excluded) : "";
  return absl::StrFormat("arena %s, lower bound %d%s, %s, planner %s\n",
                         Counted(result.plan.arena, "byte"), result.lower_bound, by_search,
                         memory::ProofText(result), result.plan.planner);
}

void AddArena(const memory::PlanResult& result, Json& document) {
  document["arena_bytes"] = result.plan.arena;
  document["lower_bound_bytes"] = result.lower_bound;
  document["proven_bytes"] = std::max(result.lower_bound, result.plan.proven_bound);
  document["proof"] = std::string(memory::ProofName(result.proof));
  document["planner"] = result.plan.planner;
}

PlannedBuffers BuffersOf(const PlannedGraph& planned, std::string title) {
  PlannedBuffers buffers;
  buffers.problem.problem = planned.lifetimes.problem;
  buffers.problem.ids = memory::IdsInFile(planned.lifetimes.problem.buffers);
  buffers.names = NamesOfBuffers(planned);
  buffers.workspaces = WorkspaceBuffers(planned);
  buffers.problem.names = buffers.names;
  buffers.result = planned.plan;
  buffers.title = std::move(title);
  return buffers;
}

Json ChunksDocument(const PlannedBuffers& planned) {
  const std::vector<memory::Buffer>& buffers = planned.problem.problem.buffers;
  if (buffers.size() > kMostChunks) return Json();
  Json chunks = Json::array();
  for (size_t i = 0; i < buffers.size(); ++i) {
    const bool workspace = !planned.workspaces.empty() && planned.workspaces[i];
    chunks.push_back({{"name", planned.names[i]},
                      {"kind", workspace ? "workspace" : "tensor"},
                      {"offset_bytes", planned.result.plan.offsets[i]},
                      {"size_bytes", buffers[i].size},
                      {"first_step", buffers[i].lower},
                      {"end_step", buffers[i].upper},
                      {"inside", Json::array()}});
  }
  for (const memory::Inside& relation : planned.problem.problem.inside) {
    chunks[relation.inner]["inside"].push_back(relation.outer);
  }
  return chunks;
}

Json TotalDocument(const MemoryNeed& need, int64_t addresses) {
  return {{"planned_bytes", need.total()},
          {"parts",
           {{"arena_bytes", need.arena},
            {"packed_weights_bytes", need.weights},
            {"weights_in_file_bytes", need.file},
            {"state_bytes", need.state},
            {"input_bytes", need.input},
            {"output_bytes", need.output},
            {"while_packing_bytes", need.packing},
            {"process_bytes", need.process},
            {"while_planning_bytes", need.planning}}},
          {"address_space_bytes", addresses}};
}

std::string PoolTable(const std::string& path, const PlannedModel& made) {
  const PlannedGraph& planned = made.plan();
  Table table({"pool", ">planned", ">bytes"});
  const auto row = [&](const char* name, int64_t bytes) {
    table.AddRow({name, FormatBytes(bytes), absl::StrCat(bytes)});
  };
  row("arena", planned.plan.plan.arena);
  row(planned.weights.window ? "weights (window)" : "weights", planned.weights.memory_bytes());
  if (planned.state.bytes > 0) row("state", planned.state.bytes);
  row(planned.request.target.release_input ? "input (in the arena)" : "input",
      planned.request.target.release_input ? planned.released_bytes() : planned.input_bytes());
  row("output", planned.output_bytes());
  std::string below;
  if (planned.device->is_host()) {
    const MemoryNeed need = NeedOf(made);
    if (need.packing > 0) row("while packing", need.packing);
    row("process", need.process);
    if (need.planning > 0) row("while planning", need.planning);
    row("total", need.total());
    below = absl::StrFormat("%saddresses that the process needs (ulimit -v): %s\n",
                            need.file > 0 ? "weights are used directly from the file; " : "",
                            FormatBytes(AddressesNeeded(made)));
  }
  if (planned.weights.window) absl::StrAppend(&below, WindowLines(path, made));
  const std::string processor =
      planned.device->is_host() ? absl::StrCat(" (", planned.processor().ToString(), ")") : "";
  const auto operators = std::count_if(
      planned.schedule.order.begin(), planned.schedule.order.end(),
      [&](int node) { return planned.graph.node(node).op->role() == Role::kCompute; });
  return absl::StrFormat(
      "%s on %s%s, %s: %s, %d of them operators, planned in %s, of which the memory %s\n\n%s%s",
      path, planned.request.target.comp_node.ToString(), processor,
      Counted(planned.request.target.threads, "thread"),
      Counted(planned.schedule.order.size(), "step"), operators,
      FormatMilliseconds(planned.plan_ms), FormatMilliseconds(planned.plan.total_ms),
      table.ToText(), below);
}

std::string BottleneckLine(const PlannedGraph& planned, const PeakReport& peak) {
  if (peak.bottleneck_node < 0) return "";
  const OperatorNode& node = planned.graph.node(peak.bottleneck_node);
  return absl::StrFormat("bottleneck at step %d, %s (%s): workspace %s, copies %s\n",
                         planned.plan.bottleneck_step, FormatName(node.name),
                         std::string(node.op->type()), FormatBytes(peak.workspace_bytes),
                         FormatBytes(peak.copies_bytes));
}

std::string WorkspaceLine(const PlannedGraph& planned) {
  int count = 0, largest = -1;
  for (int node : planned.schedule.order) {
    if (planned.workspace[node] == 0) continue;
    ++count;
    if (largest < 0 || planned.workspace[node] > planned.workspace[largest]) largest = node;
  }
  if (largest < 0) return "";
  const Kernel* const kernel = WorkspaceOwner(planned, largest);
  return absl::StrFormat(
      "workspace in the arena: %s, the most %s of %s%s\n", Counted(count, "operator"),
      FormatBytes(planned.workspace[largest]), FormatName(planned.graph.node(largest).name),
      kernel == nullptr ? "" : absl::StrCat(" (", kernel->implementation(), ")"));
}

Json WorkspaceDocument(const PlannedGraph& planned) {
  Json workspaces = Json::array();
  for (int node : planned.schedule.order) {
    if (planned.workspace[node] == 0) continue;
    const Kernel* const kernel = WorkspaceOwner(planned, node);
    workspaces.push_back({{"operator", planned.graph.node(node).name},
                          {"kernel", kernel == nullptr ? Json() : Json(kernel->implementation())},
                          {"bytes", planned.workspace[node]},
                          {"offset", planned.LocateWorkspace(node)->offset},
                          {"offset_bytes", planned.LocateWorkspace(node)->offset}});
  }
  return workspaces;
}

std::string InstructionsLine(const PlannedGraph& planned) {
  if (planned.device->comp_node().type != CompNode::Type::kMcu) return "";
  return absl::StrFormat(
      "about %.3g million instructions on %s, by a table fitted to counts under emulation; no "
      "cycles\n",
      ExpectedInstructions(planned) / 1e6, planned.processor().ToString());
}

std::string TimeLine(const PlannedGraph& planned) {
  const bool is_mcu = planned.device->comp_node().type == CompNode::Type::kMcu;
  if (planned.predicted_ms <= 0 || is_mcu) return "";
  return absl::StrCat("time: ", FormatMilliseconds(planned.predicted_ms), " expected for ",
                      FormatFlops(static_cast<int64_t>(WeightFlops(planned.graph))),
                      " of operators with weights", planned.weights.window ? ", and reads" : "",
                      "\n");
}

std::string RoundingLine(const PlannedGraph& planned) {
  const Rounding rounding = RoundingOf(planned);
  if (rounding.kernels == 0) return "";
  return absl::StrFormat(
      "rounding: %s by Winograd's algorithm, up to %g times as far as direct sums; --exact does "
      "without\n",
      Counted(rounding.kernels, "convolution"), rounding.factor);
}

Json RoundingDocument(const PlannedGraph& planned) {
  const Rounding rounding = RoundingOf(planned);
  return {{"kernels", rounding.kernels}, {"factor", rounding.factor}};
}

std::string BFloat16Line(const PlannedGraph& planned) {
  const int count = FloatProducts(planned);
  if (count == 0) return "";
  const Processor& processor = planned.processor();
  return absl::StrCat("bf16 (--precision bf16, not used): half the bytes, ",
                      processor.amx_bf16 ? "and products in AMX's tiles"
                      : processor.bf16   ? "and products by AVX512_BF16"
                                         : "and not faster on this processor",
                      "; values are rounded to 8 bits\n");
}

Json BFloat16Document(const PlannedGraph& planned) {
  const int count = FloatProducts(planned);
  if (count == 0) return Json();
  return {{"operators", count},
          {"tiles", planned.processor().amx_bf16},
          {"dots", planned.processor().bf16}};
}

std::string PeakTable(const PlannedBuffers& planned) {
  const memory::Problem& problem = planned.problem.problem;
  const std::vector<int> live = BuffersAtPeak(problem, planned.result.bottleneck_step);
  Table table({"live at the peak", ">size", ">offset", ">steps"});
  for (size_t i = 0; i < live.size() && i < kTensorsShown; ++i) {
    const memory::Buffer& buffer = problem.buffers[live[i]];
    table.AddRow({FormatName(planned.names[live[i]], 48), FormatBytes(buffer.size),
                  absl::StrCat(planned.result.plan.offsets[live[i]]),
                  absl::StrCat("[", buffer.lower, ", ", buffer.upper, ")")});
  }
  std::string text = table.ToText();
  if (live.size() > kTensorsShown) {
    absl::StrAppend(&text, "and ", live.size() - kTensorsShown, " smaller ones\n");
  }
  return text;
}

std::string PassTable(const std::vector<PassReport>& passes) {
  // Passes are compared by the peak of live bytes, because addresses are assigned much later.
  Table table({"pass", ">operators", "", ">peak before", ">after", ">saved"});
  for (const PassReport& pass : passes) {
    const int64_t saved = pass.arena_bytes_before - pass.arena_bytes_after;
    table.AddRow({pass.name, absl::StrCat(pass.operators_before),
                  absl::StrCat("-> ", pass.operators_after), FormatBytes(pass.arena_bytes_before),
                  FormatBytes(pass.arena_bytes_after),
                  absl::StrCat(saved < 0 ? "-" : "", FormatBytes(std::abs(saved)))});
  }
  return passes.empty() ? "" : table.ToText();
}

std::string TileLines(const PlannedGraph& planned) {
  std::string text;
  if (!planned.tiles.empty() || planned.request.target.budget || planned.request.target.total) {
    absl::StrAppend(&text, "\n", planned.tiles.empty() ? "not tiled" : "tiled", ": ",
                    FormatPercent(planned.extra_flops_ratio), " extra FLOPs");
    if (planned.predicted_ms > 0) {
      absl::StrAppend(&text, ", ", FormatMilliseconds(planned.predicted_ms), " expected",
                      planned.weights.window ? " with reads" : "");
    }
    absl::StrAppend(&text, "; the options that repeat this plan:\n",
                    ShellText(OptionsToRepeat(planned)), "\n");
  }
  if (planned.request.target.budget && planned.request.target.budget->bytes > 0) {
    absl::StrAppend(&text, "budget ", Counted(planned.request.target.budget->bytes, "byte"));
    if (planned.smallest_budget > 0) {
      absl::StrAppend(&text, ", the smallest that was found ", planned.smallest_budget);
    }
    absl::StrAppend(&text, "\n");
  }
  if (const std::optional<TotalBudget>& total = planned.request.target.total) {
    absl::StrAppend(&text, "total budget ", Counted(total->bytes, "byte"), "\n");
  }
  if (!planned.spared.empty()) {
    absl::StrAppend(
        &text, planned.spared.size(),
        planned.spared.size() == 1 ? " operator runs" : " operators run",
        " on a kernel with less workspace than the fastest one's, which would raise the "
        "arena's peak (--extra-scratch allows that); the first is ",
        FormatName(planned.graph.node(planned.spared[0]).name), "\n");
  }
  return text;
}

}  // namespace ashlar
