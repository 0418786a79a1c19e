#include "serialization/megengine/static_memory_info.h"

#include <filesystem>

#include "graph/status.h"
#include "serialization/json_file.h"

namespace ashlar {
namespace {

using Json = nlohmann::ordered_json;

// Returns by buffer the outermost buffer that contains it, or itself.
std::vector<int> Roots(const memory::Problem& problem) {
  std::vector<int> outer(problem.buffers.size(), -1);
  for (const memory::Inside& inside : problem.inside) outer[inside.inner] = inside.outer;
  std::vector<int> roots(outer.size());
  for (size_t i = 0; i < outer.size(); ++i) {
    int root = static_cast<int>(i);
    while (outer[root] >= 0) root = outer[root];
    roots[i] = root;
  }
  return roots;
}

Json Chunk(size_t id, const char* type, int64_t time_begin, int64_t time_end, int64_t begin,
           int64_t end, int64_t overwritten) {
  return {{"id", absl::StrCat(id)},
          {"type", type},
          {"time_begin", absl::StrCat(time_begin)},
          {"time_end", absl::StrCat(time_end)},
          {"logic_addr_begin", absl::StrCat(begin)},
          {"logic_addr_end", absl::StrCat(end)},
          {"overwrite_dest_id", absl::StrCat(overwritten)}};
}

}  // namespace

Json StaticMemoryInfo(const PlannedGraph& planned) {
  const memory::Problem& problem = planned.lifetimes.problem;
  const std::vector<int>& order = planned.schedule.order;
  const std::vector<int> roots = Roots(problem);
  Json chunks = Json::object(), steps = Json::object();
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const memory::Buffer& buffer = problem.buffers[i];
    const int64_t offset = planned.plan.plan.offsets[i];
    const bool is_root = roots[i] == static_cast<int>(i);
    chunks[absl::StrCat(i)] = Chunk(i, "static_mem", buffer.lower, buffer.upper, offset,
                                    offset + buffer.size, is_root ? -1 : roots[i]);
  }
  for (const WeightEntry& entry : planned.weights.entries) {
    const int64_t begin = planned.plan.plan.arena + entry.offset;
    chunks[absl::StrCat(chunks.size())] =
        Chunk(chunks.size(), "weight_mem", 0, static_cast<int64_t>(order.size()), begin,
              begin + entry.bytes, -1);
  }
  // States are stored after the weights.
  for (const StateEntry& entry : planned.state.entries) {
    const int64_t begin = planned.plan.plan.arena + planned.weights.bytes + entry.offset;
    chunks[absl::StrCat(chunks.size())] =
        Chunk(chunks.size(), "weight_mem", 0, static_cast<int64_t>(order.size()), begin,
              begin + entry.type.bytes(), -1);
  }
  for (size_t step = 0; step < order.size(); ++step) {
    const std::string id = absl::StrCat(step);
    steps[id] = {{"id", id}, {"name", planned.graph.node(order[step]).name}};
  }
  return {{"chunk", chunks}, {"opr", steps}};
}

absl::Status WriteStaticMemoryInfo(const PlannedGraph& planned, const ProfileRecord& record,
                                   const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::UnknownError(absl::StrCat(folder, ": ", error.message()));
  }
  ASHLAR_RETURN_IF_ERROR(WriteJsonFile(folder + "/graph.json", GraphDump(planned, record), 1));
  return WriteJsonFile(folder + "/StaticMemoryInfo.json", StaticMemoryInfo(planned), 1);
}

}  // namespace ashlar
