// The documents that --json writes. Bytes are integers; keys are only ever added.
#ifndef ASHLAR_TOOLS_JSON_OUTPUT_H_
#define ASHLAR_TOOLS_JSON_OUTPUT_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "graph/graph.h"

namespace ashlar {

using Json = nlohmann::ordered_json;

inline constexpr int kJsonSchemaVersion = 1;

// Returns [{"name", "shape", "dtype"}] for the inputs or outputs of a graph.
Json BindingsJson(const Graph& graph, const std::vector<Binding>& bindings);

// Returns e.g. [1, 3, 224, 224].
Json ShapeJson(const Shape& shape);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_JSON_OUTPUT_H_
