// Reads the native format (format.h, model.fbs). Nothing in the file is trusted: FlatBuffers'
// verifier first, then every count, index, range and type here, then the graph builder's own
// inference, whose shapes must be the recorded ones. Allocations stay within a small
// multiple of the file.
#ifndef ASHLAR_SERIALIZATION_NATIVE_READER_H_
#define ASHLAR_SERIALIZATION_NATIVE_READER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/plan/packed_model.h"
#include "serialization/mapped_file.h"
#include "serialization/model_identity.h"

namespace ashlar {

// The file behind a graph. Its constants borrow from the mapping and keep it alive.
struct ModelFile {
  std::shared_ptr<const MappedFile> mapping;  // DropResidentPages() once the weights are packed
  int64_t weights_bytes = 0;                  // of the weights section
  std::string name;                           // for messages
};

// The packed section of a file; the pool is the file's own bytes.
// InvalidArgument as below, or nothing where the file has no such section. Whether it suits this
// processor is not looked at.
absl::StatusOr<std::optional<PackedModel>> ReadPackedModel(const ModelFile& file);

// The checksums that a file has of its constants; none in files of version 1. Reads no weights:
// they are the file's statement of them, which CheckWeights compares.
ConstantChecksums RecordedChecksums(const ModelFile& file);

// InvalidArgument, naming file and constant, unless the weights of a file that has been read are
// what was written. Reads them all but those that begin at `unread`, and lets their pages go again.
// Files of version 1 have no checksums and pass.
absl::Status CheckWeights(const ModelFile& file,
                          const absl::flat_hash_set<const void*>& unread = {});
// The same for the weights that its packed section uses.
absl::Status CheckPackedWeights(const ModelFile& file);

// InvalidArgument for every fault inside the file, naming file, node, field, got and
// expected; NotFound, PermissionDenied and the like where it cannot be opened.
absl::StatusOr<Graph> ReadModel(const std::string& path, ModelFile* file = nullptr);

// The same on a file that is mapped already. `name` is for messages.
absl::StatusOr<Graph> ReadMappedModel(std::shared_ptr<const MappedFile> mapping,
                                      const std::string& name, ModelFile* file = nullptr);

// The same on bytes that `owner` keeps alive; they start at a multiple of 64. `name` is for
// messages.
absl::StatusOr<Graph> ReadModelFromBytes(absl::Span<const uint8_t> bytes,
                                         std::shared_ptr<const void> owner, absl::string_view name);
absl::StatusOr<std::optional<PackedModel>> ReadPackedModelFromBytes(
    absl::Span<const uint8_t> bytes, std::shared_ptr<const void> owner, absl::string_view name);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_READER_H_
