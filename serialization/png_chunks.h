// PNG files as rows of chunks, with their checksums (W3C Recommendation, "Portable Network Graphics
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

// The contents of the first chunk, unchecked; nullopt where the file is too short for it.
std::optional<PictureSize> PngSize(absl::string_view file);

// Up to IEND. InvalidArgument where a chunk is cut off or its CRC-32 is wrong, or IEND is missing.
absl::StatusOr<std::vector<PngChunk>> PngChunks(absl::string_view file);

// InvalidArgument where the chunks IDAT do not hold a whole zlib stream whose checksum is right, or
// one of more bytes than a picture of this size can have.
absl::Status CheckPngPixels(absl::Span<const PngChunk> chunks, PictureSize size);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_PNG_CHUNKS_H_
