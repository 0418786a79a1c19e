// Reads parts of a file into memory without mapping it: a file that shrinks is an error, no signal.
// Leaves the system's cache of files as it was, so that a control group is not charged for it.
#ifndef ASHLAR_SERIALIZATION_FILE_READER_H_
#define ASHLAR_SERIALIZATION_FILE_READER_H_

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ashlar {

// Which file, and when it was last written to: device, inode, bytes, seconds, nanoseconds.
using FileStamp = std::array<int64_t, 5>;
FileStamp StampOf(const struct stat& info);

class FileReader {
 public:
  // Errors name `path`.
  static absl::StatusOr<std::unique_ptr<const FileReader>> Open(const std::string& path);
  ~FileReader();
  FileReader(const FileReader&) = delete;
  FileReader& operator=(const FileReader&) = delete;

  // Reads bytes at an offset. Allocates nothing unless it fails; the error (with kDamagedFile)
  // names path, offset, got and expected. Any number of threads may read.
  absl::Status Read(int64_t offset, int64_t bytes, void* to) const;
  // Reads bytes from the first one on, as many as the system has cached in one piece. Returns how
  // many.
  int64_t ReadCached(int64_t offset, int64_t bytes, void* to) const;
  absl::StatusOr<FileStamp> Stamp() const;
  // Makes the system forget what it has cached of the file, as far as it can.
  void DropFromCache() const;
  const std::string& path() const { return path_; }

 private:
  FileReader(int file, std::string path) : file_(file), path_(std::move(path)) {}
  bool HasCached(int64_t offset, int64_t bytes) const;
  int64_t ReadPiece(int64_t offset, int64_t bytes, void* to) const;

  const int file_;
  const std::string path_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_FILE_READER_H_
