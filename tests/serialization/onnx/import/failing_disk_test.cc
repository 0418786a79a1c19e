// A disk that fails while a model is read: a file system of this process (FUSE).
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/fuse_file.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

// A read that fails between two fields looks like the end of a shorter file. Here the first half of
// the file is a model, and the second half adds an output to it.
TEST(OnnxFailingDisk, BetweenTwoFieldsIsAnErrorToo) {
  if (!CanLoadPages()) GTEST_SKIP() << "this system cannot load pages (MADV_POPULATE_READ)";
  constexpr size_t kBlock = 1 << 20;  // is read at once
  const auto node = [](const char* from, const char* to) {
    return absl::StrCat("node { op_type: 'Relu' input: '", from, "' output: '", to,
                        "' } output { name: '", to, "' } ");
  };
  std::string content =
      Serialized(absl::StrCat("ir_version: 8 opset_import { version: 17 } graph { name: 'g' ",
                              node("x", "y"), "input ", ValueText("x", {4}), "}"));
  // Fills a block, so that pages in it are read with none of the fields around it.
  const auto fill = [&](size_t size) {
    onnx::ModelProto padding;
    const size_t tag_and_length = 4;
    padding.set_doc_string(std::string(size - content.size() - tag_and_length, ' '));
    content += padding.SerializeAsString();
    EXPECT_EQ(content.size(), size);
  };
  fill(kBlock);
  content += Serialized(absl::StrCat("graph { ", node("y", "z"), "}"));
  fill(2 * kBlock);
  const std::string folder = absl::StrCat(::testing::TempDir(), "/disk_", getpid());
  std::filesystem::create_directory(folder);
  {
    const std::unique_ptr<FuseFile> disk = FuseFile::Mount(folder, content, "m.onnx");
    if (disk == nullptr) GTEST_SKIP() << "no file system can be mounted here";
    int errors = 0;
    for (int reads = 0; reads < 1000; ++reads) {
      disk->DropFromCache();
      disk->reads_until_error = reads;
      const absl::StatusOr<Graph> graph = ReadOnnx(disk->path());
      disk->reads_until_error = -1;
      if (graph.ok()) {
        EXPECT_EQ(graph->outputs().size(), 2u) << "a shorter model after " << reads << " reads";
        break;
      }
      ++errors;
      EXPECT_TRUE(FailsWith(graph.status(), disk->path()));
    }
    EXPECT_GT(errors, 0);
  }
  std::filesystem::remove(folder);
}

}  // namespace
}  // namespace ashlar::testing
