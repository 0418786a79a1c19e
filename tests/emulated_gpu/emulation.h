// What the emulated libraries share: one lock, the machine, counts of calls and objects, misuse.
#ifndef ASHLAR_TESTS_EMULATED_GPU_EMULATION_H_
#define ASHLAR_TESTS_EMULATED_GPU_EMULATION_H_

#include <mutex>
#include <string>

#include "tests/emulated_gpu/control.h"

namespace ashlar::emulated {

const Machine& TheMachine();
// Work on the device begins: it dies of it where it is to. False where it is dead.
bool BeginWork();

// Notes a misuse by work that a call handed over earlier.
void NoteMisuse(const std::string& what);

// One call of a library's function: holds the lock, and is counted.
class Call {
 public:
  explicit Call(const char* function);
  // Whether a test wants it to fail.
  bool fails() const { return fails_; }
  const char* function() const { return function_; }
  // Notes a misuse of the function.
  void Misuse(const std::string& what) const;

 private:
  std::lock_guard<std::recursive_mutex> lock_;
  const char* function_;
  bool fails_ = false;
};

// While it lives its object is used: by two threads at once is a misuse of the function. Made
// before the Call, which would let them wait for each other.
class Exclusive {
 public:
  // `object` may be null: nothing is used.
  Exclusive(const char* function, const void* object);
  ~Exclusive();
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  const void* object_;
};

// Counts an object of a kind as long as it lives.
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
