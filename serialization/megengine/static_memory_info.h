// Writes the memory plan for MegEngine's TensorBoard tool (graph_info_analyze).
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_STATIC_MEMORY_INFO_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_STATIC_MEMORY_INFO_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "serialization/megengine/profile_dump.h"

namespace ashlar {

// Returns the content of StaticMemoryInfo.json; every value is a text:
//
//   {"chunk": {id: {id, type, time_begin, time_end, logic_addr_begin, logic_addr_end,
//                   overwrite_dest_id}},
//    "opr": {step: {id, name}}}
//
// - type "static_mem": a chunk of the arena, bytes [logic_addr_begin, logic_addr_end), live in
//   steps [time_begin, time_end). overwrite_dest_id is the chunk at the root of its overwrites and
//   views, or "-1".
// - type "weight_mem": a constant at an address after the arena, live in all steps.
// - "opr" has every step, because the tool looks up all of them.
nlohmann::ordered_json StaticMemoryInfo(const PlannedGraph& planned);

// Writes graph.json and StaticMemoryInfo.json into a folder, which is created if needed.
absl::Status WriteStaticMemoryInfo(const PlannedGraph& planned, const ProfileRecord& record,
                                   const std::string& folder);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_STATIC_MEMORY_INFO_H_
