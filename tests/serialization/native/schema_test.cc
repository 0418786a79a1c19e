#include <gtest/gtest.h>

#include <iterator>

#include "graph/shape.h"
#include "serialization/native/model_generated.h"

namespace ashlar {
namespace {

// Files contain format numbers: they must never change, and the schema must name each.
TEST(NativeSchema, FormatsKeepTheirNumbersAndHaveNames) {
  constexpr const char* kNames[] = {"NCHW", "NCHW16c", "NHCW16c", "NHWC"};
  static_assert(std::size(kNames) == kNumFormats);
  for (int i = 0; i < kNumFormats; ++i) {
    EXPECT_STREQ(fbs::EnumNameFormat(static_cast<fbs::Format>(i)), kNames[i]);
    EXPECT_EQ(Name(static_cast<Format>(i)), kNames[i]);
  }
}

}  // namespace
}  // namespace ashlar
