// Files that the caller has in memory.
#ifndef ASHLAR_SERIALIZATION_FILES_IN_MEMORY_H_
#define ASHLAR_SERIALIZATION_FILES_IN_MEMORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/types/span.h"

namespace ashlar {

// The contents of a file. `owner` keeps them alive; they must not change.
struct FileInMemory {
  absl::Span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;  // not null
};
using FilesInMemory = std::map<std::string, FileInMemory>;  // by name

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_FILES_IN_MEMORY_H_
