#include "serialization/standard_input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/status.h"

namespace ashlar {
namespace {

constexpr char kStandardInput[] = "standard input";

absl::Status WriteAll(int fd, const char* data, size_t size, const std::string& name) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return absl::ErrnoToStatus(errno, absl::StrCat(name, ": cannot keep"));
    data += written;
    size -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status Copy(int from, int fd, int64_t most, const std::string& name) {
  std::vector<char> buffer(1 << 16);
  for (int64_t total = 0;;) {
    const ssize_t count = read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, absl::StrCat(name, ": cannot read"));
    if (count == 0) return absl::OkStatus();
    total += count;
    if (total > most) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": more than ", most, " bytes"));
    }
    ASHLAR_RETURN_IF_ERROR(WriteAll(fd, buffer.data(), static_cast<size_t>(count), name));
  }
}

// Reads a pipe to its end, into an unnamed file.
absl::StatusOr<std::shared_ptr<const MappedFile>> MapPipe(int from, int64_t most,
                                                          const std::string& name) {
  const int fd = memfd_create(kStandardInput, MFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(name, ": cannot keep"));
  if (absl::Status status = Copy(from, fd, most, name); !status.ok()) {
    close(fd);
    return status;
  }
  return MappedFile::Map(fd, name);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MapStandardInput(int64_t most) {
  return MapPipe(STDIN_FILENO, most, kStandardInput);
}

bool IsPipe(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode);
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MapFileOrPipe(const std::string& path,
                                                                int64_t most) {
  if (!IsPipe(path)) return MappedFile::OpenLoaded(path);
  const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  absl::StatusOr<std::shared_ptr<const MappedFile>> file = MapPipe(from, most, path);
  close(from);
  return file;
}

}  // namespace ashlar
