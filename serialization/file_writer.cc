#include "serialization/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/file_mapping.h"
#include "graph/status.h"

namespace ashlar {
namespace {

namespace fs = std::filesystem;

// Returns the end of a chain of symbolic links, which need not exist.
std::string FollowLinks(const std::string& path, std::error_code& error) {
  constexpr int kMostLinks = 40;  // the system's limit
  fs::path at = path;
  std::error_code none;
  for (int links = 0; fs::is_symlink(fs::symlink_status(at, none)); ++links) {
    if (links == kMostLinks) {
      error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
      break;
    }
    const fs::path next = fs::read_symlink(at, error);
    if (error) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  return at.string();
}

}  // namespace

absl::Status FileWriter::Error(int error, absl::string_view what) const {
  const absl::Status status = absl::ErrnoToStatus(error, absl::StrCat(path_, ": ", what));
  // ResourceExhausted means a plan that does not fit; a full disk must not look like one.
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
  if (exists && access(path.c_str(), W_OK) != 0) return writer->Error(errno, "cannot write");
  std::error_code error;
  writer->target_ = FollowLinks(path, error);
  if (error) return writer->Error(error.value(), "cannot write");
  writer->copies_ = exists && info.st_nlink > 1;
  ASHLAR_RETURN_IF_ERROR(writer->OpenTemporary());
  // The file is created private. Gives it the target's mode, or the mode that open() would give.
  const mode_t mask = umask(0);
  umask(mask);
  fchmod(writer->fd_, exists ? info.st_mode & 0777 : 0666 & ~mask);
  return writer;
}

absl::Status FileWriter::OpenTemporary() {
  const fs::path folder = fs::path(target_).parent_path();
  // Naming the file later goes through /proc.
  if (access("/proc/self/fd", X_OK) == 0) {
    fd_ = open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    unnamed_ = fd_ >= 0;
    if (unnamed_) return absl::OkStatus();
  }
  temporary_ = target_ + ".XXXXXX";
  fd_ = mkostemp(temporary_.data(), O_CLOEXEC);  // also for reading
  if (fd_ >= 0) return absl::OkStatus();
  temporary_.clear();
  return Error(errno, "cannot write");
}

absl::Status FileWriter::GiveName() {
  constexpr int kMostTries = 10000;  // limit on names that are already taken
  const std::string own = absl::StrCat("/proc/self/fd/", fd_);
  for (int i = 0; i < kMostTries; ++i) {
    const std::string name = absl::StrCat(target_, ".", getpid(), ".", i);
    if (linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      unnamed_ = false;
      return absl::OkStatus();
    }
    if (errno != EEXIST) break;
  }
  return Error(errno, "cannot write");
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
    if (written < 0) {
      const int error = errno;
      if (error == EFAULT) ASHLAR_RETURN_IF_ERROR(LoadIfMapped(next, static_cast<int64_t>(bytes)));
      return Error(error, "cannot write");
    }
    next += written;
    bytes -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status FileWriter::Rewrite(int64_t offset, const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = pwrite(fd_, next, bytes, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error(errno, "cannot write");
    next += written;
    offset += written;
    bytes -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status FileWriter::CopyToTarget() {
  const int fd = open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0) return Error(errno, "cannot write");
  const int source = std::exchange(fd_, fd);
  absl::Status status;
  std::vector<char> buffer(1 << 20);
  for (off_t at = 0; status.ok();) {
    const ssize_t size = pread(source, buffer.data(), buffer.size(), at);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) status = Error(errno, "cannot read back what was written");
    if (size <= 0) break;
    status = Write(buffer.data(), static_cast<size_t>(size));
    at += size;
  }
  close(source);
  return status;
}

absl::Status FileWriter::Commit() {
  if (copies_) {
    ASHLAR_RETURN_IF_ERROR(CopyToTarget());
    if (!temporary_.empty()) unlink(std::exchange(temporary_, "").c_str());
  } else if (unnamed_ || !temporary_.empty()) {
    if (fsync(fd_) != 0) return Error(errno, "cannot write");
    if (unnamed_) ASHLAR_RETURN_IF_ERROR(GiveName());
  }
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
    // Does not open a pipe: its reader would see an end of file.
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
