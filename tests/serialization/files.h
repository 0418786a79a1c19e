// Files in tests: a temporary folder, and reading and writing of whole files.
#ifndef ASHLAR_TESTS_SERIALIZATION_FILES_H_
#define ASHLAR_TESTS_SERIALIZATION_FILES_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"

namespace ashlar::testing {

// A fresh folder for the running test, removed with it.
class TempDir {
 public:
  TempDir() {
    std::string name = ::testing::TempDir() + "ashlar.XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  // Returns the number of files inside.
  size_t count() const { return std::distance(std::filesystem::directory_iterator(path_), {}); }

 private:
  std::filesystem::path path_;
};

inline std::string ReadWholeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void WriteWholeFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_FILES_H_
