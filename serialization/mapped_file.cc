#include "serialization/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "graph/host_memory.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// The system maps up to so many bytes around a page that is read, if it has them cached.
constexpr std::ptrdiff_t kAround = 2 << 20;

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  return Map(fd, path, /*keep=*/true);
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Map(int fd, const std::string& path) {
  return Map(fd, path, /*keep=*/false);
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Map(int fd, const std::string& path,
                                                                  bool keep) {
  struct stat info;
  absl::Status status;
  void* data = nullptr;
  if (fstat(fd, &info) != 0) {
    status = absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot stat"));
  } else if (!S_ISREG(info.st_mode)) {
    status = absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  } else if (info.st_size > 0) {
    data = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      status = errno == ENOMEM ? NoHostMemory(absl::StrCat(path, ": cannot map"), info.st_size)
                               : absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot map"));
    }
  }
  if (!keep || !status.ok()) {
    close(fd);
    fd = -1;
  }
  if (!status.ok()) return status;
  return std::shared_ptr<const MappedFile>(new MappedFile(fd, data, path, StampOf(info)));
}

MappedFile::~MappedFile() {
  if (file_ >= 0) close(file_);
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::OpenLoaded(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, Open(path));
  constexpr size_t kPiece = 1 << 20;
  const absl::Span<const uint8_t> all = file->bytes();
  for (size_t at = 0; at < all.size(); at += kPiece) {
    const absl::Span<const uint8_t> piece = all.subspan(at, kPiece);
    const auto bytes = static_cast<int64_t>(piece.size());
    ASHLAR_RETURN_IF_ERROR(file->Load(piece.data(), bytes));
    file->DropResidentPages(piece.data(), bytes);
  }
  return file;
}

absl::Status MappedFile::Read(const void* data, int64_t bytes, void* to) const {
  if (file_ < 0) {
    ASHLAR_RETURN_IF_ERROR(Load(data, bytes));
    std::memcpy(to, data, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  const std::ptrdiff_t offset = static_cast<const uint8_t*>(data) - this->bytes().data();
  for (int64_t done = 0; done < bytes;) {
    const ssize_t got = pread(file_, static_cast<uint8_t*>(to) + done,
                              static_cast<size_t>(bytes - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return mapping_.CannotRead(data, bytes);
    done += got;
  }
  return absl::OkStatus();
}

absl::Status MappedFile::Cache(const void* data, int64_t bytes) const {
  char copy[4096];
  for (int64_t done = 0; done < bytes;) {
    const auto piece = std::min<int64_t>(bytes - done, sizeof(copy));
    ASHLAR_RETURN_IF_ERROR(Read(static_cast<const char*>(data) + done, piece, copy));
    done += piece;
  }
  return absl::OkStatus();
}

void MappedFile::DropResidentPages() const {
  // Nothing is lost, because the mapping is private and never written.
  if (mapping_.bytes() == 0) return;
  madvise(const_cast<void*>(mapping_.data()), static_cast<size_t>(mapping_.bytes()), MADV_DONTNEED);
}

void MappedFile::DropResidentPages(const void* data, int64_t bytes) const {
  const uint8_t* const first = static_cast<const uint8_t*>(data);
  const absl::Span<const uint8_t> all = this->bytes();
  if (bytes <= 0 || first < all.data() || first + bytes > all.data() + all.size()) return;
  const uint8_t* const begin = first - std::min<std::ptrdiff_t>(kAround, first - all.data());
  const std::ptrdiff_t behind = all.data() + all.size() - (first + bytes);
  const uint8_t* const end = first + bytes + std::min<std::ptrdiff_t>(kAround, behind);
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t whole = reinterpret_cast<uintptr_t>(begin) / page * page;
  madvise(reinterpret_cast<void*>(whole), reinterpret_cast<uintptr_t>(end) - whole, MADV_DONTNEED);
}

}  // namespace ashlar
