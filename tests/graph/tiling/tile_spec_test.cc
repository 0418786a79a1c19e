#include "graph/tiling/tile_spec.h"

#include <gtest/gtest.h>

#include "tests/support/refused_texts.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

TEST(TileSpecTest, TextAndSpecAreTheSame) {
  for (const char* text :
       {"", "2-180:batch10", "2-180:batch10(2-96:lines14;96-117:rows2)", "0-7:grid4x3;7-9:rows5",
        "1-2:inputgrid4x4", "0-9:rolling4;9-12:rows2", "0-9:lines4~3~5;9-12:rolling2~10",
        "0-9:batch2(0-9:batch3(0-9:rows4))", "0+4+2-9+7:rolling8~5;9+7-12:rows2"}) {
    EXPECT_EQ(testing::Value(TileSpec::Parse(text)).ToString(), text);
  }
}

TEST(TileSpecTest, SpellingsOfEarlierVersionsAreAccepted) {
  EXPECT_EQ(testing::Value(TileSpec::Parse("0-9:ebb4;9-12:rows2")).ToString(),
            "0-9:rolling4;9-12:rows2");
}

TEST(TileSpecTest, ErrorsSayWhereAndWhatIsExpected) {
  const std::vector<testing::RefusedText> texts = {
      {"x", "expected an operator's id at character 1"},
      {"1:rows2", "expected '-' at character 2"},
      {"1-2", "expected ':' at character 4"},
      {"1-2:slices3", "expected a kind of tiles at character 5"},
      {"1-2:rows0", "expected a number of parts at character 9"},
      {"1-2:rows", "expected a number of parts"},
      {"1-2:rows99999999999999999999", "expected a number of parts"},
      {"1-2:grid4", "expected 'x'"},
      {"1-2:rows2)", "expected ';' or the end"},
      {"1-2:batch2(1-2:rows2", "expected ')'"},
      {"1-2:lines2(1-2:rows2)", "lines have no segments inside"},
      {"1-2:lines2~", "expected an operator's id at character 12"},
      {"1-2:rows2~1", "expected ';' or the end"},
      {"1+-2:rows2", "expected an operator's id at character 3"},
      {"1-2+:rows2", "expected an operator's id at character 5"},
      {"1-2:rows2;", "expected an operator's id at character 11"},
      {"1-2:batch2(1-2:batch2(1-2:batch2(1-2:batch2(1-2:rows2))))", "nested too deeply"},
  };
  testing::ExpectTextsRefused(
      texts, [](const std::string& text) { return TileSpec::Parse(text).status(); });
}

}  // namespace
}  // namespace ashlar
