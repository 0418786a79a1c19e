// Weights streamed from disks that are slow, fail, or are measured: a file system of this process
// (FUSE), and the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/record/weight_source.h"
#include "tests/support/command/command_path.h"
#include "tests/support/command/command_process.h"
#include "tests/support/fuse_file.h"
#include "tests/support/status.h"
#include "tests/tools/streamed_session.h"
#include "tools/disk_speed.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

class StreamedDiskTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    cpu::RegisterDevice();
    ASSERT_EQ(Ashlar("zoo squeezenet --image 32 -o whole.ash").exit_code, 0);
    ASSERT_EQ(Ashlar("convert whole.ash -o streamed.ash --pack").exit_code, 0);
  }
  void SetUp() override {
    std::filesystem::create_directory(Path("disk"));
    disk_ = FuseFile::Mount(Path("disk"), CommandTest::Read("streamed.ash"));
    if (disk_ == nullptr) GTEST_SKIP() << "no file system can be mounted here";
  }
  // Half of the weights do not fit.
  static constexpr int64_t kBudget = 5 << 19;

  std::unique_ptr<FuseFile> disk_;
};

TEST_F(StreamedDiskTest, ASlowOneOnlySlows) {
  const std::string wanted = StreamedSession(Path("streamed.ash"), kBudget).Outputs();
  StreamedSession session(disk_->path(), kBudget);
  disk_->delay_ms = 2;
  for (int run = 0; run < 3; ++run) {
    disk_->DropFromCache();
    const int before = disk_->reads();
    EXPECT_EQ(session.Outputs(), wanted);
    EXPECT_GT(disk_->reads(), before);
  }
}

// The first read of a run fails, one in its middle, and one late.
TEST_F(StreamedDiskTest, AFailingOneEndsTheRunAndNotTheSession) {
  StreamedSession session(disk_->path(), kBudget);
  const std::string wanted = session.Outputs();
  for (const int reads : {0, 5, 12}) {
    SCOPED_TRACE(reads);
    disk_->DropFromCache();
    disk_->reads_until_error = reads;
    absl::Status status;
    for (int run = 0; run < 3 && status.ok(); ++run) status = session.Run();
    EXPECT_TRUE(FailsWith(status, disk_->path() + ": read "));
    EXPECT_TRUE(FailsWith(status, " bytes at offset "));
    EXPECT_TRUE(FailsWith(status, "Input/output error"));
    EXPECT_FALSE(session.Run().ok()) << "it fails still";
    disk_->reads_until_error = -1;
    session.Run().IgnoreError();  // a read ahead may have failed before
    for (int run = 0; run < 2; ++run) EXPECT_EQ(session.Outputs(), wanted);
  }
}

// Reads wait for each other until as many are in flight as weights are read with.
TEST_F(StreamedDiskTest, IsMeasuredWithSeveralReadsInFlight) {
  disk_.reset();
  disk_ = FuseFile::Mount(Path("disk"), std::string(16 << 20, 'w'));
  ASSERT_NE(disk_, nullptr);
  disk_->together = kReadsInFlight;
  const DiskSpeed speed = Value(MeasureDisk(disk_->path()));
  EXPECT_EQ(disk_->together, 0) << "never " << kReadsInFlight << " in flight";
  EXPECT_GT(speed.read_ms, 0);
  EXPECT_GT(speed.bytes_per_ms, 0);
  EXPECT_GE(disk_->reads(), 64 + 16);
}

class MeasuredDiskTest : public CommandTest {};

TEST_F(MeasuredDiskTest, TuneRecordsTheDiskOfLargeFiles) {
  ASSERT_EQ(Ashlar("zoo resnet18 --image 32 -o large.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("tune large.ash --kernels k.json --duration 100ms --threads 1").exit_code, 0);
  const nlohmann::json disk = nlohmann::json::parse(CommandTest::Read("k.json"))["disk"];
  EXPECT_GT(disk["read_ms"].get<double>(), 0);
  EXPECT_GT(disk["bytes"].get<double>(), 0);

  // `doctor` shows the recorded speed.
  std::filesystem::copy_file(Path("k.json"), Path("kernels.json"));
  const double bytes_per_ms = disk["bytes"].get<double>(), read_ms = disk["read_ms"];
  EXPECT_EQ(Ashlar("doctor --json -q").Json()["facts"]["disk"],
            absl::StrFormat("%.2f GB/s, %.3f ms a read", bytes_per_ms / 1e6, read_ms));
  EXPECT_THAT(Ashlar("doctor").out, HasSubstr(" GB/s, "));
  std::filesystem::remove(Path("kernels.json"));

  // A file of a few kilobytes tells nothing about its disk.
  const ProcessResult small =
      Ashlar("tune model.ash --kernels s.json --duration 100ms --threads 1");
  EXPECT_EQ(small.exit_code, 0);
  EXPECT_THAT(small.err, HasSubstr("the disk is not measured: "));
  EXPECT_FALSE(nlohmann::json::parse(CommandTest::Read("s.json")).contains("disk"));
}

}  // namespace
}  // namespace ashlar::testing
