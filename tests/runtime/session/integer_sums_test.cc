// 8-bit convolutions with a scale for each channel, in parts: in groups of channels
// (PlanningOptions::group_bytes), or adding strip by strip. Sums that are not finished stay 32-bit
// integers, so the bits stay the same.
#include <gtest/gtest.h>

#include "opr/conv_bias.h"
#include "opr/dimshuffle.h"
#include "opr/quantized_conv.h"
#include "opr/reshape.h"
#include "opr/type_cvt.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/executable.h"
#include "tests/support/environment.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

constexpr OutputType kPairBytes = {DType::kQuantizedS8, 0.05f, 3};

class PairNet : public GraphMaker {
 public:
  int Begin(const Shape& shape) {
    return Add<TypeCvt>({kPairBytes.dtype, kPairBytes.scale, kPairBytes.zero_point},
                        {Input("x", shape, DType::kInt8)});
  }
  int Conv(int x, int64_t channels, int64_t window = 1, int64_t groups = 1) {
    const int64_t read = var(x).type.shape[1];
    ConvBiasParam param;
    param.pad_h = param.pad_w = window / 2;
    if (groups == 1) return Conv(x, param, {channels, read, window, window});
    param.sparse = SparseMode::kGroup;
    return Conv(x, param, {groups, channels / groups, read / groups, window, window});
  }
  // Adds a convolution whose window is the whole image.
  int Whole(int x, int64_t channels) {
    const Shape& image = var(x).type.shape;
    return Conv(x, {}, {channels, image[1], image[2], image[3]});
  }
  int Reshaped(int x, const std::vector<int64_t>& dims) {
    const auto rank = static_cast<int64_t>(dims.size());
    const HostTensor target = HostTensor::FromValues<int64_t>(DType::kInt64, {rank}, dims);
    return Add<Reshape>({}, {x, Constant(target)});
  }
  Graph End(int x) && {
    Output(Add<TypeCvt>({DType::kInt8}, {x}, "y"));
    return std::move(*this).Build();
  }

 private:
  int Conv(int x, ConvBiasParam param, const Shape& filter) {
    const int64_t channels = param.sparse == SparseMode::kGroup ? filter[0] * filter[1] : filter[0];
    param.output = kPairBytes;
    param.nonlineMode = ScalarFunction::kRelu;
    std::vector<float> scales;
    for (int64_t c = 0; c < channels; ++c) {
      scales.push_back(0.001f * static_cast<float>(1 + random_() % 9));
    }
    scales.front() = 0.001f, scales.back() = 0.009f;
    const Quantization weights = Value(Quantization::Make(DType::kQuantizedS8, scales));
    const Quantization sums = Value(
        Quantization::Make(DType::kQuantizedS32, SumScales(var(x).type.quantization, weights)));
    const int w = Constant(
        RandomTensor(random_, DType::kInt8, filter, -127, 127).As(DType::kQuantizedS8, weights));
    const int bias = Constant(RandomTensor(random_, DType::kInt32, {1, channels, 1, 1}, -999, 999)
                                  .As(DType::kQuantizedS32, sums));
    return Add<ConvBiasForward>(param, {x, w, bias});
  }

  std::mt19937_64 random_{7};
};

struct ChannelPair {
  const char* name;
  int64_t wide, window, made, groups;  // of the second convolution
  int64_t whole, in_groups;            // bytes of the arena, untiled
  bool adds;                           // groups to sums: of the second, or of the last 1x1
};

struct GroupsRun {
  HostTensor output;
  int64_t arena = 0;
  int sums = 0;  // tensors of sums that are not finished
};

GroupsRun RunGroups(const Graph& graph, const PlanRequest& request, const HostTensor& input) {
  const auto executable = Value(Executable::Compile(Graph(graph), request));
  const auto session = Value(Session::Create(executable));
  GroupsRun result{Value(BindTensors(*session, {{"x", input}}))[0],
                   executable->planned().plan.plan.arena};
  EXPECT_TRUE(session->Run().ok());
  for (const Var& var : executable->graph().vars()) {
    const bool computed = executable->graph().node(var.producer).op->role() == Role::kCompute;
    result.sums += computed && var.type.dtype == DType::kQuantizedS32;
  }
  return result;
}

class ChannelGroups : public ::testing::TestWithParam<ChannelPair> {};

// The first image, of 12 channels, has 5,760 bytes.
INSTANTIATE_TEST_SUITE_P(
    Pairs, ChannelGroups,
    ::testing::Values(ChannelPair{"depthwise", 64, 3, 64, 64, 61440, 36480, true},
                      ChannelPair{"grouped", 64, 3, 32, 8, 46080, 30720, false},
                      ChannelPair{"grouped_1x1", 96, 1, 96, 3, 92160, 51840, true},
                      ChannelPair{"dense", 72, 1, 8, 1, 40320, 28800, true},
                      ChannelPair{"dense_3x3", 72, 3, 12, 1, 40320, 36480, true}),
    [](const auto& pair) { return pair.param.name; });

TEST_P(ChannelGroups, GiveTheBitsOfTheWhole) {
  cpu::RegisterDevice();
  const ChannelPair& pair = GetParam();
  PairNet net;
  const int begin = net.Begin({1, 8, 20, 24});
  const int x = net.Conv(begin, 12, 3);
  const int y = net.Conv(net.Conv(x, pair.wide), pair.made, pair.window, pair.groups);
  const int last = net.Conv(y, 8);
  const Graph graph = std::move(net).End(last);
  const auto id = [&](int var) { return graph.node(graph.var(var).producer).id; };
  const std::string ends = absl::StrCat(id(begin), "-", id(last), ":");
  std::mt19937_64 random(3);
  const HostTensor input = RandomTensor(random, DType::kInt8, {1, 8, 20, 24}, -128, 127);
  const HostTensor expected = Value(Evaluate(graph, input))[0];
  for (const char* const processor : {"avx2/32K/512K", "baseline/32K/512K"}) {
    PlanRequest request;
    request.target.processor = Value(Processor::Parse(processor));
    request.planning.planner.limits.work = 500'000;  // of strips, values alone are tested
    for (const char* const kind : {"", "lines5", "rolling20"}) {
      SCOPED_TRACE(absl::StrCat(processor, " ", kind));
      if (*kind != 0) request.target.tiles = Value(TileSpec::Parse(absl::StrCat(ends, kind)));
      request.planning.group_bytes = 0;
      const GroupsRun whole = RunGroups(graph, request, input);
      request.planning.group_bytes = 16 * 24;
      const GroupsRun groups = RunGroups(graph, request, input);
      EXPECT_EQ(CountDifferences(whole.output, expected), 0);
      EXPECT_EQ(CountDifferences(groups.output, expected), 0);
      EXPECT_EQ(whole.sums, 0);
      EXPECT_EQ(groups.sums > 0, pair.adds);
      if (*kind == 0) {
        EXPECT_EQ(whole.arena, pair.whole);
        EXPECT_EQ(groups.arena, pair.in_groups);
      }
    }
  }
}

// Regression: the second of two convolutions whose scales by channel had the same least and
// greatest got the kernel, and so the scales, of the first.
TEST(IntegerSums, ScalesBetweenTheLeastAndTheGreatestCount) {
  cpu::RegisterDevice();
  PairNet net;
  int x = net.Begin({1, 8, 4, 4});
  for (int i = 0; i < 3; ++i) x = net.Conv(x, 8, 3);
  const Graph graph = std::move(net).End(x);
  std::mt19937_64 random(3);
  const HostTensor input = RandomTensor(random, DType::kInt8, {1, 8, 4, 4}, -128, 127);
  EXPECT_EQ(CountDifferences(RunGroups(graph, {}, input).output, Value(Evaluate(graph, input))[0]),
            0);
}

// A classifier reads all elements of an image, as a convolution or after a reshape: in the order of
// channels, or of pixels.
TEST(IntegerSums, ClassifiersAddStrips) {
  cpu::RegisterDevice();
  std::mt19937_64 random(3);
  const HostTensor input = RandomTensor(random, DType::kInt8, {1, 3, 12, 12}, -128, 127);
  for (const char* const kind : {"window", "flatten", "pixels"}) {
    if (kind == std::string("flatten") && !LongTests()) continue;
    PairNet net;
    const int begin = net.Begin({1, 3, 12, 12});
    const int x = net.Conv(begin, 32, 3);
    const int64_t elements = net.var(x).type.shape.num_elements();
    int flat = x;
    if (kind == std::string("pixels")) flat = net.Add<Dimshuffle>({{0, 2, 3, 1}}, {x});
    if (kind != std::string("window")) flat = net.Reshaped(flat, {1, elements, 1, 1});
    const int last = kind == std::string("window") ? net.Whole(x, 10) : net.Conv(flat, 10);
    const Graph graph = std::move(net).End(last);
    PlanRequest request;
    request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
    const GroupsRun whole = RunGroups(graph, request, input);
    request.target.budget = MemoryBudget{0, /*max_extra_flops=*/0};
    const GroupsRun strips = RunGroups(graph, request, input);
    SCOPED_TRACE(kind);
    EXPECT_EQ(CountDifferences(strips.output, whole.output), 0);
    EXPECT_GT(strips.sums, 2);
    EXPECT_EQ(whole.arena, 4608);
    EXPECT_EQ(strips.arena, 424);
  }
}

}  // namespace
}  // namespace ashlar::testing
