#include "graph/status.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/cord.h"
#include "graph/needed_bytes.h"

namespace ashlar::testing {
namespace {

// Regression: errors lost their payloads on the way, for example the bytes that would do.
TEST(AnnotateTest, KeepsCodeAndPayloads) {
  absl::Status status = DoesNotFit("too large", 7);
  status.SetPayload("other", absl::Cord("value"));
  const absl::Status annotated = Annotate(Annotate(status, "inner"), "outer");
  EXPECT_EQ(annotated.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(annotated.message(), "outer: inner: too large");
  EXPECT_EQ(NeededBytes(annotated), 7);
  EXPECT_EQ(annotated.GetPayload("other"), absl::Cord("value"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "context").ok());
}

}  // namespace
}  // namespace ashlar::testing
