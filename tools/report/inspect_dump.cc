#include "tools/report/inspect_dump.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/recorded_plan.h"
#include "serialization/file_writer.h"
#include "serialization/megengine/import.h"
#include "serialization/megengine/recording_summary.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/options.h"
#include "tools/peak.h"
#include "tools/plan_picture.h"
#include "tools/report/recording_view.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

constexpr int64_t kRecordedAlignment = 512;  // alignment of CUDA's comp node

// The recorded problem of MegEngine: its order, its workspaces, its alignment, no rewrites.
PlanRequest RecordedProblem(const std::optional<Processor>& processor, bool inplace) {
  PlanRequest request;
  request.target.processor = processor;
  request.target.threads = DefaultThreads();
  request.planning.passes = "none";
  request.planning.order = Order::kMegEngine;
  request.planning.workspace = WorkspaceSource::kRecorded;
  request.planning.inplace = inplace;
  request.debug.alignment = kRecordedAlignment;
  return request;
}

struct DumpRow {
  const char* name;  // in the document
  const char* title;
  PlanRequest request;
};

std::vector<DumpRow> DumpRows(const std::optional<Processor>& processor) {
  PlanRequest own;
  own.target.processor = processor;
  own.target.threads = DefaultThreads();
  return {{"recorded_problem", "recorded problem, in-place off", RecordedProblem(processor, false)},
          {"recorded_problem_inplace", "recorded problem, in-place on",
           RecordedProblem(processor, true)},
          {"own", "Ashlar's defaults on cpu0:0", own}};
}

absl::Status WritePlan(const std::string& path, const PlannedBuffers& planned) {
  ASHLAR_ASSIGN_OR_RETURN(const std::string file, PlanFile(planned, PlanFormatOf(path), ""));
  return WriteFile(path, file);
}

absl::StatusOr<PlannedBuffers> BuffersOf(const Graph& graph, const PlannedGraph& planned,
                                         const std::string& path) {
  PlannedBuffers buffers;
  ASHLAR_ASSIGN_OR_RETURN(const RecordedPlan record, RecordPlan(graph, planned));
  buffers.viewed = {ViewOf(record, planned, FileName(path) + ", planned")};
  buffers.problem.problem = planned.lifetimes.problem;
  buffers.result = planned.plan;
  buffers.title = path + ", planned";
  buffers.problem.ids = memory::IdsInFile(planned.lifetimes.problem.buffers);
  buffers.names = NamesOfBuffers(planned);
  buffers.workspaces = WorkspaceBuffers(planned);
  return buffers;
}

absl::StatusOr<PlannedBuffers> BuffersOf(const ProfileRecording& recording,
                                         const RecordedMemory& recorded, const std::string& path) {
  PlannedBuffers buffers;
  ASHLAR_ASSIGN_OR_RETURN(ViewedPlan view,
                          ViewOf(recording, recorded, FileName(path) + ", recorded"));
  buffers.viewed.push_back(std::move(view));
  buffers.problem = recorded.placement;
  buffers.result.plan = recorded.plan;
  buffers.result.lower_bound = recorded.peak_bytes;
  buffers.names = recorded.names;
  buffers.title = path + ", recorded";
  return buffers;
}

std::string TimeTable(const ProfileRecording& recording, Json& document) {
  Table table({"type", ">operators", ">device", ">kernels", ">host", ">GFLOP/s", ">traffic"});
  TypeTotals all;
  const auto add = [&](const std::string& type, const TypeTotals& totals) {
    const double gflops = totals.device > 0 ? totals.computation / totals.device / 1e9 : 0;
    table.AddRow({type, absl::StrCat(totals.operators), FormatMilliseconds(totals.device * 1e3),
                  FormatMilliseconds(totals.device_kernel * 1e3),
                  FormatMilliseconds(totals.host * 1e3), absl::StrFormat("%.1f", gflops),
                  FormatBytes(totals.memory)});
  };
  Json types = Json::object();
  for (const auto& [type, totals] : TotalsByType(recording)) {
    all.Add(totals);
    add(FormatName(type), totals);
    types[type] = {{"operators", totals.operators},
                   {"device_ms", totals.device * 1e3},
                   {"kernel_ms", totals.device_kernel * 1e3},
                   {"host_ms", totals.host * 1e3},
                   {"memory", totals.memory},
                   {"traffic_bytes", totals.memory},
                   {"computation", totals.computation},
                   {"computation_flop", totals.computation}};
  }
  add("all", all);
  document["recorded"]["device_ms"] = all.device * 1e3;
  document["recorded"]["host_ms"] = all.host * 1e3;
  document["recorded"]["types"] = std::move(types);
  return table.ToText();
}

}  // namespace

absl::Status InspectDump(const InspectDumpFlags& flags, Console& console) {
  console.Progress(absl::StrCat("reading ", flags.path));
  const absl::StatusOr<ProfileRecording> recording = ReadProfileDump(flags.path);
  if (!recording.ok()) return WithExitCode(recording.status(), ExitCode::kRejectedInput);
  absl::StatusOr<Graph> graph = ImportGraph(*recording);
  if (!graph.ok()) {
    return WithExitCode(Annotate(graph.status(), flags.path), ExitCode::kRejectedInput);
  }
  const RecordedMemory recorded = SummarizeMemory(*recording);
  Json document = console.Document(CompNode(), DefaultThreads());
  document["recorded"] = {{"operators", recording->comp_seq.size()},
                          {"vars", recorded.vars},
                          {"extents", recorded.extents},
                          {"union_bytes", recorded.union_bytes},
                          {"union_without_input_bytes", recorded.union_without_input_bytes},
                          {"peak_bytes", recorded.peak_bytes}};
  Table memory({"memory", ">", ">bytes", ">lower bound"});
  const auto row = [&](const char* title, int64_t bytes, const std::string& bound) {
    memory.AddRow({title, FormatBytes(bytes), absl::StrCat(bytes), bound});
  };
  if (recorded.has_input) row("recorded, with the input", recorded.union_bytes, "");
  row("recorded, without the input", recorded.union_without_input_bytes, "");
  if (!flags.recorded_plan.empty()) {
    ASHLAR_ASSIGN_OR_RETURN(const PlannedBuffers buffers,
                            BuffersOf(*recording, recorded, flags.path));
    ASHLAR_RETURN_IF_ERROR(WritePlan(flags.recorded_plan, buffers));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::optional<Processor> processor, DefaultProcessor());
  for (const DumpRow& plan : DumpRows(processor)) {
    console.Progress(absl::StrCat("planning: ", plan.title));
    ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> planned,
                            PlanGraph(*graph, plan.request));
    const memory::PlanResult& result = planned->plan;
    row(plan.title, result.plan.arena, absl::StrCat(result.lower_bound));
    document["plans"][plan.name] = {{"arena_bytes", result.plan.arena},
                                    {"lower_bound_bytes", result.lower_bound},
                                    {"proof", std::string(memory::ProofName(result.proof))}};
    const PlanningOptions& planning = plan.request.planning;
    if (!flags.own_plan.empty() && planning.workspace == WorkspaceSource::kRecorded &&
        planning.inplace) {
      ASHLAR_ASSIGN_OR_RETURN(PlannedBuffers buffers, BuffersOf(*graph, *planned, flags.path));
      // A page also shows the recorded placement.
      ASHLAR_ASSIGN_OR_RETURN(ViewedPlan beside,
                              ViewOf(*recording, recorded, FileName(flags.path) + ", recorded"));
      buffers.viewed.push_back(std::move(beside));
      ASHLAR_RETURN_IF_ERROR(WritePlan(flags.own_plan, buffers));
    }
  }
  console.Print(absl::StrFormat("%s in order, %s in %s of memory, at most %s live\n\n",
                                Counted(recording->comp_seq.size(), "operator"),
                                Counted(recorded.vars, "var"), Counted(recorded.extents, "extent"),
                                Counted(recorded.peak_bytes, "byte")));
  console.Print(absl::StrCat(memory.ToText(), "\n", TimeTable(*recording, document)));
  return console.Write(document);
}

}  // namespace ashlar
