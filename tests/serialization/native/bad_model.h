// Reading model files that must be refused.
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

// What one reading may ask of the heap, all its allocations added up: so much for each byte of the
// file, and what small messages and containers take.
inline constexpr int64_t kHeapPerByte = 64, kHeapBesides = 64 << 10;

// Reads, and expects it to stay within the bound.
absl::Status ReadBounded(const std::string& file, int64_t heap_besides = kHeapBesides);

// Whether `status` is InvalidArgument, names the file and contains `message`.
::testing::AssertionResult Refused(const absl::Status& status, const std::string& message);

// A change to the good model, and a part of the error.
struct BadModel {
  const char* name;
  std::function<void(RawModel&)> change;
  const char* message;
};
void ExpectRefused(const std::vector<BadModel>& cases);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_NATIVE_BAD_MODEL_H_
