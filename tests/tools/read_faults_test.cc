// Files that cannot be read while they are mapped: the disk fails (a file system of this process,
// FUSE), or they are shortened.
#include "tools/read_faults.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "library/open_model.h"
#include "serialization/mapped_file.h"
#include "tests/support/command/command_process.h"
#include "tests/support/fuse_file.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tools/console.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

class ShortenedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = absl::StrCat(::testing::TempDir(), "/shortened_", getpid());
    std::ofstream(path_) << std::string(3 * kPage, 'x');
  }
  void TearDown() override { std::filesystem::remove(path_); }
  // Reads the last byte of a file that is shortened after it was mapped.
  void ReadShortened(const unsigned char* bytes) const {
    std::filesystem::resize_file(path_, 100);
    [[maybe_unused]] const unsigned char read =
        *const_cast<const volatile unsigned char*>(bytes + 3 * kPage - 1);
  }
  std::string path_;
};

TEST_F(ShortenedFileTest, EndsTheProcessWithAnErrorThatNamesIt) {
  EXPECT_EXIT(
      {
        ExitOnReadFaults();
        const auto file = Value(MappedFile::Open(path_));
        ReadShortened(file->bytes().data());
      },
      ::testing::ExitedWithCode(6),
      "error: .*/shortened_[0-9]+: cannot be read: the disk reports an error, or the file was "
      "shortened while it was read");
}

// The name has characters that a terminal or JSON could take for their own.
TEST_F(ShortenedFileTest, TheErrorIsADocumentToo) {
  const std::string name = absl::StrCat(path_, "\x1b\"\\\u0085\u00e9\xff.ash");
  std::filesystem::rename(path_, name);
  path_ = name;
  const std::string written = absl::StrCat(::testing::TempDir(), "/fault_", getpid(), ".json");
  EXPECT_EXIT(
      {
        Console console("run", {.json = written});
        ExitOnReadFaults();
        const auto file = Value(MappedFile::Open(path_));
        ReadShortened(file->bytes().data());
      },
      ::testing::ExitedWithCode(6), "\\\\x1b\"\\\\\\\\xc2\\\\x85\u00e9\\\\xff.ash: cannot be read");
  std::ifstream file(written);
  const nlohmann::json document = nlohmann::json::parse(file);
  std::filesystem::remove(written);
  EXPECT_EQ(document["command"], "run");
  EXPECT_EQ(document["exit_code"], 6);
  EXPECT_THAT(
      document["error"].get<std::string>(),
      HasSubstr("\x1b\"\\\u0085\u00e9\u00ff.ash: cannot be read: the disk reports an error, or"));
}

TEST_F(ShortenedFileTest, OtherFaultsEndTheProcessAsBefore) {
  if (kSanitized) GTEST_SKIP() << "sanitizers handle SIGBUS themselves";
  EXPECT_EXIT(
      {
        ExitOnReadFaults();
        raise(SIGBUS);
      },
      ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT(
      {
        ExitOnReadFaults();
        const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
        ReadShortened(
            static_cast<unsigned char*>(mmap(nullptr, 3 * 4096, PROT_READ, MAP_PRIVATE, file, 0)));
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

class FailingDiskTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    ASSERT_EQ(Ashlar("zoo squeezenet --image 32 -o plain.ash").exit_code, 0);
    ASSERT_EQ(Ashlar("convert plain.ash -o packed.ash --pack").exit_code, 0);
    ASSERT_EQ(Ashlar("convert plain.ash -o plain.onnx").exit_code, 0);
    ASSERT_EQ(Ashlar("run plain.ash -o values.npz").exit_code, 0);
  }
  // Has the command read the file from a disk whose reads fail after the first ones. In the end
  // nothing fails.
  void ExpectErrors(const std::string& file, const std::string& before, const std::string& after) {
    SCOPED_TRACE(file + before);
    std::filesystem::create_directory(Path("disk"));
    const std::unique_ptr<FuseFile> disk = FuseFile::Mount(Path("disk"), Read(file), file);
    if (disk == nullptr) GTEST_SKIP() << "no file system can be mounted here";
    int errors = 0;
    for (int reads = 0;; reads = reads < 4 ? reads + 1 : 2 * reads) {
      SCOPED_TRACE(reads);
      disk->DropFromCache();
      disk->reads_until_error = reads;
      const ProcessResult result =
          Ashlar(absl::StrCat(before, "disk/", file, after, " --json=error.json"));
      disk->reads_until_error = -1;
      if (result.exit_code == 0) break;
      ++errors;
      EXPECT_EQ(result.exit_code, 6) << result.err;
      EXPECT_THAT(result.err, HasSubstr(absl::StrCat("disk/", file)));
      const nlohmann::json document = nlohmann::json::parse(Read("error.json"));
      EXPECT_EQ(document["exit_code"], 6);
      EXPECT_THAT(document["error"].get<std::string>(), HasSubstr(absl::StrCat("disk/", file)));
      std::filesystem::remove(Path("error.json"));
      ASSERT_LT(reads, 100000);
    }
    EXPECT_GT(errors, 0);
  }
};

TEST_F(FailingDiskTest, EndsCommandsWithAnErrorThatNamesTheFile) {
  ExpectErrors("plain.ash", "run ", " -q");
  ExpectErrors("packed.ash", "run ", " -q");
  ExpectErrors("plain.onnx", "run ", " -q");
  ExpectErrors("plain.onnx", "convert ", " -o written.ash -q");
  ExpectErrors("values.npz", "compare plain.ash --ref ", " -q");
}

// The library handles no signal.
TEST_F(FailingDiskTest, OpeningAModelReturnsAnError) {
  if (!CanLoadPages()) GTEST_SKIP() << "this system cannot load pages (MADV_POPULATE_READ)";
  for (const char* file : {"plain.ash", "packed.ash", "plain.onnx"}) {
    SCOPED_TRACE(file);
    std::filesystem::create_directory(Path("disk"));
    const std::unique_ptr<FuseFile> disk = FuseFile::Mount(Path("disk"), Read(file), file);
    if (disk == nullptr) GTEST_SKIP() << "no file system can be mounted here";
    int errors = 0;
    for (int reads = 0; reads < 100000; reads = reads < 8 ? reads + 1 : 2 * reads) {
      disk->DropFromCache();
      disk->reads_until_error = reads;
      const absl::StatusOr<Model> model = OpenModel(disk->path(), {});
      disk->reads_until_error = -1;
      if (model.ok()) break;
      ++errors;
      EXPECT_TRUE(FailsWith(model.status(), disk->path()));
    }
    EXPECT_GT(errors, 0);
    EXPECT_TRUE(IsOk(OpenModel(disk->path(), {}).status()));
  }
}

}  // namespace
}  // namespace ashlar::testing
