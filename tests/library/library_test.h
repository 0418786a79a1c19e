// What the tests of the library share: a model in a file, options in one line.
#ifndef ASHLAR_TESTS_LIBRARY_LIBRARY_TEST_H_
#define ASHLAR_TESTS_LIBRARY_LIBRARY_TEST_H_

#include <ashlar/ashlar.hpp>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ashlar::testing {

inline constexpr int kInputs = 3 * 16 * 16, kOutputs = 10;  // of SmallModel(1), floats

// Each test has a file of SmallModel(1).
class LibraryTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  std::string path_;  // of the model
};

// Input of a seed, and what one run makes of it.
std::vector<float> InputOf(int seed);
std::vector<float> RunOnce(Session& session, const std::vector<float>& input);

// Options for so many threads.
ashlar_plan_options Threads(int threads);

// The status of what is thrown; ASHLAR_OK where nothing is.
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

#endif  // ASHLAR_TESTS_LIBRARY_LIBRARY_TEST_H_
