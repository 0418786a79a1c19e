#include "serialization/file_reader.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "graph/file_mapping.h"

namespace ashlar {
namespace {

// Bytes that one read of the disk adds to the system's cache meanwhile. A control group is charged
// for all reads in flight, and cannot drop these bytes.
constexpr int64_t kPiece = 256 << 10;
constexpr int64_t kPieceAmongCached = 64 << 10;
constexpr int64_t kPage = 4096;

}  // namespace

FileStamp StampOf(const struct stat& info) {
  return {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino), info.st_size,
          info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

absl::StatusOr<std::unique_ptr<const FileReader>> FileReader::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot open"));
  // Otherwise the system guesses which bytes are read next, and caches them, too.
  posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
  return std::unique_ptr<const FileReader>(new FileReader(file, path));
}

FileReader::~FileReader() { close(file_); }

absl::StatusOr<FileStamp> FileReader::Stamp() const {
  struct stat info;
  if (fstat(file_, &info) == 0) return StampOf(info);
  return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": cannot stat"));
}

void FileReader::DropFromCache() const {
  fdatasync(file_);  // pages that are not on the disk yet would stay
  posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
}

int64_t FileReader::ReadCached(int64_t offset, int64_t bytes, void* to) const {
  int64_t done = 0;
  while (done < bytes) {
    const iovec piece = {static_cast<char*>(to) + done, static_cast<size_t>(bytes - done)};
    const int64_t got = preadv2(file_, &piece, 1, offset + done, RWF_NOWAIT);
    if (got <= 0) break;
    done += got;
  }
  return done;
}

// Whether the system has cached some of the bytes; false where it does not tell (before Linux 6.5).
bool FileReader::HasCached(int64_t offset, int64_t bytes) const {
  constexpr int64_t kCachestat = 451;  // the call's number, on all architectures
  const struct {
    uint64_t offset, bytes;
  } range = {static_cast<uint64_t>(offset), static_cast<uint64_t>(bytes)};
  struct {
    uint64_t cached, dirty, writeback, evicted, recently_evicted;
  } pages = {};
  return syscall(kCachestat, file_, &range, &pages, 0) == 0 && pages.cached > 0;
}

// Reads from the cache if the bytes are there. Otherwise reads them from the disk, and then removes
// them from the cache. Between cached bytes it reads smaller pieces, and so keeps most of these.
int64_t FileReader::ReadPiece(int64_t offset, int64_t bytes, void* to) const {
  const int64_t cached = ReadCached(offset, bytes, to);
  if (cached > 0) return cached;
  if (bytes > kPieceAmongCached && HasCached(offset, bytes)) bytes = kPieceAmongCached;
  const int64_t got = pread(file_, to, static_cast<size_t>(bytes), offset);
  if (got > 0) {
    const int64_t begin = offset / kPage * kPage, end = (offset + got + kPage - 1) / kPage * kPage;
    posix_fadvise(file_, begin, end - begin, POSIX_FADV_DONTNEED);
  }
  return got;
}

absl::Status FileReader::Read(int64_t offset, int64_t bytes, void* to) const {
  for (int64_t done = 0; done < bytes;) {
    const int64_t got =
        ReadPiece(offset + done, std::min(bytes - done, kPiece), static_cast<char*>(to) + done);
    if (got > 0) done += got;
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    const int error = errno;
    const std::string what =
        absl::StrCat(path_, ": read ", done, " bytes at offset ", offset, ", expected ", bytes);
    return DamagedFile(
        got < 0 ? absl::ErrnoToStatus(error, what)
                : absl::DataLossError(absl::StrCat(what, ": the file is shorter than it was")));
  }
  return absl::OkStatus();
}

}  // namespace ashlar
