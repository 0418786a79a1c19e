// 8-bit networks in tiles on the CPU's kernels must give the same values as untiled. Random float
// networks are quantised, so between 8-bit operators stand operators that stay in floats,
// conversions, residuals, concatenations and tensors with several consumers.
#include <gtest/gtest.h>

#include <cstring>

#include "quantization/quantize_model.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/stages/rewrite.h"
#include "tests/runtime/inference.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kMostChannels = 20;

// Calibration data: two runs on random inputs.
class RandomData final : public CalibrationData {
 public:
  explicit RandomData(const Graph& graph) : input_(graph.inputs()[0]) {
    type_ = graph.var(input_.var).type;
  }
  int64_t runs() const override { return 2; }
  absl::StatusOr<CalibrationRun> Run(int64_t index) const override {
    std::mt19937_64 random(static_cast<uint64_t>(index));
    return CalibrationRun{{{input_.name, RandomTensor(random, type_.shape)}}, type_.shape[0], {}};
  }

 private:
  Binding input_;
  TensorType type_;
};

struct EightBitCase {
  Graph graph;  // in 8 bits, after the passes
  HostTensor input;
};

std::optional<EightBitCase> MakeEightBitCase(std::mt19937_64& random, bool joins,
                                             const PlanRequest& request) {
  const Graph floats = RandomImageGraph(random, joins, kMostChannels);
  QuantizeOptions options;
  options.target.threads = 1;
  options.method = RangeMethod::kMinMax;
  if (random() % 3 == 0) options.input = ByteInput{.mean = 100, .scale = 0.02F};
  absl::StatusOr<QuantizedModel> model = QuantizeModel(floats, RandomData(floats), options);
  if (!model.ok()) return std::nullopt;  // nothing has 8 bits, or a value is infinite
  EightBitCase c;
  c.graph = std::move(Value(RewriteGraph(std::move(model->graph), request.target, request.planning,
                                         {.tiled = true}))
                          .graph);
  const TensorType& type = c.graph.var(c.graph.inputs()[0].var).type;
  c.input = IsFloat(type.dtype) ? RandomTensor(random, type.shape)
                                : RandomTensor(random, StoredAs(type.dtype), type.shape, 0, 255)
                                      .As(type.dtype, type.quantization);
  return c;
}

class EightBitTilesTest : public ::testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

TEST_P(EightBitTilesTest, AnyNetworkInAnyTilesGivesTheSame) {
  constexpr uint64_t kNetworks = 200;
  int compared = 0, same_bits = 0;
  for (uint64_t seed = 0; seed < kNetworks; ++seed) {
    std::mt19937_64 random(seed);
    PlanRequest request;
    request.planning.kernels.exact = true;
    request.planning.planner.limits.work = 0;
    request.target.threads = 1 + static_cast<int>(seed % 2);
    const std::optional<EightBitCase> c = MakeEightBitCase(random, GetParam(), request);
    if (!c) continue;
    const TileSpec tiles =
        seed % 3 > 0 ? RandomTiles(random, c->graph) : RandomWideTiles(random, c->graph);
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << " joins " << GetParam() << " tiles " << tiles.ToString());
    const Inference whole = Infer(c->graph, request, c->input);
    request.target.tiles = tiles;
    const Inference tiled = Infer(c->graph, request, c->input);
    ++compared;
    // Float sums by other kernels differ in their last bits, which may change an 8-bit result by a
    // step.
    const bool same = SameKernels(whole, tiled);
    same_bits += same;
    for (size_t i = 0; i < whole.outputs.size(); ++i) {
      const HostTensor &w = whole.outputs[i], &t = tiled.outputs[i];
      ASSERT_LE(RelativeError(t, w), same ? 0 : 0.05) << "output " << i;
    }
  }
  EXPECT_GE(compared, static_cast<int>(kNetworks / 2));
  EXPECT_GE(same_bits, compared * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(Networks, EightBitTilesTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) {
                           return info.param ? "Joins" : "Chains";
                         });

}  // namespace
}  // namespace ashlar::testing
