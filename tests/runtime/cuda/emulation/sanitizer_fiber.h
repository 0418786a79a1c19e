// Tells sanitizers about switches between stacks; without sanitizers it does nothing.
#ifndef ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_SANITIZER_FIBER_H_
#define ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_SANITIZER_FIBER_H_

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace ashlar::testing {

// The record of one stack. Call BeforeLeaving before a switch to another, and AfterEntering after
// it.
class SanitizerFiber {
 public:
  // Sets the range of a stack that is not the thread's own.
  void SetStack([[maybe_unused]] const void* bottom, [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    bottom_ = bottom;
    bytes_ = bytes;
#endif
#if defined(__SANITIZE_THREAD__)
    fiber_ = __tsan_create_fiber(0);
#endif
  }

  void BeforeLeaving([[maybe_unused]] SanitizerFiber& to) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&kept_, to.bottom_, to.bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
    fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.fiber_, 0);
#endif
  }

  void AfterEntering([[maybe_unused]] SanitizerFiber& from) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(kept_, &from.bottom_, &from.bytes_);
    kept_ = nullptr;
#endif
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  const void* bottom_ = nullptr;
  size_t bytes_ = 0;
  void* kept_ = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  void* fiber_ = nullptr;
#endif
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_RUNTIME_CUDA_EMULATION_SANITIZER_FIBER_H_
