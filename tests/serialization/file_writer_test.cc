#include "serialization/file_writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/serialization/files.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::FailsWith;
using testing::IsOk;
using testing::ReadWholeFile;
using testing::TempDir;
using testing::WriteWholeFile;

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 0777;
}

TEST(FileWriter, ReplacesAFileAndKeepsItsMode) {
  TempDir dir;
  WriteWholeFile(dir / "x", "old");
  ASSERT_EQ(chmod((dir / "x").c_str(), 0640), 0);
  ASSERT_TRUE(IsOk(WriteFile(dir / "x", "new")));
  EXPECT_EQ(ReadWholeFile(dir / "x"), "new");
  EXPECT_EQ(ModeOf(dir / "x"), 0640u);
  EXPECT_EQ(dir.count(), 1u);
}

TEST(FileWriter, GivesANewFileTheUsualMode) {
  TempDir dir;
  const mode_t mask = umask(022);
  ASSERT_TRUE(IsOk(WriteFile(dir / "x", "new")));
  umask(mask);
  EXPECT_EQ(ModeOf(dir / "x"), 0644u);
}

TEST(FileWriter, WithoutCommitNothingChanges) {
  TempDir dir;
  WriteWholeFile(dir / "x", "old");
  {
    auto writer = testing::Value(FileWriter::Create(dir / "x"));
    ASSERT_TRUE(IsOk(writer->Write("half")));
  }
  EXPECT_EQ(ReadWholeFile(dir / "x"), "old");
  EXPECT_EQ(dir.count(), 1u);
}

// Regression: if the process ended early, the partial file stayed beside the target.
TEST(FileWriter, AnEndedProcessLeavesNothing) {
  const TempDir dir;
  const pid_t child = fork();
  if (child == 0) {
    const auto writer = FileWriter::Create(dir / "file");
    if (writer.ok()) (*writer)->Write("text").IgnoreError();
    raise(SIGKILL);
  }
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_TRUE(WIFSIGNALED(ended));
  const int probe = open((dir / ".").c_str(), O_TMPFILE | O_RDWR, 0600);
  if (probe < 0) GTEST_SKIP() << "this file system has no files without names";
  close(probe);
  EXPECT_EQ(dir.count(), 0u);
}

TEST(FileWriter, AFullDiskLeavesTheOldFile) {
  TempDir dir;
  WriteWholeFile(dir / "x", "old");
  // The limit on file sizes simulates a full disk.
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small = {4096, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = WriteFile(dir / "x", std::string(100'000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(FailsWith(status, "x: cannot write"));
  EXPECT_EQ(ReadWholeFile(dir / "x"), "old");
  EXPECT_EQ(dir.count(), 1u);
}

TEST(FileWriter, NamesThePathThatCannotBeWritten) {
  TempDir dir;
  EXPECT_TRUE(FailsWith(WriteFile(dir / "missing/x", "new"), "missing/x: cannot write"));
  EXPECT_TRUE(FailsWith(WriteFile(dir / ".", "new"), "cannot write"));
  EXPECT_TRUE(FailsWith(WriteFile("", "new"), "cannot write"));
  EXPECT_TRUE(FailsWith(WriteFile("/dev/full", "new"), "/dev/full: cannot write"));
  EXPECT_EQ(dir.count(), 0u);
}

TEST(FileWriter, LookingWhetherAPathCanBeWrittenChangesNothing) {
  TempDir dir;
  WriteWholeFile(dir / "x", "old");
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);  // opening it would wait for a reader
  for (const char* path : {"x", "new", "pipe"}) EXPECT_TRUE(IsOk(CheckWritable(dir / path)));
  for (const char* path : {"missing/x", ".", "x/y"}) {
    EXPECT_TRUE(FailsWith(CheckWritable(dir / path), "cannot write")) << path;
  }
  EXPECT_EQ(ReadWholeFile(dir / "x"), "old");
  EXPECT_EQ(dir.count(), 2u);
}

// Regression: the file's other names kept the old content.
TEST(FileWriter, AFileOfTwoNamesStaysOneFile) {
  TempDir dir;
  WriteWholeFile(dir / "x", std::string(3'000'000, 'o'));
  ASSERT_EQ(link((dir / "x").c_str(), (dir / "y").c_str()), 0);
  for (const size_t size : {size_t{2'500'000}, size_t{3}}) {
    ASSERT_TRUE(IsOk(WriteFile(dir / "x", std::string(size, 'n'))));
    EXPECT_TRUE(ReadWholeFile(dir / "y") == std::string(size, 'n'));
    EXPECT_EQ(std::filesystem::hard_link_count(dir / "x"), 2u);
    EXPECT_EQ(dir.count(), 2u);
  }
  {
    auto writer = testing::Value(FileWriter::Create(dir / "x"));
    ASSERT_TRUE(IsOk(writer->Write("half")));
  }
  EXPECT_EQ(ReadWholeFile(dir / "y"), "nnn");
}

TEST(FileWriter, FollowsLinksAndWritesDevicesInPlace) {
  TempDir dir;
  WriteWholeFile(dir / "x", "old");
  ASSERT_EQ(symlink("x", (dir / "link").c_str()), 0);
  ASSERT_TRUE(IsOk(WriteFile(dir / "link", "new")));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "link"));
  EXPECT_EQ(ReadWholeFile(dir / "x"), "new");
  // Regression: a link to a missing file was replaced by a file.
  ASSERT_EQ(mkdir((dir / "folder").c_str(), 0755), 0);
  ASSERT_EQ(symlink("folder/y", (dir / "dangling").c_str()), 0);
  ASSERT_EQ(symlink("dangling", (dir / "chain").c_str()), 0);
  ASSERT_TRUE(IsOk(WriteFile(dir / "chain", "there")));
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "dangling"));
  EXPECT_EQ(ReadWholeFile(dir / "folder/y"), "there");
  ASSERT_EQ(symlink("circle", (dir / "circle").c_str()), 0);
  EXPECT_TRUE(FailsWith(WriteFile(dir / "circle", "new"), "circle: cannot write"));
  ASSERT_TRUE(IsOk(WriteFile("/dev/null", "new")));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace ashlar
