#include "serialization/recording_summary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

struct Range {
  int64_t begin = 0, end = 0;
};

// Merged and ascending.
std::vector<Range> Extents(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> extents;
  for (const Range& range : ranges) {
    if (extents.empty() || range.begin > extents.back().end) {
      extents.push_back(range);
    } else {
      extents.back().end = std::max(extents.back().end, range.end);
    }
  }
  return extents;
}

int64_t Bytes(const std::vector<Range>& extents) {
  int64_t bytes = 0;
  for (const Range& extent : extents) bytes += extent.end - extent.begin;
  return bytes;
}

// The offset of an address once the gaps are closed.
int64_t Compact(const std::vector<Range>& extents, int64_t address) {
  int64_t offset = 0;
  for (const Range& extent : extents) {
    if (address <= extent.end) return offset + address - extent.begin;
    offset += extent.end - extent.begin;
  }
  return offset;
}

int64_t PeakBytes(const std::vector<memory::Buffer>& buffers, size_t steps) {
  std::vector<int64_t> change(steps + 1, 0);
  for (const memory::Buffer& buffer : buffers) {
    change[buffer.lower] += buffer.size;
    change[buffer.upper] -= buffer.size;
  }
  int64_t live = 0, peak = 0;
  for (int64_t delta : change) peak = std::max(peak, live += delta);
  return peak;
}

}  // namespace

void TypeTotals::Add(const TypeTotals& other) {
  operators += other.operators;
  device += other.device;
  device_kernel += other.device_kernel;
  host += other.host;
  memory += other.memory;
  if (__builtin_add_overflow(computation, other.computation, &computation)) {
    computation = INT64_MAX;
  }
}

TypeTotals TotalsOf(const DumpOperator& op) {
  TypeTotals totals;
  totals.operators = 1;
  if (op.device.has_value()) {
    totals.device = op.device->total;
    totals.device_kernel = op.device->kernel;
  }
  if (op.host.has_value()) totals.host = op.host->total;
  if (op.footprint.has_value()) {
    totals.memory = op.footprint->memory;
    totals.computation = op.footprint->computation;
  }
  return totals;
}

std::map<std::string, TypeTotals> TotalsByType(const ProfileRecording& recording) {
  std::map<std::string, TypeTotals> totals;
  for (int id : recording.comp_seq) {
    const DumpOperator& op = recording.operators.at(id);
    totals[op.type].Add(TotalsOf(op));
  }
  return totals;
}

RecordedMemory SummarizeMemory(const ProfileRecording& recording) {
  std::map<int, int64_t> step;  // by operator
  for (int id : recording.comp_seq) step.emplace(id, static_cast<int64_t>(step.size()));
  std::map<int, int64_t> last_read;  // by var
  for (const auto& [id, position] : step) {
    for (int input : recording.operators.at(id).inputs) {
      last_read[input] = std::max(last_read[input], position);
    }
  }
  RecordedMemory result;
  memory::Problem& problem = result.placement.problem;
  std::vector<Range> all, without_input;
  std::map<int, int> buffer_of;  // by var
  for (const auto& [id, var] : recording.vars) {
    const auto producer = step.find(var.producer);
    if (!var.HasDynamicMemory() || producer == step.end()) continue;
    ++result.vars;
    const Range range{var.begin, var.end};
    all.push_back(range);
    if (recording.operators.at(var.producer).type != "InputCallback") {
      without_input.push_back(range);
    }
    memory::Buffer buffer;
    buffer.id = id;
    buffer.lower = producer->second;
    buffer.upper = std::max(producer->second, last_read[id]) + 1;
    buffer.size = var.end - var.begin;
    const auto source = buffer_of.find(var.forwarded_from);
    if (source != buffer_of.end()) {
      const int64_t offset = var.begin - recording.vars.at(var.forwarded_from).begin;
      problem.inside.push_back({static_cast<int>(problem.buffers.size()), source->second, offset});
      // A view keeps what it shows.
      memory::Buffer& whole = problem.buffers[source->second];
      whole.upper = std::max(whole.upper, buffer.upper);
    }
    buffer_of[id] = static_cast<int>(problem.buffers.size());
    problem.buffers.push_back(buffer);
    result.placement.ids.push_back(absl::StrCat(id));
    result.names.push_back(var.name);
  }
  const std::vector<Range> extents = Extents(std::move(all));
  result.extents = static_cast<int>(extents.size());
  result.union_bytes = Bytes(extents);
  result.union_without_input_bytes = Bytes(Extents(std::move(without_input)));
  result.plan.arena = result.union_bytes;
  result.plan.planner = "recorded";
  std::vector<memory::Buffer> owners;
  for (memory::Buffer& buffer : problem.buffers) {
    const DumpVar& var = recording.vars.at(static_cast<int>(buffer.id));
    result.plan.offsets.push_back(Compact(extents, var.begin));
    if (var.forwarded_from < 0) owners.push_back(buffer);
  }
  result.peak_bytes = PeakBytes(owners, recording.comp_seq.size());
  return result;
}

}  // namespace ashlar
