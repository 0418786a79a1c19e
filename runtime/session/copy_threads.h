// Copies large tensors with several threads.
#ifndef ASHLAR_RUNTIME_SESSION_COPY_THREADS_H_
#define ASHLAR_RUNTIME_SESSION_COPY_THREADS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace ashlar {

// A pool of copying threads. One thread alone copies some 10 GB a second; a device can take several
// times as much.
class CopyThreads {
 public:
  static constexpr int64_t kPart = int64_t{256} << 10;  // bytes in one piece of a copy
  static constexpr int64_t kLeast = int64_t{1} << 20;   // smallest tensor that threads share
  static constexpr int kMost = 4;                       // enough threads to use all memory
                                                        // bandwidth

  // Uses up to `threads` threads, the caller included; fewer if the system refuses.
  explicit CopyThreads(int threads);
  ~CopyThreads();
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;

  // Copies, and returns when all bytes are copied. Allocates nothing. For one calling thread at a
  // time.
  void Copy(void* to, const void* from, int64_t bytes);

 private:
  void Work();
  // Copies pieces of the current copy until all are started. Called with the lock.
  void CopyParts(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begun_, done_;
  // Guarded by the mutex.
  char* to_ = nullptr;
  const char* from_ = nullptr;
  int64_t bytes_ = 0, next_ = 0;  // of the copy; begin of the next piece
  int busy_ = 0;                  // pieces in progress
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_COPY_THREADS_H_
