#include "tests/support/fuse_file.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace ashlar::testing {
namespace {

constexpr int kThreads = 8;               // so many reads can be in flight
constexpr uint64_t kRoot = 1, kFile = 2;  // nodes
constexpr size_t kMostWritten = 4096;     // nobody writes
constexpr size_t kRequest = 1 << 17;      // bytes, more than any

fuse_attr AttributesOf(uint64_t node, size_t size) {
  fuse_attr attributes = {};
  attributes.ino = node;
  attributes.size = node == kFile ? size : 0;
  attributes.blocks = (attributes.size + 511) / 512;
  attributes.mode = node == kFile ? S_IFREG | 0644 : S_IFDIR | 0755;
  attributes.nlink = 1;
  attributes.blksize = 4096;
  return attributes;
}

}  // namespace

std::unique_ptr<FuseFile> FuseFile::Mount(const std::string& folder, std::string content,
                                          const std::string& name) {
  const int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return nullptr;
  // Mounts of this thread's own end with the process, however it ends.
  const std::string options = "fd=" + std::to_string(device) +
                              ",rootmode=40000,user_id=" + std::to_string(getuid()) +
                              ",group_id=" + std::to_string(getgid());
  const bool mounted =
      unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
      mount("ashlar", folder.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  if (mounted)
    return std::unique_ptr<FuseFile>(new FuseFile(device, folder, std::move(content), name));
  close(device);
  return nullptr;
}

FuseFile::FuseFile(int device, std::string folder, std::string content, std::string name)
    : device_(device),
      folder_(std::move(folder)),
      content_(std::move(content)),
      name_(std::move(name)) {
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this] { Serve(); });
}

FuseFile::~FuseFile() {
  umount2(folder_.c_str(), MNT_FORCE);  // then nothing more comes from the device
  umount2(folder_.c_str(), MNT_DETACH);
  for (std::thread& thread : threads_) thread.join();
  close(device_);
}

void FuseFile::DropFromCache() const {
  const int file = open(path().c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
}

void FuseFile::Serve() {
  std::vector<char> request(kRequest);
  for (;;) {
    const int64_t bytes = read(device_, request.data(), request.size());
    if (bytes >= static_cast<int64_t>(sizeof(fuse_in_header))) {
      Answer(request.data(), bytes);
    } else if (bytes < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT) {
      return;  // unmounted
    }
  }
}

void FuseFile::Answer(const char* request, int64_t bytes) {
  fuse_in_header header;
  std::memcpy(&header, request, sizeof(header));
  const char* const body = request + sizeof(header);
  switch (header.opcode) {
    case FUSE_INIT: {
      fuse_init_in given = {};
      std::memcpy(&given, body,
                  std::min(sizeof(given), static_cast<size_t>(bytes) - sizeof(header)));
      fuse_init_out out = {};
      out.major = FUSE_KERNEL_VERSION;
      out.minor = std::min<uint32_t>(given.minor, FUSE_KERNEL_MINOR_VERSION);
      out.max_readahead = given.max_readahead;
      out.flags = given.flags & FUSE_ASYNC_READ;
      out.max_background = kThreads;
      out.max_write = kMostWritten;
      return Reply(header.unique, 0, &out, sizeof(out));
    }
    case FUSE_LOOKUP: {
      if (name_ != body) return Reply(header.unique, -ENOENT, nullptr, 0);
      fuse_entry_out out = {};
      out.nodeid = kFile;
      out.attr = AttributesOf(kFile, content_.size());
      return Reply(header.unique, 0, &out, sizeof(out));
    }
    case FUSE_GETATTR: {
      fuse_attr_out out = {};
      out.attr = AttributesOf(header.nodeid, content_.size());
      return Reply(header.unique, 0, &out, sizeof(out));
    }
    case FUSE_OPEN: {
      const fuse_open_out out = {};
      return Reply(header.unique, 0, &out, sizeof(out));
    }
    case FUSE_READ: {
      fuse_read_in read;
      std::memcpy(&read, body, sizeof(read));
      return Read(header.unique, static_cast<int64_t>(read.offset), read.size);
    }
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
      return;  // nobody waits for an answer
    case FUSE_RELEASE:
    case FUSE_FLUSH:
      return Reply(header.unique, 0, nullptr, 0);
    default:
      return Reply(header.unique, -ENOSYS, nullptr, 0);
  }
}

bool FuseFile::IsNextBad() {
  int left = reads_until_error;
  while (left > 0 && !reads_until_error.compare_exchange_weak(left, left - 1)) {
  }
  return left == 0;
}

void FuseFile::Read(uint64_t unique, int64_t offset, int64_t bytes) {
  ++reads_;
  ++in_flight_;
  if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
  for (int waited = 0; waited < 2000 && in_flight_ < together; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (in_flight_ >= together) together = 0;
  const bool fails = IsNextBad();
  const auto size = static_cast<int64_t>(content_.size());
  const int64_t begin = std::min(offset, size);
  --in_flight_;
  if (fails) return Reply(unique, -EIO, nullptr, 0);
  Reply(unique, 0, content_.data() + begin, static_cast<size_t>(std::min(bytes, size - begin)));
}

void FuseFile::Reply(uint64_t unique, int error, const void* data, size_t bytes) const {
  fuse_out_header header = {};
  header.unique = unique;
  header.error = error;
  header.len = static_cast<uint32_t>(sizeof(header) + bytes);
  const iovec parts[] = {{&header, sizeof(header)}, {const_cast<void*>(data), bytes}};
  // An error means that nobody waits any more.
  [[maybe_unused]] const int64_t written = writev(device_, parts, bytes > 0 ? 2 : 1);
}

bool CanLoadPages() {
  constexpr size_t kPage = 4096;
  void* const page = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool can = madvise(page, kPage, 22) == 0;
  munmap(page, kPage);
  return can;
}

}  // namespace ashlar::testing
