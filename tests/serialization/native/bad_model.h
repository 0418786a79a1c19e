// Reads model files that must be refused.
#ifndef ASHLAR_TESTS_SERIALIZATION_NATIVE_BAD_MODEL_H_
#define ASHLAR_TESTS_SERIALIZATION_NATIVE_BAD_MODEL_H_

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/serialization/native/raw_model.h"

namespace ashlar::testing {

inline constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// The limit on heap bytes of one reading, summed over all allocations: so much for each byte of the
// file, plus an allowance for small messages and containers.
inline constexpr int64_t kHeapPerByte = 64, kHeapBesides = 64 << 10;

// Reads the file, and expects the allocations to stay within the limit.
absl::Status ReadBounded(const std::string& file, int64_t heap_besides = kHeapBesides);

// Returns whether `status` is InvalidArgument, names the file and contains `message`.
::testing::AssertionResult Refused(const absl::Status& status, const std::string& message);

// A change to a valid model, and a part of the error.
struct BadModel {
  const char* name;
  std::function<void(RawModel&)> change;
  const char* message;
};
void ExpectRefused(const std::vector<BadModel>& cases);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_NATIVE_BAD_MODEL_H_
