#include "graph/comp_node.h"

#include <gtest/gtest.h>

namespace ashlar {
namespace {

TEST(CompNodeTest, Parses) {
  const struct {
    const char* text;
    const char* name;
  } kCases[] = {
      {"cpu", "cpu0:0"},    {"cpu0:0", "cpu0:0"}, {"cpu1", "cpu1:0"},       {"cpux:0", "cpu0:0"},
      {"gpu", "gpu0:0"},    {"gpu2:3", "gpu2:3"}, {"gpux:0", "gpu0:0"},     {"cuda", "gpu0:0"},
      {"cuda:1", "gpu1:0"}, {"cuda1", "gpu1:0"},  {"cpu12:34", "cpu12:34"}, {"mcu", "mcu0:0"},
      {"mcu0:0", "mcu0:0"},
  };
  for (const auto& c : kCases) {
    const absl::StatusOr<CompNode> node = CompNode::Parse(c.text);
    ASSERT_TRUE(node.ok()) << c.text;
    EXPECT_EQ(node->ToString(), c.name) << c.text;
    EXPECT_EQ(*CompNode::Parse(node->ToString()), *node);
  }
}

TEST(CompNodeTest, RefusesOthers) {
  for (const char* text : {"", "tpu0:0", "cpu-1", "cpu0:-1", "cpu0:0:0", "cpu0:", "cpu:", "cpua",
                           "cpu0:x", "cpu99999999999", "cuda:", "cpu 0", "cpu+1"}) {
    EXPECT_FALSE(CompNode::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace ashlar
