// A recorded run of another system that fused batch norm with the convolution behind it: two
// convolutions of 28 x 28 images, each with a norm and a ReLU, a pool and two layers. What plans of
// it take, to what was worked out from its tensors.
#include <gtest/gtest.h>

#include "opr/batch_norm.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reshape.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "tests/support/graph_maker.h"
#include "training/training_graph.h"

namespace ashlar::testing {
namespace {

class RecordedNet : public GraphMaker {
 public:
  int Zeros(const Shape& shape) { return Constant(HostTensor::Zeros(DType::kFloat32, shape)); }
  int Layer(int x, int64_t in, int64_t out, const std::string& number) {
    x = Add<ConvolutionForward>({}, {x, Zeros({out, in, 3, 3})}, "conv" + number);
    x = Add<BatchNorm>({1e-5}, {x, Zeros({out}), Zeros({out}), Zeros({out}), Zeros({out})});
    return Add<Elemwise>({ScalarFunction::kRelu}, {x}, "relu" + number);
  }
};

Graph RecordedModel(int64_t batch) {
  RecordedNet net;
  int x = net.Layer(net.Input("x", {batch, 1, 28, 28}), 1, 32, "1");
  x = net.Layer(x, 32, 64, "2");
  x = net.Add<PoolingForward>({}, {x}, "pool");
  x = net.Add<Reshape>({}, {x, net.Constant(HostTensor::FromValues<int64_t>(
                                   DType::kInt64, {2}, {batch, 64 * 12 * 12}))});
  x = net.Add<MatrixMul>({}, {x, net.Zeros({64 * 12 * 12, 128})});
  x = net.Add<Elemwise>({ScalarFunction::kRelu}, {x});
  net.Output(net.Add<MatrixMul>({}, {x, net.Zeros({128, 10})}));
  return std::move(net).Build();
}

// The arena with what is made again: all that is cheap, besides these nodes, but for those with
// '-'.
int64_t ArenaOf(int64_t batch, bool cheap, const std::vector<std::string>& nodes) {
  const Graph plain = Value(MakeTrainingGraph(RecordedModel(batch), {})).step;
  TrainingOptions options;
  options.recompute.cheap = cheap;
  for (const std::string& name : nodes) {
    const bool kept = name[0] == '-';
    for (const OperatorNode& node : plain.nodes()) {
      if (node.name != name.substr(kept ? 1 : 0)) continue;
      (kept ? options.recompute.kept : options.recompute.nodes).push_back(node.id);
    }
  }
  PlanRequest request;
  request.wishes.processor = Value(Processor::Parse("avx2/32K/512K"));
  const Graph step = Value(MakeTrainingGraph(RecordedModel(batch), options)).step;
  return Value(PlanGraph(step, request))->plan.plan.arena;
}

const std::vector<std::string> kFused = {"conv1", "conv2", "-relu1", "-pool"};

void ExpectArena(int64_t arena, int64_t known) {
  EXPECT_NEAR(static_cast<double>(arena) / static_cast<double>(known), 1, 1e-3)
      << arena << " bytes, " << known << " known";
}

TEST(RecordedFusedRun, ArenasAreThoseThatItsTensorsSay) {
  cpu::RegisterDevice();
  constexpr int64_t kBatch = 2048;
  ExpectArena(ArenaOf(kBatch, false, {}), 1052771072);
  ExpectArena(ArenaOf(kBatch, true, {}), 875561728);
  ExpectArena(ArenaOf(kBatch, true, kFused), 781189888);
  ExpectArena(ArenaOf(kBatch, true, {"conv1"}), 698352384);
}

TEST(RecordedFusedRun, FusedNeverTakesMore) {
  cpu::RegisterDevice();
  for (const int64_t batch : {512, 1024, 2048, 4096}) {
    EXPECT_LE(ArenaOf(batch, true, kFused), ArenaOf(batch, false, {})) << batch;
  }
}

}  // namespace
}  // namespace ashlar::testing
