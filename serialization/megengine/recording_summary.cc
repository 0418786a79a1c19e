#include "serialization/megengine/recording_summary.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "serialization/megengine/covered_length.h"

namespace ashlar {
namespace {

struct ByteRange {
  int64_t begin = 0, end = 0;
};

// Returns the ranges merged, in ascending order.
std::vector<ByteRange> Extents(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  std::vector<ByteRange> extents;
  for (const ByteRange& range : ranges) {
    if (extents.empty() || range.begin > extents.back().end) {
      extents.push_back(range);
    } else {
      extents.back().end = std::max(extents.back().end, range.end);
    }
  }
  return extents;
}

int64_t Bytes(const std::vector<ByteRange>& extents) {
  int64_t bytes = 0;
  for (const ByteRange& extent : extents) bytes += extent.end - extent.begin;
  return bytes;
}

// Returns the offset of an address after the gaps are closed.
int64_t Compact(const std::vector<ByteRange>& extents, int64_t address) {
  int64_t offset = 0;
  for (const ByteRange& extent : extents) {
    if (address <= extent.end) return offset + address - extent.begin;
    offset += extent.end - extent.begin;
  }
  return offset;
}

// Returns the most bytes of addresses [offset, offset + size) that are in use at one step. Memory
// shared by several vars counts once.
int64_t PeakBytes(const std::vector<memory::Buffer>& buffers, const std::vector<int64_t>& offsets) {
  struct Event {
    int64_t step;
    int change;
    size_t buffer;
  };
  std::vector<Event> events;
  std::vector<int64_t> ends;
  for (size_t i = 0; i < buffers.size(); ++i) {
    events.push_back({buffers[i].lower, 1, i});
    events.push_back({buffers[i].upper, -1, i});
    ends.push_back(offsets[i]);
    ends.push_back(offsets[i] + buffers[i].size);
  }
  // At each step, ends come before begins.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.step != b.step ? a.step < b.step : a.change < b.change;
  });
  CoveredLength covered(std::move(ends));
  int64_t peak = 0;
  for (const Event& event : events) {
    const int64_t begin = offsets[event.buffer];
    covered.Change(begin, begin + buffers[event.buffer].size, event.change);
    peak = std::max(peak, covered.length());
  }
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
  std::vector<ByteRange> all, without_input;
  std::map<int, int> buffer_of;  // by var
  for (const auto& [id, var] : recording.vars) {
    const auto producer = step.find(var.producer);
    if (!var.HasDynamicMemory() || producer == step.end()) continue;
    ++result.vars;
    const ByteRange range{var.begin, var.end};
    all.push_back(range);
    if (recording.operators.at(var.producer).type == "InputCallback") {
      result.has_input = true;
    } else {
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
      // A view keeps its chunk alive.
      memory::Buffer& whole = problem.buffers[source->second];
      whole.upper = std::max(whole.upper, buffer.upper);
    }
    buffer_of[id] = static_cast<int>(problem.buffers.size());
    problem.buffers.push_back(buffer);
    result.placement.ids.push_back(absl::StrCat(id));
    result.names.push_back(var.name);
  }
  const std::vector<ByteRange> extents = Extents(std::move(all));
  result.extents = static_cast<int>(extents.size());
  result.union_bytes = Bytes(extents);
  result.union_without_input_bytes = Bytes(Extents(std::move(without_input)));
  result.plan.arena = result.union_bytes;
  result.plan.planner = "recorded";
  for (const memory::Buffer& buffer : problem.buffers) {
    const DumpVar& var = recording.vars.at(static_cast<int>(buffer.id));
    result.plan.offsets.push_back(Compact(extents, var.begin));
  }
  result.peak_bytes = PeakBytes(problem.buffers, result.plan.offsets);
  return result;
}

}  // namespace ashlar
