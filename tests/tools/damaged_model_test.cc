// Model files with a byte changed by a disk or a transfer: no command computes with them.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "serialization/native/format.h"
#include "tests/support/command/command_process.h"
#include "tests/support/command/small_model.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

class DamagedModelTest : public CommandTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(Ashlar("convert model.ash -o packed.ash --pack -q").exit_code, 0);
  }
  static NativeHeader HeaderOf(const std::string& file) {
    return Value(
        DecodeHeader({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, file.size()));
  }
  // Writes a copy with one byte changed.
  static void WriteFlipped(const std::string& from, size_t at, const std::string& to) {
    std::string file = Read(from);
    ASSERT_LT(at, file.size());
    file[at] = static_cast<char>(file[at] ^ 0x10);
    Write(to, file);
  }
};

TEST_F(DamagedModelTest, AFlippedByteOfWeightsIsAnError) {
  const NativeHeader header = HeaderOf(Read("model.ash"));
  ASSERT_GT(header.weights_bytes, 1000u);
  for (const size_t at : {size_t{0}, header.weights_bytes / 2}) {
    WriteFlipped("model.ash", header.weights_offset + at, "bad.ash");
    for (const char* command :
         {"run bad.ash", "plan bad.ash", "verify bad.ash", "bench bad.ash --iterations 1",
          "convert bad.ash -o x.onnx", "convert bad.ash -o x.ash --pack", "inspect --check bad.ash",
          "compare bad.ash --threads 1"}) {
      const ProcessResult result = Ashlar(command);
      EXPECT_EQ(result.exit_code, 6) << command;
      EXPECT_THAT(result.err, HasSubstr("does not match its checksum")) << command;
      EXPECT_THAT(result.err, HasSubstr("bad.ash: value of '")) << command;
    }
    // inspect reads no weights.
    EXPECT_EQ(Ashlar("inspect bad.ash").exit_code, 0);
  }
}

TEST_F(DamagedModelTest, AFlippedByteOfThePackedPoolIsAnError) {
  const std::string file = Read("packed.ash");
  WriteFlipped("packed.ash", file.size() - 1000, "bad.ash");
  for (const char* command :
       {"run bad.ash", "plan bad.ash", "bench bad.ash --iterations 1", "inspect --check bad.ash"}) {
    const ProcessResult result = Ashlar(command);
    EXPECT_EQ(result.exit_code, 6) << command;
    EXPECT_THAT(result.err, HasSubstr("pool of packed weights")) << command;
  }
  // The plain weights are whole, and convert reads nothing else.
  EXPECT_EQ(Ashlar("convert bad.ash -o good.ash").exit_code, 0);
}

TEST_F(DamagedModelTest, PlainWeightsCountWhereThePackedOnesDoNotSuit) {
  const NativeHeader header = HeaderOf(Read("packed.ash"));
  WriteFlipped("packed.ash", header.weights_offset, "bad.ash");
  EXPECT_EQ(Ashlar("run bad.ash").exit_code, 0);
  const ProcessResult anew = Ashlar("run bad.ash --passes none");
  EXPECT_EQ(anew.exit_code, 6);
  EXPECT_THAT(anew.err, HasSubstr("value of '"));
}

// A plan that finds some of its weights packed reads only the plain weights that it packs again.
TEST_F(DamagedModelTest, WhatAPlanPacksAnewIsCompared) {
  for (const char* command :
       {"zoo resnet18 --image 64 -o r18.ash", "convert r18.ash -o p18.ash --pack",
        "plan r18.ash --prefer memory --threads 1 -o r18.plan",
        "run p18.ash --plan r18.plan -o whole.npz"}) {
    ASSERT_EQ(Ashlar(absl::StrCat(command, " -q")).exit_code, 0) << command;
  }
  const NativeHeader header = HeaderOf(Read("p18.ash"));
  constexpr int kFlips = kSanitized ? 2 : 8;
  for (int i = 0; i < kFlips; ++i) {
    WriteFlipped("p18.ash", header.weights_offset + header.weights_bytes / kFlips * i, "bad.ash");
    const ProcessResult result = Ashlar("run bad.ash --plan r18.plan -o bad.npz -q");
    if (result.exit_code == 0) {
      EXPECT_TRUE(Read("bad.npz") == Read("whole.npz")) << "flip " << i;
    } else {
      EXPECT_EQ(result.exit_code, 6) << "flip " << i;
      EXPECT_THAT(result.err, HasSubstr("value of '")) << "flip " << i;
    }
  }
}

TEST_F(DamagedModelTest, WholeFilesSayThatTheyAre) {
  for (const char* file : {"model.ash", "packed.ash"}) {
    const ProcessResult result = Ashlar(absl::StrCat("inspect --check ", file));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("all weights match their checksums"));
  }
  EXPECT_EQ(Ashlar("inspect --check model.ash --json").Json()["weights_checked"], true);
}

}  // namespace
}  // namespace ashlar::testing
