#include "tests/library/c/library_test.h"

#include <cstdio>
#include <random>

#include "serialization/native/writer.h"
#include "tests/support/command/small_model.h"

namespace ashlar::testing {

void LibraryTest::SetUp() {
  const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  path_ = ::testing::TempDir() + "/library_" + test->name() + ".ash";
  const absl::Status written = WriteModel(SmallModel(1), path_);
  ASSERT_TRUE(written.ok()) << written;
}

void LibraryTest::TearDown() { std::remove(path_.c_str()); }

std::vector<float> InputOf(int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> input(kInputs);
  for (float& x : input) x = value(random);
  return input;
}

std::vector<float> RunOnce(Session& session, const std::vector<float>& input) {
  std::vector<float> output(kOutputs, -1);
  session.Input(input.data(), input.size()).Output(output.data(), output.size()).Run();
  return output;
}

ashlar_plan_options Threads(int threads) {
  auto options = Sized<ashlar_plan_options>();
  options.threads = threads;
  return options;
}

}  // namespace ashlar::testing
