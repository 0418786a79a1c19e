#include "serialization/trace.h"

#include <utility>

#include "graph/status.h"
#include "memory/problem/lower_bound.h"

namespace ashlar {
namespace {

using TraceJson = nlohmann::ordered_json;

constexpr int kProcess = 1;
constexpr int kStream = 1;

TraceJson Metadata(const char* kind, const std::string& name) {
  return {
      {"name", kind}, {"ph", "M"}, {"pid", kProcess}, {"tid", kStream}, {"args", {{"name", name}}}};
}

}  // namespace

absl::StatusOr<TraceJson> ChromeTrace(const PlannedGraph& planned,
                                      const std::vector<StepTime>& steps) {
  const Graph& graph = planned.graph;
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<memory::LiveBytes> profile,
                          memory::LiveProfile(planned.lifetimes.problem));
  TraceJson events = TraceJson::array();
  events.push_back(Metadata("process_name", "ashlar"));
  events.push_back(Metadata("thread_name", planned.request.target.comp_node.ToString()));
  size_t next = 0;
  double last = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const int index = planned.schedule.order[i];
    const OperatorNode& node = graph.node(index);
    last = steps[i].end * 1e6;
    while (next < profile.size() && profile[next].step <= static_cast<int64_t>(i)) {
      events.push_back({{"name", "live bytes"},
                        {"ph", "C"},
                        {"ts", steps[i].start * 1e6},
                        {"pid", kProcess},
                        {"args", {{"arena", profile[next].bytes}}}});
      ++next;
    }
    const Kernel* kernel = planned.kernels[index].get();
    if (kernel == nullptr) continue;  // nothing was executed
    const Footprint footprint = FootprintOf(*node.op, graph.SiteOf(node));
    events.push_back({{"name", node.name},
                      {"cat", std::string(node.op->type())},
                      {"ph", "X"},
                      {"ts", steps[i].start * 1e6},
                      {"dur", (steps[i].end - steps[i].start) * 1e6},
                      {"pid", kProcess},
                      {"tid", kStream},
                      {"args",
                       {{"id", node.id},
                        {"kernel", kernel->implementation()},
                        {"computation", footprint.computation},
                        {"memory", footprint.memory},
                        {"workspace", planned.workspace[index]}}}});
  }
  events.push_back({{"name", "live bytes"},
                    {"ph", "C"},
                    {"ts", last},
                    {"pid", kProcess},
                    {"args", {{"arena", 0}}}});
  TraceJson trace = TraceJson::object();
  trace["displayTimeUnit"] = "ms";
  trace["traceEvents"] = std::move(events);
  return trace;
}

}  // namespace ashlar
