// Writes a graph in the native format (format.h, model.fbs).
#ifndef ASHLAR_SERIALIZATION_NATIVE_WRITER_H_
#define ASHLAR_SERIALIZATION_NATIVE_WRITER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "runtime/plan/record/packed_model.h"
#include "serialization/fixed_axes.h"

namespace ashlar {

// Replaces the file after everything is written; on an error, an existing file stays unchanged.
// Returns InvalidArgument for a graph that the format cannot store: several comp nodes, a constant
// without data.
// Other sizes of the dimensions in `axes.fixed` are refused when the file is read.
// Calls `done_with` for pieces of the constants after reading them, once or several times.
absl::Status WriteModel(const Graph& graph, const std::string& path, const FileAxes& axes = {},
                        const DoneWith& done_with = nullptr);

// The same, followed by a packed form of the graph.
absl::Status WriteModel(const Graph& graph, const PackedModel& packed, const std::string& path,
                        const FileAxes& axes = {}, const DoneWith& done_with = nullptr);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_WRITER_H_
