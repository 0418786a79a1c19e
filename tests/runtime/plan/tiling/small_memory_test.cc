// Arenas of small 8-bit networks, for which others have published theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/passes/pass.h"
#include "nlohmann/json.hpp"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/elemwise_multi_type.h"
#include "opr/pooling.h"
#include "opr/quantized_conv.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/tiling/graph_cuts.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"
#include "tests/support/environment.h"
#include "tests/support/graph_maker.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar {
namespace {

using nlohmann::json;
using testing::GraphMaker;
using testing::SharedData;
using testing::Value;

constexpr OutputType kBytes = {DType::kQuantizedS8, 0.05f, 3};

// Returns integers from -least to least.
HostTensor AnyIntegers(DType dtype, const Shape& shape, int least) {
  HostTensor tensor = HostTensor::Zeros(dtype, shape);
  std::mt19937 random(1);
  for (int64_t i = 0; least > 0 && i < tensor.num_elements(); ++i) {
    tensor.Set(i, static_cast<int>(random() % (2 * static_cast<unsigned>(least) + 1)) - least);
  }
  return tensor;
}

// Builds a network of nets.json, which lists operators as: kind, name, inputs, output, window,
// stride, padding, activation.
class NetMaker {
 public:
  // Weights are 0, or random with `any`.
  explicit NetMaker(const json& net, bool any = false)
      : net_(net), any_(any), vars_(net["tensors"].size(), -1) {}

  Graph Make() && {
    const int input = net_["input_tensor"];
    if (floats_) {
      var(input) = maker_.Input("x", ShapeOf(input), DType::kFloat32);
      for (const json& op : net_["ops"]) var(op[3]) = Add(op);
      maker_.Output(var(net_["output_tensor"]));
      return std::move(maker_).Build();
    }
    const int bytes = maker_.Input("x", ShapeOf(input), DType::kInt8);
    vars_[static_cast<size_t>(input)] =
        maker_.Add<TypeCvt>({kBytes.dtype, kBytes.scale, kBytes.zero_point}, {bytes});
    for (const json& op : net_["ops"]) var(op[3]) = Add(op);
    maker_.Output(maker_.Add<TypeCvt>({DType::kInt8}, {var(net_["output_tensor"])}, "y"));
    return std::move(maker_).Build();
  }
  // Builds the network in Float32.
  Graph MakeOfFloats() && {
    floats_ = true;
    return std::move(*this).Make();
  }

 private:
  int& var(int tensor) { return vars_[static_cast<size_t>(tensor)]; }
  Shape ShapeOf(int tensor) const {
    const json& chw = net_["tensors"][static_cast<size_t>(tensor)];
    return {1, chw[0], chw[1], chw[2]};
  }

  int Add(const json& op) {
    const std::string kind = op[0], name = op[1], activation = op[7];
    const int x = var(op[2][0]);
    const ScalarFunction function = activation == "relu"    ? ScalarFunction::kRelu
                                    : activation == "relu6" ? ScalarFunction::kClamp
                                                            : ScalarFunction::kIdentity;
    if (kind == "add") {
      const bool rectified = function == ScalarFunction::kRelu;
      const ScalarFunction sum = rectified ? ScalarFunction::kFuseAddRelu : ScalarFunction::kAdd;
      const std::vector<int> terms = {x, var(op[2][1])};
      return floats_ ? maker_.Add<Elemwise>({sum}, terms, name)
                     : maker_.Add<ElemwiseMultiType>({{sum}, kBytes}, terms, name);
    }
    if (kind == "avg") {
      PoolingParam param;
      param.mode = PoolingMode::kAverage;
      param.window_h = op[4][0], param.window_w = op[4][1];
      param.stride_h = op[5][0], param.stride_w = op[5][1];
      if (!floats_) param.output = kBytes;
      return maker_.Add<PoolingForward>(param, {x}, name);
    }
    if (kind == "softmax" && floats_) return maker_.Add<Softmax>({1}, {x}, name);
    if (kind == "softmax") {
      const int floats = maker_.Add<TypeCvt>({DType::kFloat32}, {x});
      const int y = maker_.Add<Softmax>({1}, {floats}, name);
      return maker_.Add<TypeCvt>({kBytes.dtype, 1.0 / 256, -128}, {y});
    }
    return AddConvolution(kind, op, function);
  }

  int AddConvolution(const std::string& kind, const json& op, ScalarFunction function) {
    int x = var(op[2][0]);
    const Shape to = ShapeOf(op[3]);
    const int64_t elements = maker_.var(x).type.shape.num_elements();
    if (kind == "fc") x = Reshaped(x, {1, elements, 1, 1});
    const int64_t channels = maker_.var(x).type.shape[1];
    ConvBiasParam param;
    param.nonlineMode = function;
    if (function == ScalarFunction::kClamp) param.parameters = {0, 6};
    if (!floats_) param.output = kBytes;
    Shape filter = {to[1], channels, 1, 1};
    if (kind != "fc") {
      filter[2] = op[4][0], filter[3] = op[4][1];
      param.stride_h = op[5][0], param.stride_w = op[5][1];
      param.pad_h = op[6][0], param.pad_w = op[6][1];
      param.pad_h_end = op[6][2], param.pad_w_end = op[6][3];
    }
    if (kind == "dw") {
      param.sparse = SparseMode::kGroup;
      filter = {channels, to[1] / channels, 1, filter[2], filter[3]};
    }
    const Shape bias_shape = {1, to[1], 1, 1};
    if (floats_) {
      const int w = maker_.Constant(HostTensor::Zeros(DType::kFloat32, filter));
      const int bias = maker_.Constant(HostTensor::Zeros(DType::kFloat32, bias_shape));
      return maker_.Add<ConvBiasForward>(param, {x, w, bias}, op[1]);
    }
    // The scale at which sums of random weights seldom saturate.
    const double products = static_cast<double>(filter.num_elements() / to[1]);
    const float scale = static_cast<float>(0.01 / std::sqrt(products));
    const auto constant = [&](DType dtype, const Shape& shape, int most, float of) {
      const HostTensor integers = AnyIntegers(StoredAs(dtype), shape, any_ ? most : 0);
      return maker_.Constant(integers.As(dtype, Value(Quantization::Make(dtype, {of}))));
    };
    const int w = constant(DType::kQuantizedS8, filter, 127, scale);
    const int bias = constant(DType::kQuantizedS32, bias_shape, 999,
                              maker_.var(x).type.quantization.scale() * scale);
    return maker_.Add<ConvBiasForward>(param, {x, w, bias}, op[1]);
  }

  int Reshaped(int x, const Shape& shape) {
    if (maker_.var(x).type.shape == shape) return x;
    HostTensor target = HostTensor::Zeros(DType::kInt64, {shape.rank()});
    for (int i = 0; i < shape.rank(); ++i) target.Set(i, static_cast<double>(shape[i]));
    return maker_.Add<Reshape>({}, {x, maker_.Constant(target)});
  }

  const json& net_;
  const bool any_;
  bool floats_ = false;
  GraphMaker maker_;
  std::vector<int> vars_;  // by tensor
};

// Requests tiles, with sums separate from convolutions or fused into them.
PlanRequest InTiles(const std::string& tiles, bool sums_apart = true) {
  PlanRequest request;
  if (sums_apart && !tiles.empty()) request.planning.passes = Value(PassesWithout("all", "sum"));
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  if (!tiles.empty()) request.target.tiles = Value(TileSpec::Parse(tiles));
  return request;
}

// Requests `--memory-budget min --max-extra-flops 0`.
PlanRequest ForTheLeast() {
  PlanRequest request = InTiles("");
  request.target.budget = MemoryBudget{0, /*max_extra_flops=*/0};
  return request;
}

int64_t ArenaOf(const json& net, const std::string& tiles = "", bool sums_apart = true) {
  return Value(PlanGraph(NetMaker(net).Make(), InTiles(tiles, sums_apart)))->plan.plan.arena;
}

json Nets() {
  std::ifstream file(SharedData("data/int8/nets.json"));
  return json::parse(file)["nets"];
}

// Untiled: a byte per element, and no copies beside values in place. In tiny-ic, sums fused into
// convolutions save a third.
TEST(SmallMemory, ArenasOfNetworksInEightBits) {
  cpu::RegisterDevice();
  const json nets = Nets();
  const std::pair<const char*, int64_t> kArenas[] = {
      {"mbv2-1.0-224", 1505280}, {"mcunet-in0", 46080},  {"mcunet-in2", 332800},
      {"mcunet-in3", 340736},    {"mcunet-in4", 422400}, {"proxyless-1.0", 802816},
      {"tiny-vww", 55296},       {"tiny-ic", 32768},     {"tiny-kws", 16000},
      {"tiny-ad", 256},
  };
  for (const auto& [name, bytes] : kArenas) EXPECT_LE(ArenaOf(nets[name]), bytes) << name;
}

// A network in tiles that recompute nothing, and the bytes that its specification states. The tiles
// are found by `plan --memory-budget min --max-extra-flops 0` or, for tiny-kws, by hand.
struct TiledNet {
  const char* name;
  const char* tiles;
  int64_t bytes;
  bool sums_apart = true;
};

class TiledSmallMemory : public ::testing::TestWithParam<TiledNet> {};

INSTANTIATE_TEST_SUITE_P(
    Networks, TiledSmallMemory,
    ::testing::Values(
        TiledNet{"mbv2-1.0-224",
                 "0-76:lines112;76-134:lines14;134-154:lines3;154-194:lines3;194-212:lines3;"
                 "212-252:lines14;252-270:lines3",
                 125000},
        TiledNet{"mcunet-in0", "0-38:rolling12;38-58:lines3;58-96:rolling3", 16000},
        TiledNet{"mcunet-in2",
                 "0-58:lines40;58-78:lines10;78-116:lines20;116-136:lines5;136-156:lines5", 89600},
        TiledNet{"mcunet-in3",
                 "0-58:lines88;58-78:rolling44;78-98:rolling44;98-116:rolling44;116-174:rolling22;"
                 "174-194:rolling11;220-272:rolling11",
                 59840},
        TiledNet{"mcunet-in4", "0-58:lines32;58-78:lines40;78-96:lines20;96-136:lines5", 118300},
        TiledNet{"proxyless-1.0",
                 "0-96:lines28;96-136:lines7;136-154:lines14;214-252:lines7;252-292:lines14;"
                 "292-310:lines7",
                 149700},
        TiledNet{"tiny-vww", "0-50:lines96;50-74:lines12;74-158:lines6", 12800},
        TiledNet{"tiny-ic", "2-62:lines32;62-78:lines2", 15600},
        TiledNet{"tiny-ic", "2-60:lines32", 14848, false},
        TiledNet{"tiny-kws", "2-72:lines49", 11270}),
    [](const auto& net) {
      std::string name = absl::StrCat(net.param.name, net.param.sums_apart ? "" : "_sums_inside");
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

TEST_P(TiledSmallMemory, FitsIntoTheBytesAskedFor) {
  const TiledNet& net = GetParam();
  if (testing::kSanitized && net.bytes > 12000) GTEST_SKIP() << "takes long under sanitizers";
  cpu::RegisterDevice();
  const auto planned =
      Value(PlanGraph(NetMaker(Nets()[net.name]).Make(), InTiles(net.tiles, net.sums_apart)));
  EXPECT_LE(planned->plan.plan.arena, net.bytes);
  EXPECT_EQ(planned->extra_flops_ratio, 0);
}

// Regression: only segments between 16 of the cuts were tried, and mcunet-in0 took 16,400.
TEST_P(TiledSmallMemory, TheSmallestIsFoundAsWell) {
  const TiledNet& net = GetParam();
  if (testing::kSanitized || (net.bytes > 12000 && !testing::LongTests())) {
    GTEST_SKIP() << testing::kTakesLong;
  }
  cpu::RegisterDevice();
  const json nets = Nets();
  const PlanRequest request = ForTheLeast();
  const auto planned = Value(PlanGraph(NetMaker(nets[net.name]).Make(), request));
  EXPECT_LE(planned->plan.plan.arena, ArenaOf(nets[net.name], net.tiles, net.sums_apart));
}

// The arenas of `--memory-budget min --max-extra-flops 0`. Regression: the first rewrites
// hid what others find: mcunet-in3 took 60,544 bytes, tiny-vww 11,040.
TEST(SmallMemory, SmallestArenasInEightBits) {
  if (testing::kSanitized) GTEST_SKIP() << "takes long";
  cpu::RegisterDevice();
  const json nets = Nets();
  const PlanRequest request = ForTheLeast();
  const std::pair<const char*, int64_t> kArenas[] = {
      {"mcunet-in2", 56320},     {"mcunet-in3", 59840}, {"mcunet-in4", 72000},
      {"mbv2-1.0-224", 87136},   {"tiny-vww", 10816},   {"tiny-ic", 11264},
      {"proxyless-1.0", 116032},
  };
  for (const auto& [name, bytes] : kArenas) {
    if (name != std::string("mcunet-in2") && !testing::LongTests()) continue;
    const auto planned = Value(PlanGraph(NetMaker(nets[name]).Make(), request));
    EXPECT_LE(planned->plan.plan.arena, bytes) << name;
    EXPECT_EQ(planned->extra_flops_ratio, 0) << name;
  }
}

// Regression: a search ended when the most promising segments were too small for tiles. mcunet-in0
// then took 5,376 bytes, mcunet-in2 52,800 and mcunet-in3 49,984. Without grids whose tiles read a
// part of a row MobileNetV2 took 37,632.
TEST(SmallMemory, SmallestArenasThatMayComputeMore) {
  if (testing::kSanitized || !testing::LongTests()) GTEST_SKIP() << testing::kTakesLong;
  cpu::RegisterDevice();
  const json nets = Nets();
  PlanRequest request = ForTheLeast();
  request.target.budget->max_extra_flops = 1.7;
  // By name, bytes, and the multiple of the usual work (`--plan-time`).
  const std::tuple<const char*, int64_t, int64_t> kArenas[] = {
      {"mcunet-in0", 4880, 1},  {"mcunet-in2", 22464, 1}, {"mcunet-in3", 26192, 1},
      {"mcunet-in4", 33600, 1}, {"tiny-vww", 6912, 1},    {"mbv2-1.0-224", 31232, 1},
      {"mcunet-in2", 22464, 4}};
  for (const auto& [name, bytes, multiple] : kArenas) {
    request.planning.planner.limits.work = multiple * memory::SearchLimits().work;
    const auto planned = Value(PlanGraph(NetMaker(nets[name]).Make(), request));
    EXPECT_LE(planned->plan.plan.arena, bytes) << name;
    EXPECT_LE(planned->extra_flops_ratio, 1.7) << name;
  }
}

// Regression: the search missed a plan of 69,632 bytes for tiny-ic and reported 131,072 as the
// smallest. Narrow networks do not fill blocks of 16 channels: row-major images are used if they
// need less, as in tiny-vww (52,224 bytes with blocks).
TEST(SmallMemory, SmallestArenasInFloats) {
  if (testing::kSanitized) GTEST_SKIP() << "takes long";
  cpu::RegisterDevice();
  const json nets = Nets();
  const PlanRequest request = ForTheLeast();
  const std::pair<const char*, int64_t> kArenas[] = {
      {"tiny-ic", 59392}, {"tiny-vww", 49152}, {"tiny-kws", 42240}};
  for (const auto& [name, bytes] : kArenas) {
    if (bytes > 45000 && !testing::LongTests()) continue;
    const auto planned = Value(PlanGraph(NetMaker(nets[name]).MakeOfFloats(), request));
    EXPECT_LE(planned->plan.plan.arena, bytes) << name;
    EXPECT_EQ(planned->smallest_budget, planned->plan.plan.arena);
  }
}

HostTensor Outputs(const json& net, const PlanRequest& request) {
  const auto executable = Value(Executable::Compile(NetMaker(net, true).Make(), request));
  const auto session = Value(Session::Create(executable));
  const Binding& input = executable->graph().inputs()[0];
  const Shape& shape = executable->graph().var(input.var).type.shape;
  const InputTensors inputs = {{input.name, AnyIntegers(DType::kInt8, shape, 127)}};
  const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
  EXPECT_TRUE(testing::IsOk(session->Run()));
  return outputs[0];
}

HostTensor Outputs(const json& net, const std::string& tiles, bool release_input = false,
                   bool sums_apart = true) {
  PlanRequest request = InTiles(tiles, sums_apart);
  request.target.release_input = release_input;
  return Outputs(net, request);
}

bool SameBits(const HostTensor& a, const HostTensor& b) {
  return a.bytes() == b.bytes() &&
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

TEST_P(TiledSmallMemory, GivesTheBitsOfTheWhole) {
  const TiledNet& net = GetParam();
  if (net.bytes > (testing::kSanitized ? 12000 : 20000)) GTEST_SKIP() << "takes long";
  cpu::RegisterDevice();
  const json nets = Nets();
  const HostTensor whole = Outputs(nets[net.name], "");
  const HostTensor tiled = Outputs(nets[net.name], net.tiles, false, net.sums_apart);
  EXPECT_TRUE(SameBits(whole, tiled));
}

// A network in tiles that compute rows again (TileSegment::again) or join strips in a pool, as
// `plan
// --memory-budget min --max-extra-flops RATIO` finds them or, for MobileNetV2, by hand.
struct RecomputingNet {
  const char* name;
  const char* tiles;
  int64_t bytes;
  double most;  // extra operations, over all of the network
  int64_t group_bytes = 0;
};

class RecomputingSmallMemory : public ::testing::TestWithParam<RecomputingNet> {};

INSTANTIATE_TEST_SUITE_P(
    Networks, RecomputingSmallMemory,
    ::testing::Values(
        RecomputingNet{"mbv2-1.0-224",
                       "0-76:rolling112~2~8~26~44~64;76-134:rolling28~82~102~122;"
                       "134-192:rolling14~140~160~180;192-250:rolling14~200~218~238;"
                       "250-288:rolling14;288-328:rolling7;328-336:rolling7",
                       68096, 0.52},
        RecomputingNet{"mcunet-in3",
                       "0-116:lines88~2~8~26~44~64~84~104;"
                       "116-328:lines22~122~142~162~180~200~220~238~258~278~296",
                       53392, 1},
        RecomputingNet{
            "mbv2-1.0-224",
            "0-76:rolling112~2~354~360~378~384~390~414~420~426~450~456~462;76-114:rolling14~498~"
            "504~522~528;114-134:grid3x3;134-152:rolling7;152-172:rolling7;172-192:rolling7;192-"
            "212:rolling7;212-250:rolling7~666~672~678~702~708~714;250-270:rolling3;270-288:lines7;"
            "288-328:rolling7;328-344:rolling2",
            52672, 0.3, 2688},
        RecomputingNet{"mcunet-in3",
                       "0-116:lines88~2~8~368~374~392~398~404~428~434~440~464~470~476~482~512~518~"
                       "524;116-174:lines11~548~554~560~584~590~596~620~626~632;174-192:rows3;192-"
                       "232:rows3;232-250:rows3;250-270:rows3;270-308:rows2",
                       39712, 0.71, 880},
        RecomputingNet{"tiny-vww", "0-74:lines48~2~20~32~56", 9984, 0.17},
        RecomputingNet{"tiny-vww", "0-74:lines48~2~8~20~32~56", 9696, 0.3},
        // Columns, each in strips.
        RecomputingNet{"tiny-vww",
                       "0-50:grid1x6(0-50:rolling96);50-74:rolling6~236~242~248~254;74-98:rolling6;"
                       "98-110:rolling3;110-122:rolling3;122-146:rolling3",
                       7680, 0.21, 192},
        RecomputingNet{"tiny-vww",
                       "0-74:grid1x6(0-74:rolling96~2~20~32~56);74-92:rolling6;92-104:rolling6;"
                       "104-116:rolling6;116-128:rolling6;128-146:rolling6",
                       6912, 1.03},
        RecomputingNet{"mcunet-in0",
                       "0-38:grid1x6(0-38:rolling48);38-56:rolling12;56-76:rolling12;76-96:grid4x4;"
                       "96-114:rolling6;114-134:rolling6;210-250:rolling3",
                       5376, 0.27, 384}),
    [](const auto& net) {
      std::string name = absl::StrCat(net.param.name, "_", net.param.bytes);
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

TEST_P(RecomputingSmallMemory, FitsAndGivesTheBitsOfTheWhole) {
  const RecomputingNet& net = GetParam();
  const bool large = net.bytes > 12000;
  if (testing::kSanitized && large) GTEST_SKIP() << "takes long under sanitizers";
  cpu::RegisterDevice();
  const json nets = Nets();
  PlanRequest request = InTiles(net.tiles, false);
  request.planning.group_bytes = net.group_bytes;
  const auto planned = Value(PlanGraph(NetMaker(nets[net.name]).Make(), request));
  EXPECT_LE(planned->plan.plan.arena, net.bytes);
  EXPECT_GT(planned->extra_flops_ratio, 0);
  EXPECT_LE(planned->extra_flops_ratio, net.most);
  if (large && !testing::LongTests()) return;
  EXPECT_TRUE(SameBits(Outputs(nets[net.name], ""), Outputs(nets[net.name], request)));
}

// Expanded images in groups of channels (PlanningOptions::group_bytes), each filtered before the
// next; nothing is computed twice. MobileNetV2 takes 105,504 bytes without.
TEST(SmallMemory, GroupsOfChannelsNeedLess) {
  if (testing::kSanitized) GTEST_SKIP() << "takes long under sanitizers";
  cpu::RegisterDevice();
  const json nets = Nets();
  PlanRequest request = InTiles(
      "0-76:rolling112;76-134:rolling28;134-192:rolling14;192-250:rolling14;250-288:rolling14;"
      "288-328:rolling7;328-336:rolling7",
      false);
  request.planning.group_bytes = 2700;
  const auto planned = Value(PlanGraph(NetMaker(nets["mbv2-1.0-224"]).Make(), request));
  EXPECT_LE(planned->plan.plan.arena, 87136);
  EXPECT_EQ(planned->extra_flops_ratio, 0);
  for (const char* const tiles : {"", "0-38:lines12", "0-76:rolling24"}) {
    PlanRequest small = InTiles(tiles, false);
    small.planning.group_bytes = 500;
    EXPECT_TRUE(SameBits(Outputs(nets["mcunet-in0"], ""), Outputs(nets["mcunet-in0"], small)));
  }
}

// A pool that joins strips: MobileNetV2's last image of 1280 channels, 62,720 bytes, never exists.
TEST(SmallMemory, APoolAddsWhatHasArrived) {
  if (testing::kSanitized) GTEST_SKIP() << "takes long under sanitizers";
  cpu::RegisterDevice();
  const json nets = Nets();
  const char* const kBefore =
      "0-76:rolling112~2~8~26~44~64;76-134:rolling28~82~102~122;134-192:rolling14~140~160~180;"
      "192-250:rolling14~200~218~238;250-288:rolling14;288-328:rolling7";
  const json& net = nets["mbv2-1.0-224"];
  const auto arena = [&](const std::string& tiles) { return ArenaOf(net, tiles, false); };
  EXPECT_EQ(arena(kBefore), 78400);  // and the 320 channels from which it is computed
  EXPECT_LE(arena(absl::StrCat(kBefore, ";328-336:rolling7")), 68096);
}

// Returns random tiles between two random cuts.
TileSpec AnyTiles(std::mt19937& random, const Graph& graph) {
  const std::vector<GraphCut> cuts = FindCuts(graph, testing::NodesInOrder(graph));
  const auto shape = [&](size_t cut) { return graph.var(cuts[cut].var).type.shape; };
  const auto id = [&](size_t cut) { return graph.node(graph.var(cuts[cut].var).producer).id; };
  size_t images = 1;  // cuts from here on have a single pixel
  while (images < cuts.size() && shape(images).rank() == 4 && shape(images)[2] > 1) ++images;
  const size_t from = random() % (images - 1), to = from + 1 + random() % (images - 1 - from);
  const int64_t rows = 1 + random() % shape(to)[2], columns = 1 + random() % shape(to)[3];
  const char* const kKinds[] = {"rows", "lines", "rolling", "grid", "inputgrid"};
  const size_t kind = random() % std::size(kKinds);
  return Value(TileSpec::Parse(absl::StrCat(id(from), "-", id(to), ":", kKinds[kind], rows,
                                            kind < 3 ? "" : absl::StrCat("x", columns))));
}

// Random tiles, unlike the choices of a search, and the least memory.
struct RandomlyTiledNet {
  const char* name;
  bool is_large = false;
};

class RandomlyTiledNets : public ::testing::TestWithParam<RandomlyTiledNet> {};

INSTANTIATE_TEST_SUITE_P(
    Networks, RandomlyTiledNets,
    ::testing::Values(RandomlyTiledNet{"tiny-ic"}, RandomlyTiledNet{"tiny-kws"},
                      RandomlyTiledNet{"tiny-vww"}, RandomlyTiledNet{"mcunet-in0"},
                      RandomlyTiledNet{"mcunet-in2", true}, RandomlyTiledNet{"mcunet-in3", true},
                      RandomlyTiledNet{"mcunet-in4", true}, RandomlyTiledNet{"proxyless-1.0", true},
                      RandomlyTiledNet{"mbv2-1.0-224", true}),
    [](const auto& net) {
      std::string name = net.param.name;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

TEST_P(RandomlyTiledNets, AnyTilesGiveTheBitsOfTheWhole) {
  if (testing::kSanitized) GTEST_SKIP() << "takes long under sanitizers";
  if (GetParam().is_large && !testing::LongTests()) GTEST_SKIP() << testing::kTakesLong;
  cpu::RegisterDevice();
  const json nets = Nets();
  const json& net = nets[GetParam().name];
  const HostTensor whole = Outputs(net, "");
  const Graph graph = NetMaker(net, true).Make();
  PlanRequest request = InTiles("");
  request.planning.planner.limits.work = 0;
  std::mt19937 random(5);
  int tiled = 0;
  for (int tries = 0; tiled < 5 && tries < 50; ++tries) {
    request.target.tiles = AnyTiles(random, graph);
    if (!PlanGraph(Graph(graph), request).ok()) continue;  // the tiles do not suit this network
    SCOPED_TRACE(request.target.tiles.ToString());
    EXPECT_TRUE(SameBits(whole, Outputs(net, request)));
    ++tiled;
  }
  EXPECT_EQ(tiled, 5);
  request.target.tiles = {};
  request.target.budget = MemoryBudget{};
  SCOPED_TRACE("the least memory");
  EXPECT_TRUE(SameBits(whole, Outputs(net, request)));
}

// Arenas that contain the donated image, as `plan --memory-budget min --release-input` finds them.
// They are exact to the byte, less than arena and image apart, and results are the same.
TEST(SmallMemory, AnImageThatIsGivenUpMakesRoom) {
  if (testing::kSanitized) GTEST_SKIP() << "takes long";
  cpu::RegisterDevice();
  const json nets = Nets();
  struct Row {
    const char *name, *tiles;
    int64_t image, least, released;  // bytes; `least`: with the image outside
  };
  const Row kRows[] = {
      {"mcunet-in0", "0-38:lines24;38-58:lines12;58-96:lines12", 6912, 11712, 15936},
      {"tiny-kws", "2-32:rolling25;32-72:rolling25", 490, 9280, 9066},
      {"tiny-vww", "0-74:lines48", 27648, 11808, 30912}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.name);
    PlanRequest request = InTiles(row.tiles);
    request.target.release_input = true;
    const auto planned = Value(PlanGraph(NetMaker(nets[row.name]).Make(), request));
    EXPECT_EQ(planned->released_bytes(), row.image);
    EXPECT_EQ(planned->plan.plan.arena, row.released);
    EXPECT_LT(row.released, row.least + row.image);
    const HostTensor whole = Outputs(nets[row.name], "");
    const HostTensor tiled = Outputs(nets[row.name], row.tiles, /*release_input=*/true);
    EXPECT_TRUE(SameBits(whole, tiled));
  }
}

// Regression: the graph between cuts began with an input without a scale. The only segment was the
// whole graph, and MobileNetV2 took 409,952 bytes.
TEST(SmallMemory, SegmentsBeginAtQuantisedTensors) {
  const Graph graph = NetMaker(Nets()["tiny-kws"]).Make();
  std::vector<int> order(graph.nodes().size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<GraphCut> cuts = FindCuts(graph, order);
  ASSERT_GT(cuts.size(), 10u);
  for (size_t i = 1; i < cuts.size(); ++i) {
    const Graph part = Value(GraphBetween(graph, order, cuts[i - 1], cuts[i], 1));
    EXPECT_EQ(part.var(part.inputs()[0].var).type, graph.var(cuts[i - 1].var).type);
  }
}

}  // namespace
}  // namespace ashlar
