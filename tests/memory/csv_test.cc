#include "memory/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "memory/planner.h"
#include "tests/support/refused_texts.h"

namespace ashlar::memory {
namespace {

using ::ashlar::testing::ExpectTextsRefused;
using ::ashlar::testing::RefusedText;
using ::testing::ElementsAre;

absl::StatusOr<CsvProblem> Read(const std::string& text) {
  std::istringstream in(text);
  return ReadCsv(in, "x.csv");
}

TEST(CsvTest, ReadsColumnsInAnyOrder) {
  const auto csv = Read(
      "\xEF\xBB\xBFsize, id ,upper,lower,offset,alignment\r\n"
      "100,a,7,3,,\r\n"
      "\r\n"
      "50,\"b, \"\"c\"\"\",9,-2,64,32\r\n");
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_THAT(csv->ids, ElementsAre("a", "b, \"c\""));
  const Buffer& a = csv->problem.buffers[0];
  EXPECT_EQ(a.size, 100);
  EXPECT_EQ(a.lower, 3);
  EXPECT_EQ(a.upper, 7);
  EXPECT_EQ(a.alignment, 1);
  EXPECT_EQ(a.offset, std::nullopt);
  const Buffer& b = csv->problem.buffers[1];
  EXPECT_EQ(b.lower, -2);
  EXPECT_EQ(b.alignment, 32);
  EXPECT_EQ(b.offset, 64);
}

TEST(CsvTest, AnOffsetOfMinusOneIsFreeAsInTheLibrary) {
  const auto csv = Read("id,lower,upper,size,offset\na,0,1,8,-1\nb,0,1,8,\nc,0,1,8,16\n");
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_EQ(csv->problem.buffers[0].offset, std::nullopt);
  EXPECT_EQ(csv->problem.buffers[1].offset, std::nullopt);
  EXPECT_EQ(csv->problem.buffers[2].offset, 16);
  EXPECT_FALSE(Read("id,lower,upper,size,offset\na,0,1,8,-2\n").ok());
}

TEST(CsvTest, NumericIdsAreKept) {
  const auto csv = Read("id,lower,upper,size\n900,0,1,2\n");
  ASSERT_TRUE(csv.ok());
  EXPECT_EQ(csv->problem.buffers[0].id, 900);
}

TEST(CsvTest, HeaderAloneIsAnEmptyProblem) {
  const auto csv = Read("id,lower,upper,size");
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_TRUE(csv->problem.buffers.empty());
}

TEST(CsvTest, WritesWhatItReads) {
  auto csv = Read("id,lower,upper,size\n\"x,\"\"y\",0,2,8\n7,1,3,4\n");
  ASSERT_TRUE(csv.ok());
  Plan plan;
  plan.offsets = {4, 0};
  std::ostringstream out;
  ASSERT_TRUE(WriteCsv(*csv, plan, out).ok());
  EXPECT_EQ(out.str(), "id,lower,upper,size,offset\n\"x,\"\"y\",0,2,8,4\n7,1,3,4,0\n");
  const auto again = Read(out.str());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ids, csv->ids);
  EXPECT_EQ(PlanMemory(again->problem)->plan.offsets, plan.offsets);
  EXPECT_FALSE(WriteCsv(*csv, Plan{}, out).ok());
}

// Lifetimes overlap when a buffer takes over bytes: the columns inside and at express it.
TEST(CsvTest, WhatLiesInsideOfOthersIsTied) {
  const std::string text =
      "id,name,lower,upper,size,alignment,group,inside,at,offset\n"
      "1,left,0,3,64,64,1,3,0,128\n"
      "2,right,1,3,64,64,1,3,64,192\n"
      "3,\"both, whole\",2,5,128,64,1,,,128\n"
      "4,heir,4,6,64,64,1,3,64,192\n"
      "5,alone,0,6,100,64,5,,,0\n";
  const auto csv = Read(text);
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_THAT(csv->names, ElementsAre("left", "right", "both, whole", "heir", "alone"));
  ASSERT_EQ(csv->problem.inside.size(), 3u);
  EXPECT_EQ(csv->problem.inside[2].inner, 3);
  EXPECT_EQ(csv->problem.inside[2].outer, 2);
  EXPECT_EQ(csv->problem.inside[2].offset, 64);
  const auto plan = PlanMemory(csv->problem);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->plan.arena, 256);
  std::ostringstream out;
  ASSERT_TRUE(WriteCsv(*csv, plan->plan, out).ok());
  EXPECT_EQ(out.str(), text);
}

TEST(CsvTest, TiesThatCannotBeAreRejected) {
  const std::string header = "id,lower,upper,size,inside,at,group\n";
  const std::vector<RefusedText> texts = {
      {header + "a,0,2,8,b,0,\n", "x.csv:2: id \"a\" lies inside of \"b\", which is no id"},
      {header + "a,0,2,8,a,0,\n", "which is itself"},
      {header + "a,0,2,8,b,1,\nb,1,3,8,,,\n", "8 bytes at 1 do not fit inside of \"b\" of 8"},
      {header + "a,0,2,8,b,-1,\nb,1,3,8,,,\n", "8 bytes at -1 do not fit"},
      {header + "a,0,2,8,b,9223372036854775807,\nb,1,3,8,,,\n", "do not fit"},
      {header + "a,0,2,8,b,x,\nb,1,3,8,,,\n", "at \"x\" is not a 64-bit integer"},
      {header + "a,0,2,8,,4,\n", "at is given, and inside is not"},
      {header + "a,0,2,8,b,0,g\nb,1,3,8,,,h\n", "tied to \"a\" of another group"},
      {header + "a,0,2,8,,,g\nb,1,3,8,,,g\n", "nothing ties them"},
  };
  ExpectTextsRefused(texts, [](const std::string& text) { return Read(text).status(); });
}

TEST(CsvTest, RejectsWithLineAndColumn) {
  const std::string header = "id,lower,upper,size\n";
  const std::vector<RefusedText> texts = {
      {"", "no header"},
      {"\n \n", "no header"},
      {"1,2,3,4\n", "unknown column \"1\""},
      {"id,lower,upper\n", "column size is missing"},
      {"id,lower,upper,size,size\n", "column size appears twice"},
      {"id,lower,upper,size,gaps\n", "unknown column \"gaps\""},
      {header + "1,0,1\n", "x.csv:2: 3 cells; the header has 4"},
      {header + "1,0,1,2,3\n", "x.csv:2: 5 cells"},
      {header + "0,0,1,2\n1,zero,1,2\n", "x.csv:3: lower \"zero\" is not a 64-bit integer"},
      {header + "1,0,1,2.5\n", "size \"2.5\""},
      {header + "1,0,1,\n", "size \"\""},
      {header + "1,0,1,0x10\n", "size \"0x10\""},
      {header + "1,0,1,99999999999999999999\n", "is not a 64-bit integer"},
      {header + "1,0,1,\x1b[2J\n", "size \"\\x1b[2J\""},
      {header + "1,0,1,-2\n", "x.csv:2: id \"1\": negative size -2"},
      {header + "1,5,5,2\n", "x.csv:2: id \"1\": empty lifetime [5, 5)"},
      {header + "1,5,4,2\n", "x.csv:2: id \"1\": reversed lifetime [5, 4)"},
      {header + "1,-9223372036854775807,4,2\n", "outside of +-2^62"},
      {header + "\"1,5,6,2\n", "x.csv:2: unbalanced quotes"},
      {header + "1,0,1,2\n1,0,1,2\n", "x.csv:3: id \"1\" stands in line 2 already"},
      {header + "1,0,1,4611686018427387904\nb,0,1,1\n",
       "x.csv:3: id \"b\": the sum of sizes, alignments and fixed offsets exceeds 2^62"},
      {header + "a,0,1,9223372036854775807\n", "x.csv:2: id \"a\": the sum of sizes"},
      {"id,lower,upper,size,offset\nq,0,1,1,\nx,0,4,8,8\ny,9,10,1,0\nb,2,6,8,12\n",
       "x.csv:5: id \"b\" at [12, 20) overlaps id \"x\" at [8, 16) of line 3"},
      {"id,lower,upper,size,alignment\n1,0,1,2,3\n", "alignment 3 is not a positive power of two"},
      {"id,lower,upper,size,alignment\n1,0,1,2,0\n", "alignment 0 is not"},
      {"id,lower,upper,size,offset\n1,0,1,2,-2\n", "negative fixed offset -2"},
      {"id,lower,upper,size,offset\n1,0,1,2,9223372036854775807\n", "exceeds 2^62"},
      {"id,lower,upper,size,alignment,offset\n1,0,1,2,4,6\n", "contradicts alignment 4"},
      {std::string("id,lower,upper,size\n1,0\0,1,2\n", 29), "is not a 64-bit integer"},
      {header + std::string(1 << 21, 'x') + "\n", "longer than 1 MiB"},
  };
  ExpectTextsRefused(texts, [](const std::string& text) {
    const absl::Status status = Read(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_LT(status.message().size(), 300u);
    return status;
  });
}

TEST(CsvTest, EveryCellMayBeQuoted) {
  const auto csv =
      Read("\"id\",\"lower\",\"upper\",\"size\",\"offset\"\n\"a\",\"0\",\"2\",\"10\",\"\"\n");
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_EQ(csv->problem.buffers[0].size, 10);
  EXPECT_EQ(csv->problem.buffers[0].offset, std::nullopt);
}

// A reader counts offsets as bytes, in addition to the sizes.
TEST(CsvTest, PlansThatWouldNotBeReadBackAreNotWritten) {
  const int64_t half = int64_t{1} << 61;
  for (const int64_t size : {half / 2, half}) {
    const auto csv =
        Read(absl::StrCat("id,lower,upper,size\na,0,2,", size, "\nb,1,3,", size, "\n"));
    ASSERT_TRUE(csv.ok()) << csv.status();
    Plan plan;
    plan.offsets = {0, size};
    std::ostringstream out;
    const absl::Status written = WriteCsv(*csv, plan, out);
    EXPECT_EQ(written.ok(), size < half) << written;
    if (written.ok()) {
      EXPECT_TRUE(Read(out.str()).ok());
    } else {
      EXPECT_THAT(std::string(written.message()),
                  ::testing::HasSubstr("the plan would not be read back: id \"b\""));
    }
  }
}

TEST(CsvTest, MissingFileIsNotFound) {
  EXPECT_EQ(ReadCsvFile("no/such/file.csv").status().code(), absl::StatusCode::kNotFound);
}

TEST(CsvTest, EveryTruncationAndFlippedByteIsReadOrRejected) {
  const std::string text =
      "id,lower,upper,size,alignment,offset\n\"a,b\",0,12,34,8,\n2,5,9,7,1,64\n";
  for (size_t i = 0; i < text.size(); ++i) {
    (void)Read(text.substr(0, i));
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = text;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      const auto csv = Read(flipped);
      if (csv.ok()) (void)PlanMemory(csv->problem);
    }
  }
}

}  // namespace
}  // namespace ashlar::memory
