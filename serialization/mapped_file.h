// A file mapped into memory, read-only.
#ifndef ASHLAR_SERIALIZATION_MAPPED_FILE_H_
#define ASHLAR_SERIALIZATION_MAPPED_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/file_mapping.h"
#include "serialization/file_reader.h"

namespace ashlar {

class MappedFile {
 public:
  // Maps a regular file. It must not be shortened while it is mapped.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  // The same for a file that is read at once: loads all bytes, of which a megabyte is resident at
  // once, so that reading them is no signal.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> OpenLoaded(const std::string& path);
  // Maps an open descriptor, and closes it in any case. Errors name `path`.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Map(int fd, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Starts at a page boundary.
  absl::Span<const uint8_t> bytes() const {
    return {static_cast<const uint8_t*>(mapping_.data()), static_cast<size_t>(mapping_.bytes())};
  }
  // The file when it was mapped.
  const FileStamp& stamp() const { return stamp_; }

  // Brings bytes of the file into memory before they are read: see FileMapping.
  absl::Status Load(const void* data, int64_t bytes) const { return mapping_.Load(data, bytes); }

  // Copies bytes of the file without mapping their pages: of a file that is cached in large pieces
  // the system maps megabytes around each byte that is read. Errors as Load.
  absl::Status Read(const void* data, int64_t bytes, void* to) const;
  // Brings bytes into the system's cache, so that reading them in the mapping soon is most likely
  // no signal. Errors as Load.
  absl::Status Cache(const void* data, int64_t bytes) const;

  // Removes the pages from the process's resident set. Reading them loads them from the file again.
  void DropResidentPages() const;
  // The same for the pages of `bytes` bytes at `data`; does nothing if they are not part of this
  // file.
  void DropResidentPages(const void* data, int64_t bytes) const;

 private:
  MappedFile(int file, const void* data, const std::string& path, const FileStamp& stamp)
      : file_(file), mapping_(data, stamp[2], path), stamp_(stamp) {}
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Map(int fd, const std::string& path,
                                                               bool keep);
  const int file_;  // -1: closed, because a model may have thousands of files
  const FileMapping mapping_;
  const FileStamp stamp_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MAPPED_FILE_H_
