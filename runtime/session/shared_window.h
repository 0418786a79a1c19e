// The memory of a window of streamed weights, and the threads that fill it. Several plans may use
// one window, in turn: the one whose run is on has it alone, until a run of another takes it over.
#ifndef ASHLAR_RUNTIME_SESSION_SHARED_WINDOW_H_
#define ASHLAR_RUNTIME_SESSION_SHARED_WINDOW_H_

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "runtime/device/device.h"

namespace ashlar {

class SharedWindow {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // A plan whose weights are read into the window. Called with the lock of the window.
  class User {
   public:
    // Whether the next read has room.
    virtual bool MayRead() const = 0;
    // Does the next read. Leaves the lock meanwhile.
    virtual void TakeRead(Lock& lock) = 0;

   protected:
    ~User() = default;
  };

  explicit SharedWindow(Device& device) : device_(device) {}
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  Device& device() const { return device_; }
  // Makes the window large enough for one more plan. InvalidArgument if it is in memory already,
  // and smaller.
  absl::Status Reserve(int64_t bytes);
  int64_t reserved() const;

  // A run, and whoever opens or measures the window, holds this one and then may call Allocate,
  // StartThreads, Use and Leave.
  std::mutex& run() { return run_; }
  // Allocates the reserved bytes, with `slack` bytes after them, unless they are in memory.
  absl::Status Allocate(int64_t slack);
  // Null before Allocate.
  const DeviceMemory* memory() const { return memory_.get(); }
  // Starts so many threads, unless there are as many.
  absl::Status StartThreads(int count);
  // Whether the threads are of another process, of which this one is a fork.
  bool IsOfAnotherProcess() const;

  // Takes the window from its user, and waits for the reads in flight.
  void Leave(Lock& lock);
  void Use(User* user) { user_ = user; }
  bool IsUsedBy(const User* user) const { return user_ == user; }

  // The lock of the user's state, and of the members below.
  std::mutex& mutex() { return mutex_; }
  // Waits until no read is in flight. New ones begin only without the lock.
  void WaitForReaders(Lock& lock);
  // Waits until a read has ended.
  void WaitForARead(Lock& lock);
  // Wakes a thread that waits, if it can read.
  void WakeReader();
  void WakeRun();

  int in_flight = 0;  // reads that are taken, and not complete
  int from_disk = 0;  // of these, the ones that wait for the disk
  bool some_sleep() const { return idle_ > 0; }
  bool all_sleep() const { return idle_ == static_cast<int>(threads_.size()); }

 private:
  void ReadAhead();
  bool MayRead() const { return user_ != nullptr && user_->MayRead(); }

  Device& device_;
  std::mutex run_;
  std::unique_ptr<DeviceMemory> memory_;
  std::atomic<pid_t> process_ = 0;  // that has the threads: a fork of it has none

  mutable std::mutex mutex_;
  // Owned. Deleted only where the threads are: they cannot be while a thread waits, as lost ones
  // do.
  std::condition_variable& to_readers_ = *new std::condition_variable;
  std::condition_variable& to_run_ = *new std::condition_variable;
  int64_t bytes_ = 0;       // of the largest window
  User* user_ = nullptr;    // null: nobody reads
  int idle_ = 0;            // threads that wait for to_readers_
  bool run_waits_ = false;  // for to_run_
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_SHARED_WINDOW_H_
