// Writes a whole file or nothing: an older file under the path stays until all is written.
#ifndef ASHLAR_SERIALIZATION_FILE_WRITER_H_
#define ASHLAR_SERIALIZATION_FILE_WRITER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// Writes to a file without a name in the same folder, which goes with the process however that
// ends (O_TMPFILE; where the file system has none, to a temporary file), and Commit gives it a name
// and renames it over the path. Without Commit nothing is left behind. Symbolic links are followed,
// also to a file that is not there yet. A file of several names (hard links) stays one file: Commit
// copies the temporary file into it. A path that is there and no regular file (a pipe, /dev/stdout)
// is written in place. Errors name the path.
class FileWriter {
 public:
  static absl::StatusOr<std::unique_ptr<FileWriter>> Create(const std::string& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  absl::Status Write(const void* data, size_t bytes);
  absl::Status Write(absl::string_view text) { return Write(text.data(), text.size()); }
  absl::Status Commit();

 private:
  FileWriter() = default;
  absl::Status Error(int error, absl::string_view what) const;
  // A file for what is written, with the target's mode.
  absl::Status OpenTemporary();
  // A name in the target's folder for the file that has none.
  absl::Status GiveName();
  // Writes the bytes of the temporary file into the target.
  absl::Status CopyToTarget();

  std::string path_;       // as the caller named it
  std::string target_;     // with links resolved
  std::string temporary_;  // empty: in place, or without a name
  bool unnamed_ = false;
  bool copies_ = false;  // to the target, which has other names
  int fd_ = -1;
};

// Whether `path` could be written now; nothing is left behind.
absl::Status CheckWritable(const std::string& path);

// All of `text` as the file's content.
absl::Status WriteFile(const std::string& path, absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_FILE_WRITER_H_
