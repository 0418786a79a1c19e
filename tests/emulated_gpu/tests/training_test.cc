// Training steps on the emulated GPU, compared with the CPU's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/cpu/cpu_device.h"
#include "tests/emulated_gpu/tests/inference.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tools/zoo/network_builder.h"
#include "training/training_session.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kBatch = 3, kClasses = 5;

// Has norms, ReLU and ReLU6, windows over all channels and over one, strided ones, maxima, a
// residual.
Graph Network() {
  NetworkBuilder net({.batch = kBatch, .image = 12});
  Feature x = net.ConvBatchNorm("conv1", "bn1", net.Input(),
                                {.channels = 8, .kernel = 3, .stride = 2, .padding = 1});
  x = net.Relu("relu1", x);
  Feature y = net.MaxPool("max", x, 3, 2, 1);
  y = net.Relu6("relu2", net.ConvBatchNorm("expand", "bn2", y, {.channels = 16}));
  y = net.Relu6("relu3",
                net.ConvBatchNorm("depth", "bn3", y,
                                  {.channels = 16, .kernel = 3, .padding = 1, .depthwise = true}));
  const Feature z = net.ConvBatchNorm("project", "bn4", y, {.channels = 8});
  x = net.Add("add", z, net.MaxPool("shortcut", x, 3, 2, 1));
  x = net.Flatten("flatten", net.GlobalAveragePool("pool", x));
  x = net.Softmax("prob", net.FullyConnected("fc", x, kClasses));
  return Value(std::move(net).Finish("prob", x));
}

std::unique_ptr<TrainingSession> NewTraining(const OptimizerSpec& optimizer,
                                             const PlanRequest& request) {
  TrainingOptions options;
  options.optimizer = optimizer;
  return Value(TrainingSession::Create(Value(MakeTrainingGraph(Network(), options)), request));
}

double DifferenceOfStates(const TrainingSession& a, const TrainingSession& b) {
  double worst = 0;
  for (const std::string& name : a.states()) {
    const HostTensor one = Value(a.ReadState(name)), other = Value(b.ReadState(name));
    double most = 1e-3;
    for (int64_t i = 0; i < other.num_elements(); ++i)
      most = std::max(most, std::fabs(other.At(i)));
    for (int64_t i = 0; i < other.num_elements(); ++i) {
      worst = std::max(worst, std::fabs(one.At(i) - other.At(i)) / most);
    }
  }
  return worst;
}

class EmulatedTraining : public ::testing::TestWithParam<OptimizerSpec> {};

TEST_P(EmulatedTraining, StepsAreThoseOfTheCpu) {
  OpenEmulated();
  cpu::RegisterDevice();
  PlanRequest on_cpu;
  on_cpu.target.threads = 1;
  const auto gpu = NewTraining(GetParam(), OnEmulatedGpu()), cpu = NewTraining(GetParam(), on_cpu);
  EXPECT_EQ(gpu->states(), cpu->states());
  std::mt19937_64 random(5);
  double first = 0, last = 0;
  HostTensor images = RandomTensor(random, cpu->graph().images_type.shape), labels;
  for (int step = 0; step < 6; ++step) {
    labels = HostTensor::Zeros(DType::kInt32, {kBatch});
    for (int64_t i = 0; i < kBatch; ++i) labels.Set(i, static_cast<double>(i % kClasses));
    const double expected = Value(cpu->Step(images, labels, 0.02));
    const double loss = Value(gpu->Step(images, labels, 0.02));
    EXPECT_NEAR(loss, expected, 1e-3 * expected) << "step " << step;
    if (step == 0) first = loss;
    last = loss;
  }
  EXPECT_LT(last, first) << "it learns";
  EXPECT_LE(DifferenceOfStates(*gpu, *cpu), 1e-3);

  std::memcpy(gpu->images(), images.raw(), static_cast<size_t>(images.bytes()));
  std::memcpy(cpu->images(), images.raw(), static_cast<size_t>(images.bytes()));
  const HostTensor logits = *Value(gpu->Evaluate());
  EXPECT_LE(LargestDifference(logits, *Value(cpu->Evaluate())), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, EmulatedTraining,
    ::testing::Values(
        OptimizerSpec{.momentum = 0}, OptimizerSpec{.weight_decay = 0.01},
        OptimizerSpec{.nesterov = true},
        // Gradients that are 0 except for rounding would otherwise move weights by the learning
        // rate.
        OptimizerSpec{.kind = OptimizerSpec::Kind::kAdam, .epsilon = 1e-3},
        OptimizerSpec{.kind = OptimizerSpec::Kind::kAdamW, .weight_decay = 0.02, .epsilon = 1e-3}));

}  // namespace
}  // namespace ashlar::testing
