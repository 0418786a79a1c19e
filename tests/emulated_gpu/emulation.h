// Shared state of the emulated libraries: one lock, the machine, counts of calls and objects,
// misuse.
#ifndef ASHLAR_TESTS_EMULATED_GPU_EMULATION_H_
#define ASHLAR_TESTS_EMULATED_GPU_EMULATION_H_

#include <mutex>
#include <string>

#include "tests/emulated_gpu/control.h"

namespace ashlar::emulated {

const Machine& TheMachine();
// Begins work on the device, which dies of it if the machine says so. Returns false if it is dead.
bool BeginWork();

// Notes a misuse by work that an earlier call enqueued.
void NoteMisuse(const std::string& what);

// One call of a library's function: holds the lock, and is counted.
class Call {
 public:
  explicit Call(const char* function);
  // Returns whether a test wants the call to fail.
  bool fails() const { return fails_; }
  const char* function() const { return function_; }
  // Notes a misuse of the function.
  void Misuse(const std::string& what) const;

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  const char* function_;
  bool fails_ = false;
};

// Marks its object as used during its lifetime: use by two threads at once is a misuse of the
// function. Make it before the Call, whose lock would serialise the threads.
class Exclusive {
 public:
  // `object` may be null: nothing is marked.
  Exclusive(const char* function, const void* object);
  ~Exclusive();
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  const void* object_;
};

// Counts an object of a kind during its lifetime.
class Counted {
 public:
  explicit Counted(const char* kind);
  ~Counted();
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  const char* kind_;
};

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_EMULATION_H_
