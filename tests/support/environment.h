// How much a test tries, as the environment says: ASHLAR_RANDOM_CASES graphs, ASHLAR_RANDOM_SEED
// alone, and with ASHLAR_LONG_TESTS=1 all cases that take minutes together (scripts/nightly.sh).
#ifndef ASHLAR_TESTS_SUPPORT_ENVIRONMENT_H_
#define ASHLAR_TESTS_SUPPORT_ENVIRONMENT_H_

#include <cstdint>
#include <cstdlib>

namespace ashlar::testing {

// The number that a variable holds; `usual` where it is not set.
inline int64_t NumberFrom(const char* variable, int64_t usual) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : usual;
}

// Whether cases run that take long and whose kind a shorter case tests, too.
inline bool LongTests() { return NumberFrom("ASHLAR_LONG_TESTS", 0) > 0; }
inline constexpr char kTakesLong[] = "takes long: ASHLAR_LONG_TESTS=1 has it run";

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_ENVIRONMENT_H_
