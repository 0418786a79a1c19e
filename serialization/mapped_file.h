// A file mapped into memory, read-only.
#ifndef ASHLAR_SERIALIZATION_MAPPED_FILE_H_
#define ASHLAR_SERIALIZATION_MAPPED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ashlar {

class MappedFile {
 public:
  // Regular files only. The file must not be shortened while it is mapped.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  // The same of an open descriptor, which is closed in any case. `path` names it in errors.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Map(int fd, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Starts at a page.
  absl::Span<const uint8_t> bytes() const { return bytes_; }

  // Takes the pages out of the process's resident set. They come back from the file when read.
  void DropResidentPages() const;
  // The same for the pages that hold `bytes` bytes at `data`; nothing where the pages lie
  // elsewhere.
  void DropResidentPages(const void* data, int64_t bytes) const;

 private:
  explicit MappedFile(absl::Span<const uint8_t> bytes) : bytes_(bytes) {}
  absl::Span<const uint8_t> bytes_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MAPPED_FILE_H_
