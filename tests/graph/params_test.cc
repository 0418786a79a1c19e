#include "graph/params.h"

#include <gtest/gtest.h>

namespace ashlar {
namespace {

// Requests that print alike share kernels, so different parameters must print differently.
TEST(ParamsTest, NearlyEqualNumbersPrintDifferently) {
  const ParamList a = {{"alpha", 1.0000001}}, b = {{"alpha", 1.0000002}};
  EXPECT_NE(ToString(a), ToString(b));
  EXPECT_EQ(ToString(a), "alpha=1.0000001");
}

TEST(ParamsTest, PrintsEveryKindOfValue) {
  const ParamList params = {{"flag", true},
                            {"count", int64_t{-3}},
                            {"mode", std::string("MAX")},
                            {"dims", std::vector<int64_t>{1, 2}}};
  EXPECT_EQ(ToString(params), "flag=true count=-3 mode=MAX dims=[1,2]");
}

struct Param {
  int64_t size = 0;
  double scale = 0;
  template <typename V>
  void Visit(V& v) {
    v("size", size);
    v.Optional("scale", scale, 1.0);
  }
};

TEST(ParamsTest, ReadsWhatItWrites) {
  Param param;
  param.size = 7;
  param.scale = 0.1;
  const auto read = FromParams<Param>(ToParams(param));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->size, 7);
  EXPECT_EQ(read->scale, 0.1);
}

TEST(ParamsTest, RefusesWhatIsMissingUnknownOrOfAnotherType) {
  EXPECT_EQ(FromParams<Param>({}).status().message(), "parameter 'size' is missing");
  EXPECT_EQ(FromParams<Param>({{"size", true}}).status().message(),
            "parameter 'size' has the wrong type");
  EXPECT_EQ(FromParams<Param>({{"size", int64_t{1}}, {"sise", int64_t{1}}}).status().message(),
            "unknown parameter 'sise'");
}

}  // namespace
}  // namespace ashlar
