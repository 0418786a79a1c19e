// An execution context: a stack, and the place on it where its thread of work continues.
//
// The first switch to a context is setcontext's. Later ones are _longjmp's, which saves no signal
// mask: swapcontext's two system calls took four fifths of the time of emulated blocks. Sanitizers
// follow only swapcontext.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_CONTEXT_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_CONTEXT_H_

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>

namespace ashlar::testing {

class Context {
 public:
  // The context of the caller's own stack.
  Context() = default;
  // A context on `stack`. It begins in `main` at the first switch to it.
  Context(void (*main)(), void* stack, size_t bytes) : begun_(false) {
    getcontext(&begin_);
    begin_.uc_stack.ss_sp = stack;
    begin_.uc_stack.ss_size = bytes;
    begin_.uc_link = nullptr;
    makecontext(&begin_, main, 0);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Leaves this context, which is running, for another one. Returns when that or another context
  // switches back.
  void SwitchTo(Context& other) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    swapcontext(&begin_, &other.begin_);
#else
    if (_setjmp(place_) != 0) return;
    if (other.begun_) _longjmp(other.place_, 1);
    other.begun_ = true;
    setcontext(&other.begin_);
#endif
  }

 private:
  ucontext_t begin_ = {};
  jmp_buf place_ = {};
  bool begun_ = true;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_CONTEXT_H_
