#include "runtime/session/shared_window.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "graph/status.h"

namespace ashlar {

SharedWindow::~SharedWindow() {
  if (IsOfAnotherProcess()) {
    for (std::thread& thread : threads_) thread.detach();
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  to_readers_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  delete &to_readers_;
  delete &to_run_;
}

bool SharedWindow::IsOfAnotherProcess() const { return process_ != 0 && process_ != getpid(); }

absl::Status SharedWindow::Reserve(int64_t bytes) {
  const std::lock_guard<std::mutex> run(run_);
  const Lock lock(mutex_);
  if (memory_ != nullptr && bytes > memory_->bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("share: the window that is shared has ", memory_->bytes(),
                     " bytes in memory, and this plan needs ", bytes,
                     "; share before its first session, or plan the larger window first"));
  }
  bytes_ = std::max(bytes_, bytes);
  return absl::OkStatus();
}

int64_t SharedWindow::reserved() const {
  const Lock lock(mutex_);
  return bytes_;
}

absl::Status SharedWindow::Allocate(int64_t slack) {
  if (memory_ != nullptr) return absl::OkStatus();
  ASHLAR_ASSIGN_OR_RETURN(memory_, device_.Allocate(reserved() + slack));
  return absl::OkStatus();
}

absl::Status SharedWindow::StartThreads(int count) {
  const Lock lock(mutex_);
  try {
    while (static_cast<int>(threads_.size()) < count) {
      threads_.emplace_back([this] { ReadAhead(); });
    }
  } catch (const std::system_error& error) {
    if (threads_.empty()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no thread can be started to read weights: ", error.what()));
    }
  }
  if (!threads_.empty()) process_ = getpid();
  return absl::OkStatus();
}

void SharedWindow::ReadAhead() {
  Lock lock(mutex_);
  while (!stop_) {
    if (MayRead()) {
      user_->TakeRead(lock);
      continue;
    }
    ++idle_;
    to_readers_.wait(lock, [&] { return stop_ || MayRead(); });
    --idle_;
  }
}

void SharedWindow::Leave(Lock& lock) {
  user_ = nullptr;
  WaitForReaders(lock);
}

void SharedWindow::WaitForReaders(Lock& lock) {
  run_waits_ = true;
  to_run_.wait(lock, [&] { return in_flight == 0; });
  run_waits_ = false;
}

void SharedWindow::WaitForARead(Lock& lock) {
  run_waits_ = true;
  to_run_.wait(lock);
  run_waits_ = false;
}

void SharedWindow::WakeReader() {
  if (idle_ > 0 && MayRead()) to_readers_.notify_one();
}

void SharedWindow::WakeRun() {
  if (run_waits_) to_run_.notify_one();
}

}  // namespace ashlar
