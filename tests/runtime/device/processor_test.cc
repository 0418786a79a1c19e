#include "runtime/device/processor.h"

#include <gtest/gtest.h>

#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::FailsWith;
using testing::Value;

TEST(Processor, IsReadAsItIsWritten) {
  for (const char* text :
       {"amx_bf16/48K/2M", "amx_int8/48K/2M", "avx512_bf16/48K/1M", "avx512/48K/2M",
        "avx512_vnni/32K/1M", "avx2_vnni/48K/1280K", "avx512/32K/1M", "avx2/32K/512K",
        "avx2/48K/1280K", "neon/64K/512K", "baseline/32K/256K", "baseline/32K/300000", "generic",
        "cortex-m4", "cortex-m7", "cortex-m55", "rv32imc"}) {
    EXPECT_EQ(Value(Processor::Parse(text)).ToString(), text);
  }
  EXPECT_EQ(Value(Processor::Parse("avx2/32768/1024K")),
            (Processor{.isa = Isa::kAvx2, .l1_bytes = 32768, .l2_bytes = 1 << 20}));
  EXPECT_EQ(Value(Processor::Parse("avx2/32768/1024K")).ToString(), "avx2/32K/1M");
}

TEST(Processor, WhatIsNoneIsRefused) {
  for (const char* text : {"",
                           "neon_vnni/48K/2M",
                           "baseline_vnni/48K/2M",
                           "_vnni/48K/2M",
                           "amx_int8_vnni/48K/2M",
                           "avx2_bf16/48K/2M",
                           "avx512",
                           "avx512/48K",
                           "avx512/48K/2M/32M",
                           "avx9/48K/2M",
                           "AVX2/48K/2M",
                           "/48K/2M",
                           "avx2//2M",
                           "avx2/48k/2M",
                           "avx2/K/2M",
                           "avx2/-48K/2M",
                           "avx2/0/2M",
                           "avx2/1K/2M",
                           "avx2/48K/2000000000M",
                           "cortex-m3",
                           "cortex-m7/16K/0",
                           "Generic",
                           "avx2/48K/99999999999999999999"}) {
    const absl::Status status = Processor::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_TRUE(FailsWith(status, "is no processor")) << text;
  }
}

TEST(Processor, RunsWhatItsInstructionSetContains) {
  for (const Isa best : kIsas) {
    std::string runs;
    for (const Isa isa : kIsas) runs += Contains(best, isa) ? '1' : '0';
    EXPECT_EQ(runs, best == Isa::kBaseline ? "1000"
                    : best == Isa::kNeon   ? "1100"
                    : best == Isa::kAvx2   ? "1010"
                                           : "1011");
  }
}

// Their kernels are C99, which every processor runs.
TEST(Processor, RunsWhatMicrocontrollersRun) {
  const Processor m55 = Value(Processor::Parse("cortex-m55"));
  EXPECT_TRUE(Value(Processor::Parse("generic")).Runs(m55));
  EXPECT_TRUE(Value(Processor::Parse("baseline/32K/256K")).Runs(m55));
  EXPECT_FALSE(m55.Runs(Value(Processor::Parse("avx2/32K/256K"))));
}

TEST(Processor, RunsWhatItsVnniAndAmxContain) {
  const char* const sets[] = {"baseline",    "avx2",        "avx2_vnni", "avx512",
                              "avx512_vnni", "avx512_bf16", "amx_int8",  "amx_bf16"};
  const auto runs = [&](absl::string_view best) {
    std::string which;
    for (const char* set : sets) {
      const Processor host = Value(Processor::Parse(absl::StrCat(best, "/32K/1M")));
      which += host.Runs(Value(Processor::Parse(absl::StrCat(set, "/48K/2M")))) ? '1' : '0';
    }
    return which;
  };
  EXPECT_EQ(runs("avx2"), "11000000");
  EXPECT_EQ(runs("avx2_vnni"), "11100000");
  EXPECT_EQ(runs("avx512"), "11010000");
  EXPECT_EQ(runs("avx512_vnni"), "11111000");
  EXPECT_EQ(runs("avx512_bf16"), "11111100");
  EXPECT_EQ(runs("amx_int8"), "11111010");
  EXPECT_EQ(runs("amx_bf16"), "11111111");
}

}  // namespace
}  // namespace ashlar
