// Copies of large tensors by several threads.
#ifndef ASHLAR_RUNTIME_SESSION_COPY_THREADS_H_
#define ASHLAR_RUNTIME_SESSION_COPY_THREADS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace ashlar {

// One thread alone copies some 10 GB a second, of which a device takes several times as much.
class CopyThreads {
 public:
  static constexpr int64_t kPart = int64_t{256} << 10;  // bytes that a thread copies at a time
  static constexpr int64_t kLeast = int64_t{1} << 20;   // of a tensor that threads share
  static constexpr int kMost = 4;                       // they have the memory's speed by then

  // With the calling thread so many, if the system has them; none waits where there are none.
  explicit CopyThreads(int threads);
  ~CopyThreads();
  CopyThreads(const CopyThreads&) = delete;
  CopyThreads& operator=(const CopyThreads&) = delete;

  // Returns when all is copied. Allocates nothing. For one thread at a time.
  void Copy(void* to, const void* from, int64_t bytes);

 private:
  void Work();
  // Of the copy that is under way, until nothing is left to begin. Called with the lock.
  void CopyParts(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begun_, done_;
  // Under the mutex.
  char* to_ = nullptr;
  const char* from_ = nullptr;
  int64_t bytes_ = 0, next_ = 0;  // of the copy; where the next part begins
  int busy_ = 0;                  // parts that are under way
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_COPY_THREADS_H_
