// Weights packed into the file: used in place, and refused or ignored if they are not as required.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/record/packing_options.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "serialization/checksum.h"
#include "serialization/native/format.h"
#include "serialization/native/reader.h"
#include "serialization/native/writer.h"
#include "tests/support/command/command_process.h"
#include "tests/support/command/small_model.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

// A file's contents in memory, in a block of exactly its size, aligned like a mapping.
struct FileBytes {
  explicit FileBytes(const std::string& content)
      : block(static_cast<uint8_t*>(std::aligned_alloc(64, (content.size() + 63) / 64 * 64)),
              std::free),
        size(content.size()) {
    std::memcpy(block.get(), content.data(), size);
  }
  absl::Span<const uint8_t> bytes() const { return {block.get(), size}; }
  absl::StatusOr<std::optional<PackedModel>> Read() const {
    return ReadPackedModelFromBytes(bytes(), block, "m.ash");
  }
  std::shared_ptr<uint8_t> block;
  size_t size;
};

class PackedModelTest : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    cpu::RegisterDevice();
    ASSERT_EQ(Ashlar("convert model.ash -o packed.ash --pack").exit_code, 0);
  }
  static std::vector<std::string>::iterator FirstKernel(PackedModel& packed) {
    return std::find_if(packed.kernels.begin(), packed.kernels.end(),
                        [](const std::string& kernel) { return !kernel.empty(); });
  }
  static std::string File() { return CommandTest::Read("packed.ash"); }
  static NativeHeader Header() {
    const FileBytes file(File());
    return Value(DecodeHeader(file.bytes(), file.bytes().size()));
  }
  static PackedHeader Packed() {
    const FileBytes file(File());
    return Value(DecodePackedHeader(file.bytes().subspan(Header().packed_offset), Header()));
  }
  // Returns the file with correct checksums of its present contents, at its sections' present
  // places.
  static std::string Sealed(std::string file) {
    const NativeHeader header = Header();
    const auto put = [&](size_t at, size_t begin, size_t bytes) {
      const uint64_t checksum = Checksum(file.data() + begin, bytes);
      std::memcpy(file.data() + at, &checksum, sizeof(checksum));
    };
    put(72, header.packed_offset, sizeof(PackedHeader) + Packed().index_bytes);
    put(kNativeHeaderBytes - 8, 0, kNativeHeaderBytes - 8);
    return file;
  }
  // Reads the file and its packed weights, and compiles them.
  static absl::Status ReadAndCompile(const std::string& content) {
    const FileBytes file(content);
    absl::Status status = ReadModelFromBytes(file.bytes(), file.block, "m.ash").status();
    if (!status.ok()) return status;
    absl::StatusOr<std::optional<PackedModel>> packed = file.Read();
    if (!packed.ok()) return packed.status();
    if (!packed->has_value()) return absl::OkStatus();
    return Executable::FromPacked(**std::move(packed), {}).status();
  }
};

HostTensor RunOnce(const std::shared_ptr<const Executable>& executable, const HostTensor& input) {
  std::unique_ptr<Session> session = Value(Session::Create(executable));
  const std::vector<HostTensor> outputs = Value(BindTensors(*session, {{"data", input}}));
  EXPECT_TRUE(IsOk(session->Run()));
  return outputs[0];
}

TEST_F(PackedModelTest, IsUsedWhereItLiesAndComputesTheSame) {
  const FileBytes file(File());
  PackedModel packed = *Value(file.Read());
  const uint8_t* const pool = static_cast<const uint8_t*>(packed.pool);
  EXPECT_EQ(pool + packed.pool_bytes, file.bytes().data() + file.size);
  const auto from_file = Value(Executable::FromPacked(std::move(packed), {}));
  EXPECT_EQ(from_file->weights(), pool);
  const auto compiled = Value(Executable::Compile(SmallModel(2), {}));

  std::mt19937_64 random(1);
  const HostTensor input = RandomTensor(random, {2, 3, 16, 16});
  const HostTensor a = RunOnce(from_file, input), b = RunOnce(compiled, input);
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0);
  EXPECT_EQ(from_file->planned().plan.plan.arena, compiled->planned().plan.plan.arena);
}

TEST_F(PackedModelTest, PlanAndInspectSayWhatIsPacked) {
  const nlohmann::json whole = Ashlar("plan model.ash --json").Json();
  const nlohmann::json packed = Ashlar("plan packed.ash --json").Json();
  EXPECT_EQ(whole["packed"], false);
  EXPECT_FALSE(whole["passes"].empty());
  EXPECT_EQ(packed["packed"], true);
  EXPECT_TRUE(packed["passes"].empty()) << "they ran at packing";
  EXPECT_EQ(packed["pools"], whole["pools"]);
  EXPECT_THAT(Ashlar("plan packed.ash").out, HasSubstr("rewritten when the file was packed"));
  const ProcessResult anew = Ashlar("plan packed.ash --passes none --json");
  EXPECT_THAT(anew.err, HasSubstr("packed.ash: weights are packed under"));
  EXPECT_EQ(anew.Json()["packed"], false);

  EXPECT_TRUE(Ashlar("inspect model.ash --json").Json()["packed"].is_null());
  const nlohmann::json facts = Ashlar("inspect packed.ash --json").Json()["packed"];
  EXPECT_THAT(facts["options"].get<std::string>(), HasSubstr("passes all"));
  EXPECT_EQ(facts["bytes"], whole["pools"]["weights"]["planned_bytes"]);
  EXPECT_THAT(Ashlar("inspect packed.ash").out,
              HasSubstr("packed for " + facts["processor"].get<std::string>()));
}

// Packed for another processor; caches do not matter.
TEST_F(PackedModelTest, IsPackedForAnInstructionSet) {
  ASSERT_EQ(Ashlar("convert model.ash -o avx2.ash --pack --processor avx2/48K/2M").exit_code, 0);
  EXPECT_EQ(Ashlar("inspect avx2.ash --json").Json()["packed"]["processor"], "avx2");
  for (const std::string same : {"avx2/48K/2M", "avx2/32K/512K", "avx2/48K/64K"}) {
    const ProcessResult plan = Ashlar("plan avx2.ash --json --processor " + same);
    EXPECT_EQ(plan.Json()["packed"], true) << same << ": " << plan.err;
  }
  const ProcessResult other = Ashlar("plan avx2.ash --json --processor avx512/48K/2M");
  EXPECT_EQ(other.Json()["packed"], false);
  EXPECT_THAT(other.err,
              HasSubstr("weights are packed for 'avx2', the plan is for 'avx512/48K/2M'"));
}

TEST_F(PackedModelTest, WhatDoesNotSuitIsAFailedPrecondition) {
  struct {
    const char* name;
    std::function<void(PackedModel&)> change;
    const char* message;
  } const cases[] = {
      {"processor", [](auto& p) { p.processor = "z80"; }, "packed for 'z80'"},
      {"options", [](auto& p) { p.options += " x"; }, "packed under"},
      {"a kernel less", [](auto& p) { p.kernels.pop_back(); }, "kernels are named for"},
      {"no kernel for a node", [](auto& p) { FirstKernel(p)->clear(); }, "no kernel is named"},
      {"one for nothing", [](auto& p) { p.kernels.back() = "abacus"; }, "nothing to run"},
      {"another kernel", [](auto& p) { *FirstKernel(p) = "abacus"; }, "no kernel 'abacus'"},
      {"a part less", [](auto& p) { p.weights.pop_back(); }, "weights are packed as"},
      {"another layout", [](auto& p) { p.weights[0].key += "?"; }, "weights are packed as"},
      {"another var", [](auto& p) { p.weights[0].var += 1; }, "weights are packed as"},
      {"elsewhere", [](auto& p) { p.weights[0].offset += 64; }, "weights are packed as"},
      {"larger", [](auto& p) { p.weights[0].bytes += 64; }, "weights are packed as"},
      {"pool too small", [](auto& p) { p.pool_bytes -= 64; }, "weights are packed as"},
  };
  const FileBytes file(File());
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    PackedModel packed = *Value(file.Read());
    c.change(packed);
    const absl::Status status = Executable::FromPacked(std::move(packed), {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(FailsWith(status, c.message));
  }
}

TEST_F(PackedModelTest, TheCommandSaysWhyItPacksAnew) {
  const std::string good = Ashlar("run model.ash").out;
  const ProcessResult used = Ashlar("run packed.ash");
  EXPECT_EQ(used.out, good);
  EXPECT_EQ(used.err, "");
  const ProcessResult other = Ashlar("run packed.ash --passes fold_scale");
  EXPECT_EQ(other.exit_code, 0);
  EXPECT_THAT(other.err, HasSubstr("packing anew"));
  const ProcessResult reshaped = Ashlar("run packed.ash --shape data=1x3x16x16");
  EXPECT_EQ(reshaped.exit_code, 0) << reshaped.err;
  EXPECT_EQ(Ashlar("convert model.ash -o packed.onnx --pack").exit_code, 2);

  std::string file = File();  // another processor's; its name is as long
  const std::string processor(Name(Value(OpenDevice({}))->processor().isa));
  const size_t at = file.find(processor, Header().packed_offset);
  ASSERT_NE(at, std::string::npos);
  file.replace(at, processor.size(), std::string(processor.size(), 'x'));
  CommandTest::Write("other.ash", Sealed(file));
  const ProcessResult foreign = Ashlar("run other.ash");
  EXPECT_EQ(foreign.exit_code, 0);
  EXPECT_EQ(foreign.out, good);
  EXPECT_THAT(foreign.err, HasSubstr("weights are packed for 'xxx"));
}

// Regression: every run packed the weights of a file again, if its plan was tiled.
TEST_F(PackedModelTest, PartsArePackedAndUsed) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o squeezenet.ash").exit_code, 0);
  for (const std::string options :
       {"--memory-budget min", "--memory-budget 290000 --max-extra-flops 0.5",
        "--tile 0-54:lines4 --prefer memory", "--tile 0-54:rows2 --exact", "--prefer memory",
        "--exact --inplace off", "--passes fold_constants,fold_scale"}) {
    SCOPED_TRACE(options);
    ASSERT_EQ(Ashlar("convert squeezenet.ash --pack -o p.ash " + options).exit_code, 0);
    const ProcessResult fresh = Ashlar("run squeezenet.ash -o fresh.npz " + options);
    ASSERT_EQ(fresh.exit_code, 0) << fresh.err;
    // With the options of packing, and without any: the file's options are the defaults.
    for (const std::string& given : {options, std::string()}) {
      SCOPED_TRACE(given);
      const ProcessResult run = Ashlar("run p.ash -o packed.npz " + given);
      EXPECT_EQ(run.exit_code, 0);
      EXPECT_EQ(run.err, "");
      EXPECT_TRUE(CommandTest::Read("packed.npz") == CommandTest::Read("fresh.npz"));
    }
    const nlohmann::json plan = Ashlar("plan squeezenet.ash --json " + options).Json();
    const nlohmann::json packed = Ashlar("plan p.ash --json").Json();
    EXPECT_EQ(packed["packed"], true);
    for (const char* key : {"pools", "tile", "prefer", "extra_flops_ratio", "comp_seq"}) {
      EXPECT_EQ(packed[key], plan[key]) << key;
    }
    EXPECT_EQ(Ashlar("verify p.ash").exit_code, 0);
    EXPECT_EQ(Ashlar("bench p.ash --warmup 0 --iterations 1").err, "");
  }
}

// Regression: `verify` packed the weights again in memory, and so had another total than `plan`.
TEST_F(PackedModelTest, VerifyMeasuresThePlanThatPlanShows) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o squeezenet.ash").exit_code, 0);
  for (const std::string options : {"", "--tile 0-54:lines4 --prefer memory", "--exact"}) {
    SCOPED_TRACE(options);
    ASSERT_EQ(Ashlar("convert squeezenet.ash --pack -o p.ash " + options).exit_code, 0);
    for (const char* file : {"p.ash", "squeezenet.ash"}) {
      for (const char* given : {"", " --threads 1", " --passes none"}) {
        const nlohmann::json plan = Ashlar(absl::StrCat("plan --json -q ", file, given)).Json();
        const ProcessResult verified = Ashlar(absl::StrCat("verify --json -q ", file, given));
        EXPECT_EQ(verified.exit_code, 0) << verified.err;
        const nlohmann::json verify = verified.Json();
        for (const char* key : {"planned_bytes", "parts", "address_space_bytes"}) {
          EXPECT_EQ(verify["total"][key], plan["total"][key]) << file << given << " " << key;
        }
        EXPECT_EQ(verify["pools"]["weights"]["planned_bytes"],
                  plan["pools"]["weights"]["planned_bytes"]);
        const bool in_file = plan["packed"].get<bool>();
        EXPECT_EQ(in_file, plan["total"]["parts"]["weights_in_file_bytes"] != 0);
        EXPECT_EQ(verify["pools"]["weights"]["method"] == "read-only, packed in the mapped file",
                  in_file);
      }
    }
  }
}

TEST_F(PackedModelTest, OptionsThatDifferAreNamed) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o squeezenet.ash").exit_code, 0);
  ASSERT_EQ(
      Ashlar("convert squeezenet.ash --pack -o p.ash --tile 0-54:rows2 --prefer memory").exit_code,
      0);
  const struct {
    const char* options;
    const char* packed;
    const char* asked;
  } cases[] = {
      {"--prefer speed", "prefer memory", "prefer speed"},
      {"--tile 0-54:rows3", "tile 0-54:rows2", "tile 0-54:rows3"},
      {"--tile ''", "tile 0-54:rows2", "tile none"},
      {"--exact", "exact off", "exact on"},
      {"--tile 0-54:rows3 --exact", "exact off, tile 0-54:rows2", "exact on, tile 0-54:rows3"},
  };
  for (const auto& c : cases) {
    const ProcessResult run = Ashlar(absl::StrCat("run p.ash ", c.options));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_THAT(run.err, HasSubstr(absl::StrCat("weights are packed under '", c.packed,
                                                "', asked for is '", c.asked, "'; packing anew")));
  }
  EXPECT_THAT(Ashlar("run p.ash --plan-time 20ms --memory-budget min").err,
              HasSubstr("budget none', asked for is 'prefer speed, tile none, budget min'"));
}

TEST_F(PackedModelTest, OptionsAreReadAsTheyAreWritten) {
  PlanRequest options;
  EXPECT_EQ(PackingOptionsText(options), "layouts 2, passes all");
  options.planning.passes = "fuse,layout";
  options.planning.kernels = {.exact = true, .low_workspace = true};
  options.planning.inplace = false;
  options.target.tiles = Value(TileSpec::Parse("2-180:batch10(2-96:lines14;96-117:rows2)"));
  options.target.budget = MemoryBudget{4096, 0.25, false};
  const std::string text = PackingOptionsText(options);
  EXPECT_EQ(text,
            "layouts 2, passes fuse,layout, inplace off, prefer memory, exact on, tile "
            "2-180:batch10(2-96:lines14;96-117:rows2), budget 4096, max extra FLOPs 0.25");
  EXPECT_EQ(PackingOptionsText(Value(ParsePackingOptions(text))), text);
  for (const char* other : {"layouts 1, passes all", "layouts 2, passes all, in parts", "",
                            "layouts 2, passes fast", "layouts 2, passes all, budget -1"}) {
    EXPECT_EQ(ParsePackingOptions(other).status().code(), absl::StatusCode::kFailedPrecondition)
        << other;
  }
}

// Regression: without views more nodes run than the file names kernels for, and their outputs were
// not written.
TEST_F(PackedModelTest, WithoutViewsItIsPackedAnew) {
  const std::string good = Ashlar("run model.ash --inplace off -o good.npz").out;
  const ProcessResult run = Ashlar("run packed.ash --inplace off -o packed.npz");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("packing anew"));
  EXPECT_TRUE(CommandTest::Read("packed.npz") == CommandTest::Read("good.npz"));
}

TEST_F(PackedModelTest, TruncatedFilesAreRefused) {
  const std::string file = File();
  const size_t first = Header().packed_offset;
  // Every length that cuts an index, and some that cut the pool.
  for (size_t length = first - 1; length < file.size();
       length += length < Packed().pool_offset ? 1 : 997) {
    const absl::Status status = ReadAndCompile(file.substr(0, length));
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << length;
  }
}

// The file is refused, its weights are ignored, or nothing that can be checked changes.
TEST_F(PackedModelTest, EveryFlippedByteOfTheHeadersAndTheIndexIsSurvived) {
  const std::string file = File();
  const NativeHeader header = Header();
  const size_t index_end = header.packed_offset + sizeof(PackedHeader) + Packed().index_bytes;
  int refused = 0;
  const auto check = [&](size_t at) {
    std::string bad = file;
    bad[at] = static_cast<char>(~bad[at]);
    ASSERT_FALSE(ReadAndCompile(bad).ok()) << "byte " << at << ", which no checksum covers";
    if (at < kNativeHeaderBytes) return;
    // With valid checksums, as if a writer had written it.
    const absl::Status status = ReadAndCompile(Sealed(std::move(bad)));
    refused += !status.ok();
    ASSERT_TRUE(status.ok() || status.code() == absl::StatusCode::kInvalidArgument ||
                status.code() == absl::StatusCode::kFailedPrecondition)
        << "byte " << at << ": " << status;
    const size_t in_header = at - header.packed_offset;
    const bool checksum = in_header >= offsetof(PackedHeader, pool_checksum);
    if (in_header < sizeof(PackedHeader) && !checksum) {
      ASSERT_FALSE(status.ok()) << "byte " << at;
    }
  };
  for (size_t i = 0; i < kNativeHeaderBytes; ++i) check(i);
  for (size_t i = header.packed_offset; i < index_end; ++i) check(i);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace ashlar::testing
