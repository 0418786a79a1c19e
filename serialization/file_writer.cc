#include "serialization/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "graph/status.h"

namespace ashlar {

absl::Status FileWriter::Error(int error, absl::string_view what) const {
  const absl::Status status = absl::ErrnoToStatus(error, absl::StrCat(path_, ": ", what));
  // A full disk is no plan that does not fit.
  return absl::IsResourceExhausted(status) ? absl::UnavailableError(status.message()) : status;
}

absl::StatusOr<std::unique_ptr<FileWriter>> FileWriter::Create(const std::string& path) {
  std::unique_ptr<FileWriter> writer(new FileWriter());
  writer->path_ = path;
  writer->target_ = path;
  struct stat info;
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    writer->fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (writer->fd_ < 0) return writer->Error(errno, "cannot write");
    return writer;
  }
  if (exists) {
    if (access(path.c_str(), W_OK) != 0) return writer->Error(errno, "cannot write");
    if (char* resolved = realpath(path.c_str(), nullptr)) {
      writer->target_ = resolved;
      std::free(resolved);
    }
  }
  writer->temporary_ = writer->target_ + ".XXXXXX";
  writer->fd_ = mkostemp(writer->temporary_.data(), O_CLOEXEC);
  if (writer->fd_ < 0) {
    writer->temporary_.clear();
    return writer->Error(errno, "cannot write");
  }
  // mkostemp makes the file private; give it the mode that the target has, or that open() would.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(writer->fd_, exists ? info.st_mode & 0777 : 0666 & ~mask);
  return writer;
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status FileWriter::Write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd_, next, std::min<size_t>(bytes, 1 << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error(errno, "cannot write");
    next += written;
    bytes -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Commit() {
  if (!temporary_.empty() && fsync(fd_) != 0) return Error(errno, "cannot write");
  const int fd = std::exchange(fd_, -1);
  if (close(fd) != 0) return Error(errno, "cannot write");
  if (temporary_.empty()) return absl::OkStatus();
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) return Error(errno, "cannot write");
  temporary_.clear();
  return absl::OkStatus();
}

absl::Status CheckWritable(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    // A pipe is not opened here: whoever reads from it would see its end.
    const int error = S_ISDIR(info.st_mode) ? EISDIR : access(path.c_str(), W_OK) ? errno : 0;
    if (error == 0) return absl::OkStatus();
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot write"));
  }
  return FileWriter::Create(path).status();
}

absl::Status WriteFile(const std::string& path, absl::string_view text) {
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> writer, FileWriter::Create(path));
  ASHLAR_RETURN_IF_ERROR(writer->Write(text));
  return writer->Commit();
}

}  // namespace ashlar
