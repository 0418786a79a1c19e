// Parts of a model's file that hold no weights. They are copied from a mapped file: of a file that
// is cached in large pieces, the system maps megabytes around each byte that is read in the
// mapping.
#ifndef ASHLAR_SERIALIZATION_NATIVE_SECTION_H_
#define ASHLAR_SERIALIZATION_NATIVE_SECTION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "serialization/mapped_file.h"
#include "serialization/native/format.h"

namespace ashlar {

// The graph, or the index of packed weights.
class Section {
 public:
  // `file` holds the bytes; null if the caller does, for longer than the section is used. Errors as
  // MappedFile::Load.
  static absl::StatusOr<Section> Load(absl::Span<const uint8_t> bytes, const MappedFile* file);
  absl::Span<const uint8_t> bytes() const { return bytes_; }

 private:
  absl::Span<const uint8_t> bytes_;
  std::unique_ptr<uint8_t[]> copy_;  // null if the bytes are not copied
};

// Decode the headers of a file, all of which is `bytes` (DecodeHeader, DecodePackedHeader).
absl::StatusOr<NativeHeader> HeaderOf(absl::Span<const uint8_t> bytes, const MappedFile* file);
absl::StatusOr<PackedHeader> PackedHeaderOf(absl::Span<const uint8_t> bytes,
                                            const NativeHeader& header, const MappedFile* file);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_SECTION_H_
