#include "serialization/standard_input.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/status.h"

namespace ashlar {
namespace {

constexpr char kName[] = "standard input";

absl::Status WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return absl::ErrnoToStatus(errno, absl::StrCat(kName, ": cannot keep"));
    data += written;
    size -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status CopyTo(int fd, int64_t most) {
  std::vector<char> buffer(1 << 16);
  for (int64_t total = 0;;) {
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, absl::StrCat(kName, ": cannot read"));
    if (count == 0) return absl::OkStatus();
    total += count;
    if (total > most) {
      return absl::InvalidArgumentError(absl::StrCat(kName, ": more than ", most, " bytes"));
    }
    ASHLAR_RETURN_IF_ERROR(WriteAll(fd, buffer.data(), static_cast<size_t>(count)));
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MapStandardInput(int64_t most) {
  const int fd = memfd_create(kName, MFD_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(kName, ": cannot keep"));
  if (absl::Status status = CopyTo(fd, most); !status.ok()) {
    close(fd);
    return status;
  }
  return MappedFile::Map(fd, kName);
}

}  // namespace ashlar
