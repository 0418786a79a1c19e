// The files of --input: their kinds, by ending or by first bytes.
#ifndef ASHLAR_TOOLS_INPUT_FILE_H_
#define ASHLAR_TOOLS_INPUT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "serialization/mapped_file.h"

namespace ashlar {

enum class FileKind { kPicture, kArray, kArchive, kRaw };

FileKind KindByEnding(const std::string& path);
FileKind KindByBytes(absl::Span<const uint8_t> bytes);

// Whether the ending is of an unsupported kind of picture, whose bytes are not a tensor.
bool IsUnknownPicture(const std::string& path);

// A file for an input.
struct InputFile {
  std::string name;  // for messages
  FileKind kind;
  std::shared_ptr<const MappedFile> content;
  absl::Span<const uint8_t> bytes() const { return content->bytes(); }
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_INPUT_FILE_H_
