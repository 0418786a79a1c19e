// A file mapped into memory, read-only.
#ifndef ASHLAR_SERIALIZATION_MAPPED_FILE_H_
#define ASHLAR_SERIALIZATION_MAPPED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "serialization/file_reader.h"

namespace ashlar {

class MappedFile {
 public:
  // Maps a regular file. It must not be shortened while it is mapped.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  // Maps an open descriptor, and closes it in any case. Errors name `path`.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Map(int fd, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Starts at a page boundary.
  absl::Span<const uint8_t> bytes() const { return bytes_; }
  // The file when it was mapped.
  const FileStamp& stamp() const { return stamp_; }

  // Removes the pages from the process's resident set. Reading them loads them from the file again.
  void DropResidentPages() const;
  // The same for the pages of `bytes` bytes at `data`; does nothing if they are not part of this
  // file.
  void DropResidentPages(const void* data, int64_t bytes) const;

 private:
  MappedFile(absl::Span<const uint8_t> bytes, const FileStamp& stamp)
      : bytes_(bytes), stamp_(stamp) {}
  absl::Span<const uint8_t> bytes_;
  const FileStamp stamp_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MAPPED_FILE_H_
