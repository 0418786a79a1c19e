#include "runtime/cuda/autotune_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using cuda::AutotuneCache;
using cuda::TimeKey;

class AutotuneCacheTest : public ::testing::Test {
 protected:
  AutotuneCacheTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("ashlar_times_" + std::to_string(getpid()))),
        path_((folder_ / "a" / "autotune.json").string()) {}
  ~AutotuneCacheTest() override { std::filesystem::remove_all(folder_); }

  void WriteFile(const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    std::ofstream(path_) << text;
  }

  const std::filesystem::path folder_;
  const std::string path_;
  const TimeKey key_ = {"NVIDIA H200, 9.0", "cuDNN 91900", "conv a", "eng1{}"};
};

TEST_F(AutotuneCacheTest, KeepsTimesFromOneProgramToTheNext) {
  {
    AutotuneCache cache(path_);
    EXPECT_EQ(cache.note(), "");
    EXPECT_FALSE(cache.Find(key_).has_value());
    cache.Add(key_, 12.5);
    cache.Add({"d", "l", "p\n\"quoted\"", "k"}, 3);
    EXPECT_TRUE(IsOk(cache.Save()));  // makes the folder
  }
  AutotuneCache cache(path_);
  EXPECT_EQ(cache.note(), "");
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.Find(key_), 12.5);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "a"), {}), 1)
      << "a temporary file was left";
}

TEST_F(AutotuneCacheTest, AnyOtherDeviceLibraryProblemOrKernelIsAnotherKey) {
  AutotuneCache cache("");
  cache.Add(key_, 1);
  for (const TimeKey& other : {TimeKey{"NVIDIA A100, 8.0", key_.library, key_.problem, key_.kernel},
                               TimeKey{key_.device, "cuDNN 91700", key_.problem, key_.kernel},
                               TimeKey{key_.device, key_.library, "conv b", key_.kernel},
                               TimeKey{key_.device, key_.library, key_.problem, "eng2{}"}}) {
    EXPECT_FALSE(cache.Find(other).has_value()) << other.ToString();
  }
  EXPECT_EQ(cache.Find(key_), 1);
}

TEST_F(AutotuneCacheTest, WhatIsNoTimeIsNotKept) {
  AutotuneCache cache("");
  for (const double no_time : {0.0, -1.0, std::nan(""), HUGE_VAL}) cache.Add(key_, no_time);
  EXPECT_EQ(cache.size(), 0u);
}

TEST_F(AutotuneCacheTest, FilesThatAreNoCacheAreSaidSoAndWrittenAnew) {
  const struct {
    const char* text;
    const char* note;
  } kFiles[] = {
      {"", "not a JSON object"},
      {"[1, 2]", "not a JSON object"},
      {"{\"schema_version\": 1, \"microsec", "not a JSON object"},
      {"{\"schema_version\": 2, \"microseconds\": {}}", "schema_version is not 1"},
      {"{\"schema_version\": \"1\", \"microseconds\": {}}", "schema_version is not 1"},
      {"{\"schema_version\": 1}", "no object 'microseconds'"},
      {"{\"schema_version\": 1, \"microseconds\": {\"a\": 1, \"b\": -1}}", "'b' is no time"},
      {"{\"schema_version\": 1, \"microseconds\": {\"a\": \"1\"}}", "'a' is no time"},
  };
  for (const auto& file : kFiles) {
    SCOPED_TRACE(file.text);
    WriteFile(file.text);
    AutotuneCache cache(path_);
    EXPECT_NE(cache.note().find(file.note), std::string::npos) << cache.note();
    EXPECT_NE(cache.note().find(path_), std::string::npos) << cache.note();
    EXPECT_EQ(cache.size(), 0u);
    cache.Add(key_, 2);
    EXPECT_TRUE(IsOk(cache.Save()));
    EXPECT_EQ(AutotuneCache(path_).Find(key_), 2);
  }
}

TEST_F(AutotuneCacheTest, APlaceThatCannotBeWrittenIsAnError) {
  WriteFile("x");
  AutotuneCache cache(path_ + "/below/a/file.json");
  cache.Add(key_, 2);
  EXPECT_TRUE(FailsWith(cache.Save(), "cannot be written"));
}

TEST_F(AutotuneCacheTest, ThePlaceComesFromTheEnvironment) {
  const std::string home = std::getenv("HOME") == nullptr ? "" : std::getenv("HOME");
  setenv("ASHLAR_CACHE", "/x", 1);
  EXPECT_EQ(cuda::DefaultAutotunePath(), "/x/autotune.json");
  unsetenv("ASHLAR_CACHE");
  setenv("XDG_CACHE_HOME", "/y", 1);
  EXPECT_EQ(cuda::DefaultAutotunePath(), "/y/ashlar/autotune.json");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/z", 1);
  EXPECT_EQ(cuda::DefaultAutotunePath(), "/z/.cache/ashlar/autotune.json");
  setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace ashlar::testing
