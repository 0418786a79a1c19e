// Reads the native format (format.h, model.fbs). Nothing in the file is trusted. FlatBuffers'
// verifier runs first; then every count, index, range and type is checked here. Finally the graph
// builder infers all shapes, which must equal the recorded ones. Allocations stay within a small
// multiple of the file's size.
#ifndef ASHLAR_SERIALIZATION_NATIVE_READER_H_
#define ASHLAR_SERIALIZATION_NATIVE_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/plan/record/packed_model.h"
#include "serialization/fixed_axes.h"
#include "serialization/mapped_file.h"
#include "serialization/model_identity.h"

namespace ashlar {

// The file of a graph. The graph's constants refer to the mapping and keep it alive.
struct ModelFile {
  std::shared_ptr<const MappedFile> mapping;  // DropResidentPages() after weights are packed
  int64_t weights_bytes = 0;                  // size of the weights section
  std::string name;                           // for messages
  std::vector<FixedAxis> fixed_axes;
};

// Returns the packed section of a file, or nothing if the file has none. The pool stays in the
// file's bytes. Returns InvalidArgument as below. Does not check whether it suits this processor.
absl::StatusOr<std::optional<PackedModel>> ReadPackedModel(const ModelFile& file);

// Returns the recorded checksums of the file's constants; none for files of version 1. Reads no
// weights, so the checksums are not verified; CheckWeights does that.
ConstantChecksums RecordedChecksums(const ModelFile& file);

// Returns InvalidArgument, naming file and constant, if the weights differ from the ones written.
// Reads all weights except the ones that begin at `unread`, then drops their pages. Files of
// version 1 have no checksums and pass.
absl::Status CheckWeights(const ModelFile& file,
                          const absl::flat_hash_set<const void*>& unread = {});
// The same for the weights that its packed section uses.
absl::Status CheckPackedWeights(const ModelFile& file);

// Returns InvalidArgument for every fault inside the file, naming file, node, field, got and
// expected. Returns NotFound, PermissionDenied etc. if the file cannot be opened.
absl::StatusOr<Graph> ReadModel(const std::string& path, ModelFile* file = nullptr);

// The same for a file that is already mapped. `name` is for messages.
absl::StatusOr<Graph> ReadMappedModel(std::shared_ptr<const MappedFile> mapping,
                                      const std::string& name, ModelFile* file = nullptr);

// The same for bytes that `owner` keeps alive; they start at a multiple of 64. `name` is for
// messages.
absl::StatusOr<Graph> ReadModelFromBytes(absl::Span<const uint8_t> bytes,
                                         std::shared_ptr<const void> owner, absl::string_view name,
                                         std::vector<FixedAxis>* fixed = nullptr);
absl::StatusOr<std::optional<PackedModel>> ReadPackedModelFromBytes(
    absl::Span<const uint8_t> bytes, std::shared_ptr<const void> owner, absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_READER_H_
