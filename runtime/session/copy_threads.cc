#include "runtime/session/copy_threads.h"

#include <algorithm>
#include <cstring>
#include <system_error>

namespace ashlar {

CopyThreads::CopyThreads(int threads) {
  threads = std::min(threads, kMost);
  for (int thread = 1; thread < threads; ++thread) {
    try {
      threads_.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      break;  // fewer threads copy
    }
  }
}

CopyThreads::~CopyThreads() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CopyThreads::Copy(void* to, const void* from, int64_t bytes) {
  if (threads_.empty() || bytes < kLeast) {
    if (bytes > 0) std::memcpy(to, from, static_cast<size_t>(bytes));
    return;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  to_ = static_cast<char*>(to);
  from_ = static_cast<const char*>(from);
  bytes_ = bytes;
  next_ = 0;
  begun_.notify_all();
  CopyParts(lock);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void CopyThreads::CopyParts(std::unique_lock<std::mutex>& lock) {
  while (next_ < bytes_) {
    const int64_t begin = next_;
    const int64_t bytes = std::min(kPart, bytes_ - begin);
    next_ += bytes;
    ++busy_;
    char* const to = to_ + begin;
    const char* const from = from_ + begin;
    lock.unlock();
    std::memcpy(to, from, static_cast<size_t>(bytes));
    lock.lock();
    --busy_;
  }
  if (busy_ == 0) done_.notify_one();
}

void CopyThreads::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ends_) {
    CopyParts(lock);
    if (!ends_) begun_.wait(lock, [this] { return ends_ || next_ < bytes_; });
  }
}

}  // namespace ashlar
