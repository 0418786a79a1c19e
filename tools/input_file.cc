#include "tools/input_file.h"

#include "absl/strings/match.h"
#include "library/model_source.h"

namespace ashlar {

FileKind KindByEnding(const std::string& path) {
  if (HasEnding(path, ".npz")) return FileKind::kArchive;
  if (HasEnding(path, ".npy")) return FileKind::kArray;
  for (const char* ending : {".png", ".jpg", ".jpeg", ".ppm", ".pnm"}) {
    if (HasEnding(path, ending)) return FileKind::kPicture;
  }
  return FileKind::kRaw;
}

bool IsUnknownPicture(const std::string& path) {
  for (const char* ending : {".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".pbm", ".tga",
                             ".heic", ".avif", ".jxl", ".jp2", ".exr", ".ico", ".svg"}) {
    if (HasEnding(path, ending)) return true;
  }
  return false;
}

FileKind KindByBytes(absl::Span<const uint8_t> bytes) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (absl::StartsWith(text, "PK\3\4")) return FileKind::kArchive;
  if (absl::StartsWith(text, "\x93NUMPY")) return FileKind::kArray;
  for (const char* start : {"\x89PNG", "\xff\xd8\xff", "P5", "P6"}) {
    if (absl::StartsWith(text, start)) return FileKind::kPicture;
  }
  return FileKind::kRaw;
}

}  // namespace ashlar
