// A file on a disk that is slow, or fails: a file system in user space (the FUSE protocol of
// linux/fuse.h) that this process serves.
#ifndef ASHLAR_TESTS_SUPPORT_FUSE_FILE_H_
#define ASHLAR_TESTS_SUPPORT_FUSE_FILE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace ashlar::testing {

class FuseFile {
 public:
  // Mounts a file system with one file over an existing folder. Only the calling thread sees it,
  // and threads and processes that it starts later. Null if nothing can be mounted here.
  static std::unique_ptr<FuseFile> Mount(const std::string& folder, std::string content,
                                         const std::string& name = "file.ash");
  ~FuseFile();

  std::string path() const { return folder_ + "/" + name_; }
  // Makes the system read from the disk what it has cached of the file.
  void DropFromCache() const;

  std::atomic<int> delay_ms = 0;            // of each read
  std::atomic<int> reads_until_error = -1;  // then reads fail with EIO, until this is -1 again
  std::atomic<int> together = 0;  // reads wait until so many are in flight, or two seconds

  int reads() const { return reads_; }

 private:
  FuseFile(int device, std::string folder, std::string content, std::string name);
  void Serve();
  void Answer(const char* request, int64_t bytes);
  bool IsNextBad();
  void Read(uint64_t unique, int64_t offset, int64_t bytes);
  void Reply(uint64_t unique, int error, const void* data, size_t bytes) const;

  const int device_;
  const std::string folder_, content_, name_;
  std::atomic<int> reads_ = 0, in_flight_ = 0;
  std::vector<std::thread> threads_;
};

// Whether the system has MADV_POPULATE_READ.
bool CanLoadPages();

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_FUSE_FILE_H_
