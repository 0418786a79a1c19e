// Shared helpers of the library's tests: a model in a file, options in one line.
#ifndef ASHLAR_TESTS_LIBRARY_C_LIBRARY_TEST_H_
#define ASHLAR_TESTS_LIBRARY_C_LIBRARY_TEST_H_

#include <ashlar/ashlar.hpp>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ashlar::testing {

inline constexpr int kInputs = 3 * 16 * 16, kOutputs = 10;  // of SmallModel(1), floats

// A fixture that gives each test a file of SmallModel(1).
class LibraryTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::string path_;  // of the model
};

// Returns the input of a seed, and the result of one run.
std::vector<float> InputOf(int seed);
std::vector<float> RunOnce(Session& session, const std::vector<float>& input);

// Returns options for so many threads.
ashlar_plan_options Threads(int threads);

// Returns the status of the error thrown by `body`; ASHLAR_OK if none is thrown.
template <typename Body>
ashlar_status StatusOf(const Body& body) {
  try {
    body();
    return ASHLAR_OK;
  } catch (const Error& error) {
    return error.status;
  }
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_LIBRARY_C_LIBRARY_TEST_H_
