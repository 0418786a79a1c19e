// Whether this build has a sanitizer. Checks of results that a release build makes, on code whose
// accesses another test makes here, are left out there: they take most of the time and can find
// nothing.
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
