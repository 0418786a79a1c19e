// `plan --validate`, and plans of buffers with given offsets.
#include <gmock/gmock.h>

#include "tests/support/command/command_process.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using PlanValidateTest = CommandTest;

// Regression: all offsets were given, and the arena was called "optimal (meets a fixed offset)".
TEST_F(PlanValidateTest, GivenOffsetsAreMeasuredAgainstTheLivenessBound) {
  const struct {
    const char* rows;
    const char* validated;  // on stdout of --validate
    const char* arena;      // on stdout without it; null: as validated
  } cases[] = {
      {"a,0,2,100,300\nb,1,3,200,100\nc,2,4,100,0\n",
       "valid; arena 400; 1.33 of the liveness bound 300\n",
       "arena 400 bytes, lower bound 400, the smallest that the given offsets allow"},
      {"a,0,2,100,0\nb,1,3,200,100\nc,2,4,100,0\n",
       "valid; arena 300; 1.00 of the liveness bound 300\n",
       "arena 300 bytes, lower bound 300, optimal (meets the liveness bound)"},
      {"a,0,1,0,0\n", "valid; arena 0; 1.00 of the liveness bound 0\n", "arena 0 bytes"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.rows);
    Write("placed.csv", std::string("id,lower,upper,size,offset\n") + test.rows);
    const ProcessResult validated = Ashlar("plan placed.csv --validate");
    ASSERT_EQ(validated.exit_code, 0) << validated.err;
    EXPECT_THAT(validated.out, HasSubstr(test.validated));
    EXPECT_THAT(validated.out, ::testing::Not(HasSubstr("optimal")));
    const ProcessResult planned = Ashlar("plan placed.csv");
    EXPECT_THAT(planned.out, HasSubstr(test.arena));
    EXPECT_EQ(Ashlar("plan placed.csv --validate --json").Json()["liveness_bound_bytes"],
              Ashlar("plan placed.csv --json").Json()["liveness_bound_bytes"]);
  }
}

TEST_F(PlanValidateTest, WhatIsNoPlacementIsRefused) {
  Write("free.csv", "id,lower,upper,size,offset\na,0,2,100,0\nb,1,3,200,\n");
  Write("minus.csv", "id,lower,upper,size,offset\na,0,2,100,0\nb,1,3,200,-1\n");
  Write("overlap.csv", "id,lower,upper,size,offset\na,0,2,100,0\nb,1,3,200,50\n");
  Write("none.csv", "id,lower,upper,size\na,0,2,100\n");
  ExpectEndings("plan --validate ", {{"free.csv", 2, "--validate: id b has no offset"},
                                     {"minus.csv", 2, "--validate: id b has no offset"},
                                     {"none.csv", 2, "--validate: id a has no offset"},
                                     {"overlap.csv", 6, "overlap"},
                                     {"model.ash", 2, "model.ash is no .csv file of buffers"}});
}

}  // namespace
}  // namespace ashlar::testing
