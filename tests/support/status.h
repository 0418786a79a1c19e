// Checks of absl::Status.
#ifndef ASHLAR_TESTS_SUPPORT_STATUS_H_
#define ASHLAR_TESTS_SUPPORT_STATUS_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ashlar::testing {

inline ::testing::AssertionResult IsOk(const absl::Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.ToString();
}

// Returns whether the status is an error whose message contains `part`.
inline ::testing::AssertionResult FailsWith(const absl::Status& status, const std::string& part) {
  if (status.ok()) return ::testing::AssertionFailure() << "no error, expected '" << part << "'";
  if (std::string(status.message()).find(part) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "'" << status.message() << "', expected an error with '" << part << "'";
}

// Returns the value, which must exist: use it if an error means a broken test.
template <typename T>
T Value(absl::StatusOr<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << result.status().ToString();
    std::abort();
  }
  return *std::move(result);
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_STATUS_H_
