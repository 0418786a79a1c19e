// Files that a reader must refuse, each with a part of the error.
#ifndef ASHLAR_TESTS_SERIALIZATION_BAD_FILES_H_
#define ASHLAR_TESTS_SERIALIZATION_BAD_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"

namespace ashlar::testing {

struct BadFile {
  const char* name;
  std::string content;
  const char* message;
};

// `read` returns the status of reading a content; errors name `file`.
template <typename Read>
void ExpectRefused(const std::vector<BadFile>& files, const char* file, Read read) {
  for (const BadFile& bad : files) {
    SCOPED_TRACE(bad.name);
    const absl::Status status = read(bad.content);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(bad.message));
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(file));
  }
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_BAD_FILES_H_
