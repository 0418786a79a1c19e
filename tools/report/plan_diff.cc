#include "tools/report/plan_diff.h"

#include <array>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/format.h"
#include "tools/peak.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

constexpr size_t kChunksShown = 8;

// A row in bytes.
struct Bytes {
  const char* name;
  const char* key;  // in JSON
  int64_t RecordedPlan::*bytes;
};

constexpr std::array<Bytes, 5> kBytes = {
    {{"arena", "arena_bytes", &RecordedPlan::arena},
     {"lower bound", "lower_bound_bytes", &RecordedPlan::lower_bound},
     {"weights", "weights_bytes", &RecordedPlan::weights},
     {"input", "input_bytes", &RecordedPlan::inputs},
     {"output", "output_bytes", &RecordedPlan::outputs}}};

// Returns the indices of the largest chunks that are live at the peak.
std::vector<int> LargestAtPeak(const RecordedPlan& plan) {
  std::vector<int> chunks = BuffersAtPeak(plan.problem(), plan.bottleneck_step);
  if (chunks.size() > kChunksShown) chunks.resize(kChunksShown);
  return chunks;
}

// Returns the operator at the peak; empty if nothing runs.
std::string OperatorAtPeak(const RecordedPlan& plan) {
  const auto step = static_cast<size_t>(plan.bottleneck_step);
  return step < plan.steps.size() ? plan.steps[step].name : "";
}

std::string ChunkTable(const NamedPlan& named) {
  const RecordedPlan& plan = named.plan;
  Table table(
      {absl::StrCat("at the peak of ", FormatName(named.name, 40)), ">size", ">offset", ">steps"});
  for (const int index : LargestAtPeak(plan)) {
    const RecordedChunk& chunk = plan.chunks[index];
    table.AddRow({FormatName(chunk.name, 48), FormatBytes(chunk.buffer.size),
                  absl::StrCat(chunk.buffer.offset.value_or(0)),
                  absl::StrCat("[", chunk.buffer.lower, ", ", chunk.buffer.upper, ")")});
  }
  return table.ToText();
}

Json PlanJson(const NamedPlan& named) {
  const RecordedPlan& plan = named.plan;
  Json json = {{"file", named.name}};
  for (const Bytes& row : kBytes) json[row.key] = plan.*row.bytes;
  json["proof"] = std::string(memory::ProofName(plan.proof()));
  json["planner"] = plan.found_by;
  json["steps"] = plan.steps.size();
  json["chunks"] = plan.chunks.size();
  json["predicted_ms"] = plan.predicted_ms;
  json["extra_flops_ratio"] = plan.extra_flops_ratio;
  json["tile"] = plan.target.tiles.ToString();
  json["bottleneck_step"] = plan.bottleneck_step;
  json["bottleneck_operator"] = OperatorAtPeak(plan);
  json["chunks_at_peak"] = Json::array();
  for (const int index : LargestAtPeak(plan)) {
    const RecordedChunk& chunk = plan.chunks[index];
    json["chunks_at_peak"].push_back({{"name", chunk.name},
                                      {"kind", std::string(Name(chunk.kind))},
                                      {"bytes", chunk.buffer.size},
                                      {"offset", chunk.buffer.offset.value_or(0)}});
  }
  return json;
}

}  // namespace

std::string DiffTable(const NamedPlan& a, const NamedPlan& b) {
  Table table({"", absl::StrCat(">", FormatName(a.name, 40)),
               absl::StrCat(">", FormatName(b.name, 40)), ">difference"});
  for (const Bytes& row : kBytes) {
    const int64_t of_a = a.plan.*row.bytes, of_b = b.plan.*row.bytes, more = of_b - of_a;
    table.AddRow(
        {row.name, absl::StrCat(of_a), absl::StrCat(of_b),
         more == 0 ? "" : absl::StrCat(more < 0 ? "-" : "+", FormatBytes(std::abs(more)))});
  }
  const auto text = [&](const char* name, const std::string& of_a, const std::string& of_b) {
    table.AddRow({name, of_a, of_b, of_a == of_b ? "" : "differs"});
  };
  const auto number = [&](const char* name, size_t of_a, size_t of_b) {
    const auto more = static_cast<int64_t>(of_b) - static_cast<int64_t>(of_a);
    table.AddRow({name, absl::StrCat(of_a), absl::StrCat(of_b),
                  more == 0 ? "" : absl::StrCat(more > 0 ? "+" : "", more)});
  };
  text("proof", std::string(memory::ProofName(a.plan.proof())),
       std::string(memory::ProofName(b.plan.proof())));
  number("steps", a.plan.steps.size(), b.plan.steps.size());
  number("chunks", a.plan.chunks.size(), b.plan.chunks.size());
  text("predicted", FormatMilliseconds(a.plan.predicted_ms),
       FormatMilliseconds(b.plan.predicted_ms));
  text("extra FLOPs", FormatPercent(a.plan.extra_flops_ratio),
       FormatPercent(b.plan.extra_flops_ratio));
  text("peak at", FormatName(OperatorAtPeak(a.plan), 40), FormatName(OperatorAtPeak(b.plan), 40));
  return absl::StrCat(table.ToText(), "\n", ChunkTable(a), "\n", ChunkTable(b));
}

Json DiffDocument(const NamedPlan& a, const NamedPlan& b) {
  Json document;
  document["plans"] = {PlanJson(a), PlanJson(b)};
  Json difference;
  for (const Bytes& row : kBytes) difference[row.key] = b.plan.*row.bytes - a.plan.*row.bytes;
  difference["predicted_ms"] = b.plan.predicted_ms - a.plan.predicted_ms;
  document["difference"] = std::move(difference);
  return document;
}

}  // namespace ashlar
