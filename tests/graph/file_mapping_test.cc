#include "graph/file_mapping.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

const int64_t kPage = sysconf(_SC_PAGESIZE);
constexpr int64_t kPages = 4;

// A file of some pages, mapped.
class FileMappingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = absl::StrCat(::testing::TempDir(), "/file_mapping_", getpid());
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(file_, 0);
    ASSERT_EQ(ftruncate(file_, kPages * kPage), 0);
    mapping_ = Map();
  }
  void TearDown() override {
    close(file_);
    unlink(path_.c_str());
  }
  std::unique_ptr<FileMapping> Map() const {
    void* const data = mmap(nullptr, kPages * kPage, PROT_READ, MAP_PRIVATE, file_, 0);
    EXPECT_NE(data, MAP_FAILED);
    return std::make_unique<FileMapping>(data, kPages * kPage, path_);
  }
  const char* at(int64_t offset) const {
    return static_cast<const char*>(mapping_->data()) + offset;
  }

  std::string path_;
  int file_ = -1;
  std::unique_ptr<FileMapping> mapping_;
};

TEST_F(FileMappingTest, AddressesHaveTheFilesPath) {
  EXPECT_EQ(FileMapping::Find(at(0)), mapping_.get());
  EXPECT_EQ(FileMapping::Find(at(kPages * kPage - 1)), mapping_.get());
  EXPECT_EQ(mapping_->path(), path_);
  EXPECT_EQ(FileMapping::Find(&path_), nullptr);
  const char* const first = at(0);
  mapping_.reset();
  EXPECT_EQ(FileMapping::Find(first), nullptr);
}

// Regression: a list of 256 files left out all that were mapped later.
TEST_F(FileMappingTest, AnyNumberOfFilesIsKnown) {
  std::vector<std::unique_ptr<FileMapping>> many;
  for (int i = 0; i < 1000; ++i) many.push_back(Map());
  for (size_t i = 0; i < many.size(); i += 3) many[i].reset();
  for (size_t i = 0; i < many.size(); ++i) {
    if (i % 3 == 0) many[i] = Map();
  }
  for (const auto& mapping : many) EXPECT_EQ(FileMapping::Find(mapping->data()), mapping.get());
}

// Regression: a place in the list was taken by another file while a thread read it.
TEST_F(FileMappingTest, ThreadsFindTheirFilesWhileOthersMap) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) {
        const std::unique_ptr<FileMapping> own = Map(), other = Map();
        EXPECT_EQ(FileMapping::Find(own->data()), own.get());
        EXPECT_EQ(FileMapping::Find(other->data()), other.get());
        EXPECT_EQ(FileMapping::Find(at(kPage)), mapping_.get());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Regression: a fork had the list locked forever if a thread used it at that time.
TEST_F(FileMappingTest, ForksFindFilesWhileThreadsMap) {
  std::vector<std::unique_ptr<FileMapping>> many;
  for (int i = 0; i < 200; ++i) many.push_back(Map());  // a search takes longer
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const std::unique_ptr<FileMapping> own = Map();
        for (int k = 0; k < 20; ++k) FileMapping::Find(at(k % kPages * kPage));
      }
    });
  }
  for (int i = 0; i < 20 && !HasFailure(); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(5);  // ends a fork that waits
      _exit(FileMapping::Find(at(kPage)) == mapping_.get() ? 0 : 1);
    }
    int ended = -1;
    EXPECT_EQ(waitpid(child, &ended, 0), child);
    EXPECT_EQ(ended, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FileMappingTest, LoadingBytesBehindTheEndOfAShortenedFileIsAnError) {
  EXPECT_TRUE(IsOk(mapping_->Load(at(0), kPages * kPage)));
  ASSERT_EQ(ftruncate(file_, kPage), 0);
  if (madvise(const_cast<char*>(at(0)), kPage, 22) != 0 && errno == EINVAL) {
    GTEST_SKIP() << "this system cannot load pages (MADV_POPULATE_READ)";
  }
  EXPECT_TRUE(IsOk(mapping_->Load(at(10), kPage - 10)));
  EXPECT_TRUE(IsOk(LoadIfMapped(&path_, sizeof(path_))));
  for (const absl::Status& status : {mapping_->Load(at(kPage), 1), LoadIfMapped(at(kPage + 100), 8),
                                     mapping_->Load(at(0), 5000)}) {
    EXPECT_TRUE(FailsWith(status, path_ + ": "));
    EXPECT_TRUE(FailsWith(status, ": cannot be read: the disk reports an error, or the file was "));
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_TRUE(status.GetPayload(kDamagedFile).has_value());
  }
  EXPECT_TRUE(
      FailsWith(LoadIfMapped(at(kPage + 100), 8), absl::StrCat("8 bytes at offset ", kPage + 100)));
}

}  // namespace
}  // namespace ashlar::testing
