// Whether this build has a sanitizer. Such builds skip checks of results that a release build makes
// too, if another test runs the same memory accesses: these checks take most of the time and cannot
// find more.
#ifndef ASHLAR_TESTS_SUPPORT_SANITIZED_H_
#define ASHLAR_TESTS_SUPPORT_SANITIZED_H_

namespace ashlar::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_SANITIZED_H_
