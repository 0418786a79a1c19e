// Builds graphs from the verified tables of a native file (reader.h): checks every count, index,
// range and type, and infers all shapes anew.
#ifndef ASHLAR_SERIALIZATION_NATIVE_GRAPH_READER_H_
#define ASHLAR_SERIALIZATION_NATIVE_GRAPH_READER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/plan/record/packed_model.h"
#include "serialization/mapped_file.h"
#include "serialization/native/model_generated.h"

namespace ashlar {

// The bytes of a graph besides its tables.
struct GraphBytes {
  int64_t graph_bytes = 0;  // of the section with the tables, as a limit
  absl::Span<const uint8_t> weights;
  const MappedFile* file = nullptr;   // holds the bytes; null if the caller does
  std::shared_ptr<const void> owner;  // keeps `weights` alive
};

absl::StatusOr<Graph> ReadGraph(const fbs::Model& model, GraphBytes bytes);
// Reads the index of a packed section, with its graph.
absl::StatusOr<PackedModel> ReadPackedIndex(const fbs::Packed& index, GraphBytes bytes);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_GRAPH_READER_H_
