#include "viewer/plan_document.h"

#include <utility>
#include <vector>

namespace ashlar {
namespace {

using Json = nlohmann::ordered_json;

constexpr ChunkKind kKinds[] = {ChunkKind::kTensor, ChunkKind::kWorkspace, ChunkKind::kCopy};

// Returns a column with the value of each element.
template <typename List, typename Value>
Json Column(const List& list, Value value) {
  Json column = Json::array();
  for (const auto& element : list) column.push_back(value(element));
  return column;
}

Json Buffers(const ViewedPlan& plan) {
  using memory::Buffer;
  const std::vector<Buffer>& buffers = plan.problem.buffers;
  std::vector<ChunkKind> kinds = plan.kinds;
  kinds.resize(buffers.size(), ChunkKind::kTensor);
  return {{"name", plan.names},
          {"kind", Column(kinds, [](ChunkKind kind) { return static_cast<int>(kind); })},
          {"first_step", Column(buffers, [](const Buffer& b) { return b.lower; })},
          {"end_step", Column(buffers, [](const Buffer& b) { return b.upper; })},
          {"offset_bytes", plan.offsets},
          {"size_bytes", Column(buffers, [](const Buffer& b) { return b.size; })},
          {"alignment_bytes", Column(buffers, [](const Buffer& b) { return b.alignment; })}};
}

Json Relations(const std::vector<memory::Inside>& inside) {
  using memory::Inside;
  return {{"inner", Column(inside, [](const Inside& r) { return r.inner; })},
          {"outer", Column(inside, [](const Inside& r) { return r.outer; })},
          {"at_bytes", Column(inside, [](const Inside& r) { return r.offset; })}};
}

Json Steps(const ViewedPlan& plan) {
  using Step = ViewedStep;
  const auto part = [&](const Step& s) { return plan.tile.empty() ? "" : PartOf(s.name); };
  const auto ms = [](const Step& s) { return s.ms < 0 ? Json() : Json(s.ms); };
  return {{"name", Column(plan.steps, [](const Step& s) { return s.name; })},
          {"type", Column(plan.steps, [](const Step& s) { return s.type; })},
          {"kernel", Column(plan.steps, [](const Step& s) { return s.kernel; })},
          {"workspace_bytes", Column(plan.steps, [](const Step& s) { return s.workspace_bytes; })},
          {"part", Column(plan.steps, part)},
          {"ms", Column(plan.steps, ms)}};
}

Json Reads(const std::vector<ViewedRead>& reads) {
  return {{"buffer", Column(reads, [](const ViewedRead& r) { return r.buffer; })},
          {"step", Column(reads, [](const ViewedRead& r) { return r.step; })}};
}

Json Views(const std::vector<ViewedView>& views) {
  using View = ViewedView;
  return {{"buffer", Column(views, [](const View& v) { return v.buffer; })},
          {"name", Column(views, [](const View& v) { return v.name; })},
          {"at_bytes", Column(views, [](const View& v) { return v.offset; })},
          {"size_bytes", Column(views, [](const View& v) { return v.bytes; })}};
}

Json Passes(const std::vector<PassReport>& passes) {
  return Column(passes, [](const PassReport& pass) {
    return Json{{"name", pass.name},
                {"arena_bytes_before", pass.arena_bytes_before},
                {"arena_bytes_after", pass.arena_bytes_after}};
  });
}

bool IsPartCharacter(char c) { return (c >= '0' && c <= '9') || c == ','; }

}  // namespace

std::string PartOf(absl::string_view name) {
  name = name.substr(0, name.rfind(':'));
  size_t begin = name.size(), at = name.size();
  while (at > 0) {
    while (at > 0 && IsPartCharacter(name[at - 1])) --at;
    // Digits after a slash, at least one.
    if (at == 0 || name[at - 1] != '/' || at == name.size() || name[at] == '/') break;
    begin = at--;
  }
  return std::string(name.substr(begin));
}

Json PlanDocument(const ViewedPlan& plan) {
  Json document = {
      {"schema_version", 1},
      {"title", plan.title},
      {"arena_bytes", plan.arena},
      {"lower_bound_bytes", plan.lower_bound},
      {"proven_bytes", plan.proven},
      {"budget_bytes", plan.budget},
      {"weights_bytes", plan.weights},
      {"input_bytes", plan.inputs},
      {"output_bytes", plan.outputs},
      {"bottleneck_step", plan.bottleneck_step},
      {"proof", std::string(memory::ProofName(plan.proof))},
      {"planner", plan.planner},
      {"tile", plan.tile},
      {"passes", Passes(plan.passes)},
      {"kinds", Column(kKinds, [](ChunkKind kind) { return std::string(Name(kind)); })},
      {"buffers", Buffers(plan)},
      {"relations", Relations(plan.problem.inside)},
      {"steps", Steps(plan)},
      {"reads", Reads(plan.reads)},
      {"views", Views(plan.views)}};
  if (plan.predicted_ms) {
    document["extra_flops_ratio"] = plan.extra_flops;
    document["predicted_ms"] = *plan.predicted_ms;
  }
  return document;
}

}  // namespace ashlar
