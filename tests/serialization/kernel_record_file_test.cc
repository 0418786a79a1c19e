// Records of measured kernels: written, read back, and refused if they are invalid.
#include "serialization/kernel_record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/serialization/files.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::Value;

class KernelRecordFileTest : public ::testing::Test {
 protected:
  const testing::TempDir folder_;
  const std::string path_ = folder_ / "deeper/record.json";
};

KernelRecord Record(const std::string& family) {
  KernelRecord record;
  record.choices["problem \"one\""] = {family, {{1, family + "/a"}, {16, family + "/b"}}};
  record.choices["problem two"] = {family, {}};
  return record;
}

void ExpectEqual(const KernelRecord& a, const KernelRecord& b) {
  ASSERT_EQ(a.choices.size(), b.choices.size());
  for (const auto& [key, choice] : a.choices) {
    ASSERT_EQ(b.choices.count(key), 1u);
    EXPECT_EQ(choice.family, b.choices.at(key).family);
    EXPECT_EQ(choice.variants, b.choices.at(key).variants);
  }
}

TEST_F(KernelRecordFileTest, ProcessorsKeepTheirOwn) {
  const auto load = [&](const std::string& processor) {
    const absl::StatusOr<KernelRecord> record = LoadKernelRecord(path_, processor);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? *record : KernelRecord();
  };
  ExpectEqual(load("first"), {});  // no file yet
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "first", Record("panel:avx2"))));
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "second", Record("panel:avx512"))));
  ExpectEqual(load("first"), Record("panel:avx2"));
  ExpectEqual(load("second"), Record("panel:avx512"));
  ExpectEqual(load("third"), {});
  EXPECT_EQ(load("second").path, path_);
  EXPECT_EQ(load("third").path, "");
}

// Regression: after three concurrent writers, only the last one's problems were left.
TEST_F(KernelRecordFileTest, WhatSeveralProcessesFoundIsKept) {
  constexpr int kProcesses = 4, kRounds = 20;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(fork());
    if (children.back() > 0) continue;
    for (int round = 0; round < kRounds; ++round) {
      KernelRecord record;
      record.choices[absl::StrCat("problem ", process, " ", round)] = {"f", {}};
      if (!MergeKernelRecord(path_, "p", record).ok()) _exit(1);
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const absl::StatusOr<KernelRecord> record = LoadKernelRecord(path_, "p");
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->choices.size(), static_cast<size_t>(kProcesses * kRounds));
}

// The disk is the machine's.
TEST_F(KernelRecordFileTest, AllProcessorsHaveTheDisk) {
  KernelRecord record;
  record.disk = DiskSpeed{0.25, 5e5};
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "first", record)));
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "second", Record("panel:avx2"))));
  const KernelRecord second = Value(LoadKernelRecord(path_, "second"));
  ASSERT_TRUE(second.disk.has_value());
  EXPECT_EQ(second.disk->read_ms, 0.25);
  EXPECT_EQ(second.disk->bytes_per_ms, 5e5);
  std::ofstream(path_) << R"({"format": "ashlar kernel record 1", "processors": {},
                              "disk": {"read_ms": 0, "bytes": 1}})";
  EXPECT_THAT(std::string(LoadKernelRecord(path_, "first").status().message()),
              HasSubstr("expected more than 0"));
}

TEST_F(KernelRecordFileTest, ALaterChoiceTakesTheEarliersPlace) {
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "p", Record("old"))));
  KernelRecord record;
  record.choices["problem two"] = {"new", {}};
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "p", record)));
  const absl::StatusOr<KernelRecord> merged = LoadKernelRecord(path_, "p");
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->choices.at("problem two").family, "new");
  EXPECT_EQ(merged->choices.at("problem \"one\"").family, "old");
}

TEST_F(KernelRecordFileTest, SpeedsAreKeptByProcessorAndThreads) {
  KernelRecord measured;
  measured.speeds[1] = {1e8, 1.2e8, 2.5e7, 1.3e7};
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "p", measured)));
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "p", Record("later"))));
  measured.speeds.clear();
  measured.speeds[2] = {2e8, 2.4e8, 3e7, 2e7};
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "p", measured)));
  const absl::StatusOr<KernelRecord> record = LoadKernelRecord(path_, "p");
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(record->choices.size(), 2u);
  ASSERT_EQ(record->speeds.size(), 2u);
  EXPECT_EQ(record->speeds.at(1).third_level, 2.5e7);
  EXPECT_EQ(record->speeds.at(2).memory, 2e7);
  const absl::StatusOr<KernelRecord> other = LoadKernelRecord(path_, "another");
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_TRUE(other->speeds.empty());
}

TEST_F(KernelRecordFileTest, TilesAreKeptByProcessorGraphAndThreads) {
  const TileSpec tiles = Value(TileSpec::Parse("0-475:batch10(0-248:lines7);475-931:batch2"));
  KernelRecord measured;
  measured.tiles["a"][1] = tiles;
  measured.tiles["b"][2] = {};
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "p", measured)));
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "p", Record("later"))));
  KernelRecord more;
  more.tiles["a"][2] = {};
  ASSERT_TRUE(IsOk(MergeKernelRecord(path_, "p", more)));
  const KernelRecord record = Value(LoadKernelRecord(path_, "p"));
  EXPECT_EQ(record.choices.size(), 2u);
  ASSERT_EQ(record.tiles.size(), 2u);
  EXPECT_EQ(record.tiles.at("a").at(1), tiles);
  EXPECT_TRUE(record.tiles.at("a").at(2).empty());
  EXPECT_TRUE(record.tiles.at("b").at(2).empty());
  EXPECT_TRUE(Value(LoadKernelRecord(path_, "another")).tiles.empty());
}

TEST_F(KernelRecordFileTest, FilesThatAreNoRecordsAreNamedAndKept) {
  const struct {
    const char *text, *message;
  } cases[] = {
      {"", "record.json"},
      {"[]", "is an array, expected an object"},
      {R"({"format": "another"})", "'another', expected 'ashlar kernel record 1'"},
      {R"({"format": "ashlar kernel record 1"})", "processors"},
      {R"({"format": "ashlar kernel record 1", "processors": [1]})", "is an array"},
      {R"({"format": "ashlar kernel record 1", "processors": {"p": {"k": 1}}})", "p.k"},
      {R"({"format": "ashlar kernel record 1", "processors": {"p": {"k": {"family": "f",
          "variants": {"none": "f/a"}}}}})",
       "not a number of threads"},
      {R"({"format": "ashlar kernel record 1", "processors": {}, "speeds": 1})", "speeds"},
      {R"({"format": "ashlar kernel record 1", "processors": {}, "speeds": {"p": {"0": {}}}})",
       "not a number of threads"},
      {R"({"format": "ashlar kernel record 1", "processors": {}, "speeds": {"p": {"1": {}}}})",
       "flops"},
      {R"({"format": "ashlar kernel record 1", "processors": {}, "speeds": {"p": {"1": {"flops": -1}}}})",
       "expected more than 0"},
      {R"({"format": "ashlar kernel record 1", "processors": {}, "tiles": {"p": {"g": 1}}})",
       "p.g"},
      {R"({"format": "ashlar kernel record 1", "processors": {}, "tiles": {"p": {"g": {"0": ""}}}})",
       "not a number of threads"},
      {R"({"format": "ashlar kernel record 1", "processors": {}, "tiles": {"p": {"g": {"1": "0-9:slices3"}}}})",
       "slices3"},
  };
  std::filesystem::create_directories(folder_ / "deeper");
  for (const auto& test : cases) {
    SCOPED_TRACE(test.text);
    std::ofstream(path_) << test.text;
    const absl::Status status = LoadKernelRecord(path_, "p").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(test.message));
    EXPECT_EQ(status.message().find(path_), 0) << status;
    EXPECT_EQ(status.message().rfind(path_), 0) << status;
  }
}

TEST(KernelRecordTest, FamiliesAndVariants) {
  EXPECT_EQ(FamilyOf("winograd4:avx512/14 patches"), "winograd4:avx512");
  EXPECT_EQ(FamilyOf("pooling:avx512"), "pooling:avx512");
  const KernelRecord record = Record("f");
  EXPECT_EQ(record.Preference("problem \"one\"", 1, "f/a"), 2);
  EXPECT_EQ(record.Preference("problem \"one\"", 16, "f/a"), 1);
  EXPECT_EQ(record.Preference("problem \"one\"", 2, "f/c"), 1);
  EXPECT_EQ(record.Preference("problem \"one\"", 1, "g/a"), 0);
  EXPECT_EQ(record.Preference("problem three", 1, "f/a"), 0);
}

}  // namespace
}  // namespace ashlar
