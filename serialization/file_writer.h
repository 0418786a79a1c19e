// Writes a whole file or nothing: an older file at the path stays until everything is written.
#ifndef ASHLAR_SERIALIZATION_FILE_WRITER_H_
#define ASHLAR_SERIALIZATION_FILE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// A file that is written whole or not at all. Uses an unnamed file in the target's folder
// (O_TMPFILE), which vanishes with the process however it ends. If the file system lacks this, uses
// a temporary file. Commit names the file and renames it over the path; without Commit nothing
// remains.
//
// Special targets:
// - Symbolic links are followed, even to a file that does not exist yet.
// - A file with several names (hard links) stays one file: Commit copies the contents into it.
// - An existing path that is not a regular file (a pipe, /dev/stdout) is written in place.
// Errors name the path.
class FileWriter {
 public:
  static absl::StatusOr<std::unique_ptr<FileWriter>> Create(const std::string& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  absl::Status Write(const void* data, size_t bytes);
  absl::Status Write(absl::string_view text) { return Write(text.data(), text.size()); }
  // Replaces bytes that were written. Only before Commit, and if can_rewrite(): bytes written
  // in place, as into a pipe, stay.
  absl::Status Rewrite(int64_t offset, const void* data, size_t bytes);
  bool can_rewrite() const { return unnamed_ || !temporary_.empty(); }
  absl::Status Commit();

 private:
  FileWriter() = default;
  absl::Status Error(int error, absl::string_view what) const;
  // Opens a file for the output, with the target's mode.
  absl::Status OpenTemporary();
  // Names the unnamed file, in the target's folder.
  absl::Status GiveName();
  // Copies the temporary file's bytes into the target.
  absl::Status CopyToTarget();

  std::string path_;       // as passed by the caller
  std::string target_;     // with links resolved
  std::string temporary_;  // empty: written in place, or unnamed
  bool unnamed_ = false;
  bool copies_ = false;  // into the target, which has other names
  int fd_ = -1;
};

// Checks that `path` could be written now; leaves nothing at the path.
absl::Status CheckWritable(const std::string& path);

// Writes `text` as the file's whole content.
absl::Status WriteFile(const std::string& path, absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_FILE_WRITER_H_
