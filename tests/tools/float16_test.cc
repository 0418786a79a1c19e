// Models on the CPU with tensors of 16-bit floats: half the memory, the same results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"
#include "serialization/npz.h"
#include "serialization/onnx/import/reader.h"
#include "tests/support/command/command_process.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tools/zoo/zoo.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PlanRequest In16Bits(DType precision, int threads = 1, const char* tiles = nullptr) {
  PlanRequest request;
  request.target.precision = precision;
  request.target.threads = threads;
  if (tiles != nullptr) request.target.tiles = Value(TileSpec::Parse(tiles));
  return request;
}

Graph ModelOf(const std::string& name, const ZooOptions& options) {
  for (const ZooModel& model : ZooModels()) {
    if (model.name == name) return Value(model.build(options));
  }
  ADD_FAILURE() << "no model " << name;
  return Graph();
}

struct Golden {
  const char* model;
  ZooOptions options;
  int64_t floats;   // bytes of arena
  int64_t float16;  // Float16 limit: half, and the widened run of tiles
};

const Golden kGoldens[] = {
    {"resnet50", {.batch = 10}, 52183040, 26234880},
    {"resnet50", {.batch = 1}, 5218304, 2752512},
    {"mobilenet_v2", {.batch = 1}, 6021120, 3060736},
};

class Float16Golden : public ::testing::TestWithParam<Golden> {};
INSTANTIATE_TEST_SUITE_P(Zoo, Float16Golden, ::testing::ValuesIn(kGoldens),
                         [](const ::testing::TestParamInfo<Golden>& test) {
                           return absl::StrCat(test.param.model, "_", test.param.options.batch);
                         });

TEST_P(Float16Golden, TheArenaIsHalfOfThatOfFloats) {
  cpu::RegisterDevice();
  const Golden& golden = GetParam();
  const Graph graph = ModelOf(golden.model, golden.options);
  for (const char* processor : {"avx512/48K/2M", "avx2/32K/512K", "neon/64K/512K"}) {
    SCOPED_TRACE(processor);
    PlanRequest request = In16Bits(DType::kFloat16);
    request.target.processor = Value(Processor::Parse(processor));
    const int64_t arena = Value(PlanGraph(graph, request))->plan.plan.arena;
    EXPECT_GE(arena, golden.floats / 2);
    EXPECT_LE(arena, golden.float16);
  }
}

// Weights are stored in 16 bits, too: the limits are for arena and weights.
TEST(BFloat16Golden, ArenaAndWeightsAreHalfOfThoseOfFloats) {
  cpu::RegisterDevice();
  constexpr double kLimit = 0.52;
  for (const auto& [model, weights] :
       {std::pair("resnet50", int64_t{51060944}), std::pair("mobilenet_v2", int64_t{6984336})}) {
    const Graph graph = ModelOf(model, {.batch = 1});
    for (const char* processor :
         {"amx_bf16/48K/2M", "avx512/48K/2M", "avx2/32K/512K", "neon/64K/512K"}) {
      SCOPED_TRACE(absl::StrCat(model, " on ", processor));
      PlanRequest floats, halves = In16Bits(DType::kBFloat16);
      floats.target.processor = halves.target.processor = Value(Processor::Parse(processor));
      // Without Winograd's larger weights.
      floats.planning.kernels.exact = true;
      const auto of_floats = Value(PlanGraph(graph, floats));
      const auto of_halves = Value(PlanGraph(graph, halves));
      EXPECT_LE(static_cast<double>(of_halves->plan.plan.arena),
                kLimit * static_cast<double>(of_floats->plan.plan.arena));
      // AMX's tiles need whole panels of 32 channels, and zeros at the ends of some pixels.
      if (!halves.target.processor->amx_bf16) {
        EXPECT_EQ(of_halves->weights.bytes, weights);
      }
      EXPECT_LE(static_cast<double>(of_halves->weights.bytes),
                kLimit * static_cast<double>(of_floats->weights.bytes));
    }
  }
}

class HalfModels : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Halves, HalfModels, ::testing::Values(DType::kFloat16, DType::kBFloat16),
                         [](const auto& test) { return std::string(Name(test.param)); });

TEST_P(HalfModels, DigitsAreTheSame) {
  const Graph graph = Value(ReadOnnx(SharedData("data/int8/digits/digits.onnx"), {}));
  const NamedTensors named = Value(ReadNpz(SharedData("data/int8/digits/digits.npz")));
  const std::map<std::string, HostTensor> arrays(named.begin(), named.end());
  const HostTensor& images = arrays.at("test_images");
  const float mean = arrays.at("mean").data<float>()[0], std = arrays.at("std").data<float>()[0];
  LoadedModel floats(graph, PlanRequest()), halves(graph, In16Bits(GetParam()));
  const auto digit = [](const HostTensor& logits) {
    int best = 0;
    for (int i = 1; i < 10; ++i) best = logits.At(i) > logits.At(best) ? i : best;
    return best;
  };
  int same = 0;
  const int64_t count = kSanitized ? 20 : images.shape()[0];
  for (int64_t i = 0; i < count; ++i) {
    HostTensor image = HostTensor::Zeros(DType::kFloat32, {1, 1, 8, 8});
    for (int64_t j = 0; j < 64; ++j) {
      const float pixel = static_cast<float>(images.At(i * 64 + j));
      image.mutable_data<float>()[j] = (pixel / 255 - mean) / std;
    }
    same += digit(floats.Run({{"x", image}})[0]) == digit(halves.Run({{"x", image}})[0]);
  }
  EXPECT_EQ(same, count);
  EXPECT_TRUE(kSanitized || count == 450);
}

// Tiles and threads do not change the bits.
TEST_P(HalfModels, TilesAndThreadsGiveTheSameBits) {
  const Graph graph = ModelOf("mobilenet_v2", {.batch = 2, .image = 64});
  std::mt19937_64 random(3);
  const HostTensor image = RandomTensor(random, DType::kFloat32, {2, 3, 64, 64});
  const auto run = [&](const PlanRequest& request) {
    return LoadedModel(graph, request).Run({{graph.inputs()[0].name, image}})[0];
  };
  const HostTensor whole = run(In16Bits(GetParam()));
  const auto same = [&](const HostTensor& other) {
    return std::memcmp(whole.raw(), other.raw(), static_cast<size_t>(whole.bytes())) == 0;
  };
  EXPECT_TRUE(same(run(In16Bits(GetParam(), 3))));
  EXPECT_TRUE(same(run(In16Bits(GetParam(), 1, "0-188:batch2"))));
  const HostTensor floats = run(PlanRequest());
  EXPECT_LE(LargestDifference(whole, floats), 0.1);  // for probabilities of random weights
  EXPECT_GT(LargestDifference(whole, floats), 1e-6) << "nothing was rounded";
}

class Float16CommandTest : public CommandTest {};

TEST_F(Float16CommandTest, UsesWhatWasPlanned) {
  ASSERT_EQ(Ashlar("zoo mobilenet_v2 --image 96 -o model.ash --quiet").exit_code, 0);
  for (const char* options :
       {"fp16", "fp16 --threads 2", "bf16", "bf16 --threads 2", "bf16 --memory-budget 350KB"}) {
    const ProcessResult result =
        Ashlar(absl::StrCat("verify model.ash --json --quiet --precision ", options));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_TRUE(result.Json()["ok"]);
    // The last bytes of a workspace belong to the longest run of tiles.
    EXPECT_LE(result.Json()["pools"]["arena"]["actual_bytes"],
              result.Json()["pools"]["arena"]["planned_bytes"]);
  }
  EXPECT_EQ(Ashlar("compare model.ash --precision fp16 --rtol 0.1").exit_code, 0);
  const ProcessResult layers =
      Ashlar("compare model.ash --precision bf16 --layers all --rtol 0.5 --json");
  ASSERT_EQ(layers.exit_code, 0) << layers.err;
  EXPECT_GT(layers.Json()["layers"].size(), 50);
  const double first = layers.Json()["layers"][0]["max_rel"];  // of one convolution's rounding
  EXPECT_GT(first, 1e-4);
  EXPECT_LT(first, 1.0 / 128);
}

// It is never chosen without a word, so plans of floats say what it would bring.
TEST_F(Float16CommandTest, PlansSayWhatBFloat16WouldBring) {
  ASSERT_EQ(Ashlar("zoo mobilenet_v2 --image 96 -o model.ash --quiet").exit_code, 0);
  const auto plan = [&](const char* options) {
    return Ashlar(absl::StrCat("plan model.ash ", options));
  };
  EXPECT_THAT(plan("--processor avx512_vnni/48K/2M").out,
              HasSubstr("bf16 (--precision bf16, not used): half the bytes, and not faster on this "
                        "processor; values are rounded to 8 bits"));
  EXPECT_THAT(plan("--processor amx_bf16/48K/2M").out,
              HasSubstr("not used): half the bytes, and products in AMX's tiles"));
  EXPECT_THAT(plan("--processor avx512_bf16/48K/1M").out,
              HasSubstr("not used): half the bytes, and products by AVX512_BF16"));
  EXPECT_THAT(plan("--precision bf16").out, Not(HasSubstr("not used")));
  const Json tiles = plan("--processor amx_bf16/48K/2M --json --quiet").Json()["bf16"];
  EXPECT_TRUE(tiles["tiles"]);
  EXPECT_TRUE(tiles["dots"]);
  EXPECT_EQ(tiles["operators"], 53);
  EXPECT_TRUE(plan("--precision fp16 --json --quiet").Json()["bf16"].is_null());
}

}  // namespace
}  // namespace ashlar::testing
