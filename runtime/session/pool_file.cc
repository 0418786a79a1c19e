#include "runtime/session/pool_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/file_mapping.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// A file that has no name, or none any more; -1 with errno if it cannot be opened.
class NamelessFile {
 public:
  explicit NamelessFile(const std::string& folder)
      : file_(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    if (file_ >= 0) return;
    std::string name = folder + "/.ashlar.XXXXXX";
    file_ = mkostemp(name.data(), O_CLOEXEC);
    if (file_ >= 0) unlink(name.c_str());
  }
  ~NamelessFile() {
    if (file_ >= 0) close(file_);
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;
  int get() const { return file_; }

  bool Write(int64_t offset, const void* data, int64_t bytes) const {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = pwrite(file_, next, static_cast<size_t>(bytes), offset);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      next += written;
      offset += written;
      bytes -= written;
    }
    return true;
  }

 private:
  int file_;
};

// A full disk must not look like a plan that does not fit, which ResourceExhausted means.
absl::Status Error(const std::string& folder, int64_t bytes) {
  const absl::Status status = absl::ErrnoToStatus(
      errno, absl::StrCat(folder, ": cannot write ", bytes, " bytes of packed weights"));
  return absl::IsResourceExhausted(status) ? absl::UnavailableError(status.message()) : status;
}

}  // namespace

absl::Status PackIntoFile(const std::string& folder, PackedModel& packed) {
  const int64_t bytes = packed.pool_bytes;
  if (bytes == 0) return absl::OkStatus();
  const NamelessFile file(folder);
  if (file.get() < 0 || ftruncate(file.get(), bytes) != 0) return Error(folder, bytes);
  ASHLAR_RETURN_IF_ERROR(packed.pack([&](int64_t offset, const void* data, int64_t size) {
    return file.Write(offset, data, size) ? absl::OkStatus() : Error(folder, bytes);
  }));
  void* const data =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return Error(folder, bytes);
  packed.owner = std::make_shared<const FileMapping>(data, bytes, folder);
  packed.pool = data;
  packed.pack = nullptr;
  return absl::OkStatus();
}

}  // namespace ashlar
