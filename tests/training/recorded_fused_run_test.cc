// A recorded run of another system that fused each batch norm with the convolution after it. It has
// two convolutions of 28 x 28 images, each with a norm and a ReLU, a pool and two layers. Compares
// the memory of plans with figures worked out from the run's tensors.
#include <gtest/gtest.h>

#include "graph/differentiate.h"
#include "graph/graph_builder.h"
#include "graph/recompute.h"
#include "graph/recompute_choice.h"
#include "opr/batch_norm.h"
#include "opr/batch_norm_training.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reshape.h"
#include "opr/table.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/storage.h"
#include "tests/support/gradcheck.h"
#include "tests/support/graph_maker.h"
#include "tests/support/operators.h"
#include "tests/support/sanitized.h"
#include "tests/support/tensors.h"
#include "training/kept_for_gradients.h"
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

// Returns a step that recomputes everything cheap and these nodes, except the ones with '-'.
Graph StepOf(int64_t batch, bool cheap, const std::vector<std::string>& nodes) {
  const Graph plain = Value(MakeTrainingGraph(RecordedModel(batch), {})).step;
  TrainingOptions options;
  options.recompute.cheap = cheap;
  for (const std::string& name : nodes) {
    const bool kept = name[0] == '-';
    for (const OperatorNode& node : plain.nodes()) {
      if (node.name != name.substr(kept ? 1 : 0)) continue;
      if (kept) {
        options.recompute.kept.push_back(node.id);
      } else {
        options.recompute.nodes.push_back({node.id});
      }
    }
  }
  return Value(MakeTrainingGraph(RecordedModel(batch), options)).step;
}

int64_t ArenaOf(int64_t batch, bool cheap, const std::vector<std::string>& nodes) {
  PlanRequest request;
  request.target.processor = Value(Processor::Parse("avx2/32K/512K"));
  return Value(PlanGraph(StepOf(batch, cheap, nodes), request))->plan.plan.arena;
}

// Returns the live bytes of the arena after the forward pass.
int64_t LiveAtTheLoss(const Graph& step) {
  const StorageModel model = BuildStorageModel(step, {});
  ArenaSimulator arena(step, model, std::vector<int64_t>(step.nodes().size(), 0));
  const std::vector<bool> towards = NodesTowards(step, step.outputs()[0].var);
  for (size_t n = 0; n < step.nodes().size(); ++n) {
    if (towards[n] && model.scheduled[n]) arena.Run(static_cast<int>(n));
  }
  return arena.live();
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

// The outputs of both convolutions, which the fused run did not save.
TEST(RecordedFusedRun, FusedKeepsOneBufferLessForEachPair) {
  constexpr int64_t kBatch = 2048, kOutputs = 479199232;
  EXPECT_EQ(LiveAtTheLoss(StepOf(kBatch, false, {})) - LiveAtTheLoss(StepOf(kBatch, true, kFused)),
            kOutputs);
}

TEST(RecordedFusedRun, PlannedMemoryIsActual) {
  cpu::RegisterDevice();
  const int64_t batch = kSanitized ? 2 : 32;
  for (const Graph& step : {StepOf(batch, false, {}), StepOf(batch, true, kFused)}) {
    InputTensors inputs;
    for (const Binding& binding : step.inputs()) {
      inputs[binding.name] = HostTensor::Zeros(step.var(binding.var).type);
    }
    const Measurement measured = Value(Measure(Graph(step), {}, inputs));
    EXPECT_TRUE(measured.ok);
    EXPECT_EQ(measured.arena.actual_bytes, measured.arena.planned_bytes);
    EXPECT_EQ(measured.heap.own_calls, 0);
  }
}

// The two pairs and the pool in Float64: compares gradients with differences, also in the fused
// order, which recomputes convolutions from their inputs.
TEST(RecordedFusedRun, GradientsAreThoseByDifferencesFusedAndUnfused) {
  std::mt19937_64 random(11);
  GraphBuilder builder;
  std::vector<int> inputs;
  std::vector<HostTensor> values;
  const auto input = [&](const Shape& shape, double low) {
    inputs.push_back(AddInput(builder, shape));
    values.push_back(RandomTensor(random, DType::kFloat64, shape, low, 1));
    return inputs.back();
  };
  const auto add = [&](OperatorPtr op, std::vector<int> read) {
    return Value(builder.Add(std::move(op), std::move(read)))[0];
  };
  int x = input({2, 1, 8, 8}, -1);
  for (const int64_t channels : {3, 4}) {
    const int64_t in = builder.graph().var(x).type.shape[1];
    const int weight = input({channels, in, 3, 3}, -1);
    const int scale = input({channels}, 0.5), bias = input({channels}, -1);
    x = add(std::make_shared<const ConvolutionForward>(ConvolutionParam()), {x, weight});
    x = add(std::make_shared<const BatchNormTraining>(BatchNormParam{1e-5}), {x, scale, bias});
    x = add(std::make_shared<const Elemwise>(ElemwiseParam{ScalarFunction::kRelu}), {x});
  }
  x = add(std::make_shared<const PoolingForward>(PoolingParam()), {x});
  const int loss = AddWeighedSum(builder, {x}, random);
  GradcheckOptions options;
  options.skip_kinks = true;
  int64_t checked = 0;
  options.checked = &checked;
  EXPECT_TRUE(GradientsAgree(builder, loss, inputs, values, random, options));
  EXPECT_GT(checked, 200);

  std::vector<int> results = {loss};
  for (const auto& gradient : Value(Differentiate(builder, loss, inputs, Operators()))) {
    results.push_back(gradient.value());
  }
  for (const int result : results)
    add(std::make_shared<const OutputCallback>(OutputParam()), {result});
  const Graph unfused =
      Value(NormsInHalves(Value(KeepPoolingIndices(Value(std::move(builder).Build())))));
  MadeAgain made(unfused.vars().size(), false);
  int64_t convolutions = 0, relus = 0;
  for (const OperatorNode& node : unfused.nodes()) {
    const bool first_relu = node.op->type() == Elemwise::kType && relus++ == 0;
    const bool convolves = node.op->type() == ConvolutionForward::kType;
    convolutions += convolves ? 1 : 0;
    made[static_cast<size_t>(node.outputs.empty() ? 0 : node.outputs[0])] =
        convolves || node.op->type() == BatchNormApply::kType ||
        (node.op->type() == Elemwise::kType && !first_relu);
  }
  const Graph fused = Value(Recompute(unfused, unfused.outputs()[0].var, made, 4));
  const std::vector<std::string> types = ComputingTypes(fused);
  EXPECT_EQ(std::count(types.begin(), types.end(), std::string(ConvolutionForward::kType)),
            2 * convolutions);
  absl::flat_hash_map<std::string, HostTensor> by_name;
  for (size_t i = 0; i < values.size(); ++i) by_name[unfused.inputs()[i].name] = values[i];
  const auto whole = Value(EvaluateGraph(unfused, by_name)),
             again_made = Value(EvaluateGraph(fused, by_name));
  ASSERT_EQ(whole.size(), again_made.size());
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(Near(again_made[i], whole[i], 0)) << i;
}

}  // namespace
}  // namespace ashlar::testing
