// Splits PNG files into chunks with their checksums (W3C Recommendation, "Portable Network Graphics
// Specification", third edition, sections 5 and 10).
#ifndef ASHLAR_SERIALIZATION_PNG_CHUNKS_H_
#define ASHLAR_SERIALIZATION_PNG_CHUNKS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serialization/pixels.h"

namespace ashlar {

struct PngChunk {
  absl::string_view type;  // "IDAT"
  absl::string_view data;
};

bool IsPng(absl::string_view file);

// Returns the size in the first chunk, unchecked; nullopt if the file is too short.
std::optional<PictureSize> PngSize(absl::string_view file);

// Returns the chunks up to IEND. Returns InvalidArgument if a chunk is truncated, its CRC-32 is
// wrong, or IEND is missing.
absl::StatusOr<std::vector<PngChunk>> PngChunks(absl::string_view file);

// Returns InvalidArgument unless the IDAT chunks hold a whole zlib stream with a correct checksum.
// It must not have more bytes than a picture of this size.
absl::Status CheckPngPixels(absl::Span<const PngChunk> chunks, PictureSize size);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_PNG_CHUNKS_H_
