// Sessions on a device with streams: copies, recordings, bindings, measuring.
#include "runtime/session/session.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/elemwise_multi_type.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/profiler.h"
#include "tests/runtime/cuda/emulated_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/kernel_request.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kBatch = 2;

// A small residual network with two outputs, one of them an image.
Graph Network(uint64_t seed) {
  std::mt19937_64 random(seed);
  GraphMaker make;
  const auto weights = [&](const Shape& shape) {
    return make.Constant(RandomTensor(random, shape, -0.3, 0.3));
  };
  const int x = make.Input("data", {kBatch, 3, 12, 12});
  ConvolutionParam padded;
  padded.pad_h = padded.pad_w = 1;
  int y = make.Add<ConvolutionForward>(padded, {x, weights({16, 3, 3, 3})}, "stem");
  y = make.Add<Elemwise>({ScalarFunction::kRelu}, {y}, "relu");
  int z = make.Add<ConvolutionForward>(padded, {y, weights({16, 16, 3, 3})}, "conv");
  z = make.Add<Elemwise>({ScalarFunction::kFuseAddRelu}, {z, y}, "sum");
  make.Output(z);
  z = make.Add<PoolingForward>({.mode = PoolingMode::kAverage, .window_h = 12, .window_w = 12}, {z},
                               "pool");
  z = make.Add<Reshape>({}, {z, make.Constant(Int32Vector({kBatch, 16}))}, "flat");
  z = make.Add<MatrixMul>({}, {z, weights({16, 10})}, "fc");
  make.Output(make.Add<Softmax>({}, {z}, "prob"));
  return std::move(make).Build();
}

HostTensor Image(uint64_t seed) {
  std::mt19937_64 random(seed);
  return RandomTensor(random, {kBatch, 3, 12, 12});
}

std::vector<HostTensor> Expected(uint64_t seed) {
  return Value(EvaluateGraph(Network(1), {{"data", Image(seed)}}));
}

PlanRequest OnGpu(DType precision = DType::kFloat32) {
  PlanRequest request;
  request.target.comp_node = {CompNode::Type::kGpu, 0, 0};
  request.target.precision = precision;
  return request;
}

class CudaSession : public ::testing::Test {
 protected:
  std::unique_ptr<Session> Make(const PlanRequest& request = OnGpu(),
                                const SessionOptions& session = {}) {
    return Value(Session::Create(Value(Executable::Compile(Network(1), request)), session));
  }

  // Binds host tensors to the outputs and returns them.
  std::vector<HostTensor> BindOutputs(Session& session) {
    std::vector<HostTensor> outputs;
    for (const Binding& binding : session.executable().graph().outputs()) {
      const TensorType& type = session.executable().graph().var(binding.var).type;
      outputs.push_back(HostTensor::Zeros(type));
      EXPECT_TRUE(IsOk(
          session.BindOutput(binding.name, outputs.back().mutable_raw(), outputs.back().bytes())));
    }
    return outputs;
  }
  void BindImage(Session& session, const HostTensor& image) {
    EXPECT_TRUE(IsOk(session.BindInput("data", image.raw(), image.bytes())));
  }
  void ExpectOutputs(const std::vector<HostTensor>& outputs, uint64_t seed, double tolerance) {
    const std::vector<HostTensor> expected = Expected(seed);
    ASSERT_EQ(outputs.size(), expected.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_TRUE(Near(outputs[i], expected[i], tolerance)) << "output " << i << ", seed " << seed;
    }
  }

  // Runs once for each seed in [first, last).
  void RunImages(Session& session, const std::vector<HostTensor>& outputs, uint64_t first,
                 uint64_t last) {
    for (uint64_t seed = first; seed < last; ++seed) {
      const HostTensor image = Image(seed);
      BindImage(session, image);
      ASSERT_TRUE(IsOk(session.Run()));
      ExpectOutputs(outputs, seed, 1e-4);
    }
  }

  EmulatedDevice& device_ = EmulatedDevice::Install();
};

TEST_F(CudaSession, RunsAgainAsARecordingWithNewInputs) {
  const std::unique_ptr<Session> session = Make();
  const std::vector<HostTensor> outputs = BindOutputs(*session);
  device_.replays = 0;
  RunImages(*session, outputs, 10, 14);
  EXPECT_EQ(device_.replays, 3) << "all runs but the first are one replay each";
}

TEST_F(CudaSession, RunsWithoutRecordingToo) {
  const std::unique_ptr<Session> session = Make(OnGpu(), {.record = false});
  const std::vector<HostTensor> outputs = BindOutputs(*session);
  device_.replays = 0;
  RunImages(*session, outputs, 20, 22);
  EXPECT_EQ(device_.replays, 0);
}

// A session that cannot be recorded still runs, and says why it is slower.
TEST_F(CudaSession, RunsStepByStepWhereItCannotBeRecorded) {
  const std::unique_ptr<Session> session = Make();
  const std::vector<HostTensor> outputs = BindOutputs(*session);
  device_.replays = 0;
  device_.fault = [](absl::string_view call) {
    return call == "EndRecording" ? absl::InternalError("no such recording") : absl::OkStatus();
  };
  for (uint64_t seed = 24; seed < 27; ++seed) {
    const HostTensor image = Image(seed);
    BindImage(*session, image);
    ASSERT_TRUE(IsOk(session->Run()));
    ExpectOutputs(outputs, seed, 1e-4);
    EXPECT_TRUE(FailsWith(session->recording_status(), "no such recording"));
  }
  const HostTensor image = Image(27);
  BindImage(*session, image);
  Profiler profiler(static_cast<int>(session->executable().planned().schedule.order.size()));
  ASSERT_TRUE(IsOk(session->Run(profiler)));
  ExpectOutputs(outputs, 27, 1e-4);
  EXPECT_GT(profiler.steps().back().end, profiler.steps().front().start);
  device_.fault = nullptr;
  EXPECT_EQ(device_.replays, 0);
}

TEST_F(CudaSession, LowPrecisionKeepsTheCallersDTypes) {
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::kFloat16, 4e-3), std::pair(DType::kBFloat16, 3e-2)}) {
    const std::unique_ptr<Session> session = Make(OnGpu(dtype));
    int low = 0;
    for (const Var& var : session->executable().graph().vars()) low += var.type.dtype == dtype;
    EXPECT_GE(low, 8);
    const std::vector<HostTensor> outputs = BindOutputs(*session);
    for (const HostTensor& output : outputs) EXPECT_EQ(output.dtype(), DType::kFloat32);
    const HostTensor image = Image(5);
    BindImage(*session, image);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(IsOk(session->Run()));
    ExpectOutputs(outputs, 5, tolerance);
  }
}

TEST_F(CudaSession, TakesTensorsThatAreOnTheDevice) {
  const std::unique_ptr<Session> session = Make();
  const std::vector<HostTensor> outputs = BindOutputs(*session);
  const HostTensor first = Image(30), second = Image(31);
  BindImage(*session, first);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(IsOk(session->Run()));
  // After a new binding on the device, it is recorded again, and the host's tensor is not used.
  const std::unique_ptr<DeviceMemory> input = Value(device_.Allocate(second.bytes()));
  ASSERT_TRUE(IsOk(device_.CopyIn(input->data(), second.raw(), second.bytes())));
  const Binding& binding = session->executable().graph().outputs()[0];
  const std::unique_ptr<DeviceMemory> output = Value(device_.Allocate(outputs[0].bytes()));
  ASSERT_TRUE(IsOk(session->BindDeviceInput("data", input->data(), second.bytes())));
  ASSERT_TRUE(IsOk(session->BindDeviceOutput(binding.name, output->data(), output->bytes())));
  device_.replays = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(IsOk(session->BindDeviceInput("data", input->data(), second.bytes())));
    ASSERT_TRUE(IsOk(session->Run()));
  }
  EXPECT_EQ(device_.replays, 3) << "the new recording is replayed at once, and stays";
  const std::vector<HostTensor> old = Expected(30), expected = Expected(31);
  HostTensor result = HostTensor::Zeros(DType::kFloat32, expected[0].shape());
  ASSERT_TRUE(IsOk(device_.CopyOut(result.mutable_raw(), output->data(), output->bytes())));
  EXPECT_TRUE(Near(result, expected[0], 1e-4));
  EXPECT_TRUE(Near(outputs[0], old[0], 1e-4)) << "the host's tensor is no longer bound";
  EXPECT_TRUE(Near(outputs[1], expected[1], 1e-4));
}

TEST_F(CudaSession, TensorsOnTheDeviceHaveToBeAligned) {
  const std::unique_ptr<Session> session = Make();
  const HostTensor image = Image(32);
  const std::unique_ptr<DeviceMemory> input = Value(device_.Allocate(image.bytes() + 16));
  char* const data = static_cast<char*>(input->data());
  EXPECT_TRUE(FailsWith(session->BindDeviceInput("data", data + 8, image.bytes()),
                        "no multiple of 16 bytes"));
  EXPECT_TRUE(IsOk(session->BindDeviceInput("data", data + 16, image.bytes())));
}

// Rows of 3 elements: every second one would begin in the middle of a pack.
TEST_F(CudaSession, ViewsThatKernelsCannotTakeAreCopies) {
  GraphMaker make;
  const int x = make.Input("x", {4, 3});
  for (int32_t row = 0; row < 4; ++row) {
    SubtensorParam param;
    param.axis = {0};
    param.begin = {1};
    param.end = {1};
    param.step = {0};
    param.idx = {0};
    const int part = make.Add<Subtensor>(
        param, {x, make.Constant(Int32Vector({row})), make.Constant(Int32Vector({row + 1}))});
    make.Output(make.Add<Elemwise>({ScalarFunction::kNegate}, {part}));
  }
  const std::shared_ptr<const Executable> executable =
      Value(Executable::Compile(std::move(make).Build(), OnGpu()));
  const PlannedGraph& planned = executable->planned();
  int copies = 0;
  for (size_t i = 0; i < planned.graph.nodes().size(); ++i) {
    copies += planned.graph.nodes()[i].op->type() == "Subtensor" && planned.kernels[i] != nullptr;
  }
  EXPECT_EQ(copies, 3) << "all rows but the first";
}

TEST_F(CudaSession, StartReturnsBeforeTheWorkIsDone) {
  const std::unique_ptr<Session> session = Make();
  const std::vector<HostTensor> outputs = BindOutputs(*session);
  const HostTensor image = Image(40);
  BindImage(*session, image);
  ASSERT_TRUE(IsOk(session->Run()));
  const HostTensor other = Image(41);
  BindImage(*session, other);
  ASSERT_TRUE(IsOk(session->Start()));
  ExpectOutputs(outputs, 40, 1e-4);  // the stream works when it is waited for
  ASSERT_TRUE(IsOk(session->Wait()));
  ExpectOutputs(outputs, 41, 1e-4);
}

TEST_F(CudaSession, SessionsSideBySideShareWeightsOnly) {
  const std::shared_ptr<const Executable> executable =
      Value(Executable::Compile(Network(1), OnGpu()));
  const int64_t weights = device_.allocated;
  const std::unique_ptr<Session> a = Value(Session::Create(executable));
  const int64_t one = device_.allocated - weights;
  const std::unique_ptr<Session> b = Value(Session::Create(executable));
  EXPECT_EQ(device_.allocated - weights, 2 * one);
  const std::vector<HostTensor> outputs_a = BindOutputs(*a), outputs_b = BindOutputs(*b);
  const HostTensor image_a = Image(50), image_b = Image(51);
  BindImage(*a, image_a);
  BindImage(*b, image_b);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(IsOk(a->Start()));
    ASSERT_TRUE(IsOk(b->Start()));
    ASSERT_TRUE(IsOk(a->Wait()));
    ASSERT_TRUE(IsOk(b->Wait()));
  }
  ExpectOutputs(outputs_a, 50, 1e-4);
  ExpectOutputs(outputs_b, 51, 1e-4);
}

TEST_F(CudaSession, ProfilesOnBothClocks) {
  const std::unique_ptr<Session> session = Make();
  const std::vector<HostTensor> outputs = BindOutputs(*session);
  const HostTensor image = Image(60);
  BindImage(*session, image);
  const size_t steps = session->executable().planned().schedule.order.size();
  Profiler profiler(static_cast<int>(steps));
  device_.replays = 0;
  ASSERT_TRUE(IsOk(session->Run(profiler)));
  EXPECT_EQ(device_.replays, 1) << "the device's times are those of a recording";
  ExpectOutputs(outputs, 60, 1e-4);
  const HostTensor other = Image(61);
  BindImage(*session, other);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(IsOk(session->Run()));
  ExpectOutputs(outputs, 61, 1e-4);
  ASSERT_EQ(profiler.steps().size(), steps);
  ASSERT_EQ(profiler.host_steps().size(), steps);
  int busy = 0;
  for (size_t i = 0; i < steps; ++i) {
    const StepTime &device = profiler.steps()[i], &host = profiler.host_steps()[i];
    EXPECT_LE(device.start, device.end);
    EXPECT_LE(host.start, host.end);
    if (i > 0) {
      EXPECT_LE(profiler.steps()[i - 1].end, device.start);
    }
    busy += device.end > device.start;
  }
  EXPECT_GE(busy, 5);  // a launch takes an emulated second
}

TEST_F(CudaSession, VerifyMeasuresTheDevicesMemory) {
  const Measurement measurement = Value(Measure(Network(1), OnGpu(), {{"data", Image(70)}}));
  EXPECT_TRUE(measurement.ok);
  EXPECT_EQ(measurement.arena.actual_bytes, measurement.arena.planned_bytes);
  EXPECT_EQ(measurement.weights.actual_bytes, measurement.weights.planned_bytes);
  ASSERT_TRUE(measurement.device.has_value());
  EXPECT_EQ(measurement.device->asked, measurement.device->taken);
  EXPECT_EQ(measurement.device->libraries, 0);
  EXPECT_TRUE(Value(CheckGuards(Network(1), OnGpu(), {{"data", Image(70)}})).empty());
}

TEST_F(CudaSession, AnUnderstatedPlanIsFoundOut) {
  PlanRequest request = OnGpu();
  request.debug.understate_bytes = 1024;
  const Measurement measurement = Value(Measure(Network(1), request, {{"data", Image(71)}}));
  EXPECT_FALSE(measurement.ok);
  EXPECT_GT(measurement.arena.actual_bytes, measurement.arena.planned_bytes);
}

TEST_F(CudaSession, WhatDoesNotFitIsFoundAtPlanning) {
  const std::unique_ptr<PlannedGraph> planned = Value(PlanGraph(Network(1), OnGpu()));
  const int64_t arena = planned->plan.plan.arena, weights = planned->weights.bytes;
  const int64_t tensors = planned->input_bytes() + planned->output_bytes();
  const int64_t capacity = device_.capacity;
  device_.capacity = arena + weights + tensors;
  EXPECT_TRUE(IsOk(PlanGraph(Network(1), OnGpu()).status()));
  device_.capacity -= 1;
  const absl::Status status = PlanGraph(Network(1), OnGpu()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(FailsWith(
      status, absl::StrCat("gpu0:0 has ", device_.capacity, " bytes, ", arena + weights + tensors,
                           " are needed: arena ", arena, ", weights ", weights)));
  // Tiled, it fits the budget that the message names.
  PlanRequest parts = OnGpu();
  parts.target.budget = MemoryBudget{.bytes = arena - 1, .max_extra_flops = 0};
  EXPECT_TRUE(FailsWith(status, absl::StrCat("the arena may have ", arena - 1)));
  EXPECT_TRUE(IsOk(PlanGraph(Network(1), parts).status()));
  device_.capacity = capacity;
}

TEST_F(CudaSession, WhatIsNotHeldCanBeTriedAgainAndNothingLeaks) {
  const int64_t before = device_.allocated;
  {
    const std::shared_ptr<const Executable> executable =
        Value(Executable::Compile(Network(1), OnGpu()));
    device_.taken_by_others = device_.capacity - device_.allocated - 100;
    const int64_t held = device_.allocated;
    const absl::Status status = Session::Create(executable).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(device_.allocated, held);
    device_.taken_by_others = 0;
    EXPECT_TRUE(IsOk(Session::Create(executable).status()));
  }
  EXPECT_EQ(device_.allocated, before);
}

// Returns a quantised constant of arbitrary integers.
HostTensor Bytes(std::mt19937_64& random, DType dtype, const Shape& shape,
                 std::vector<float> scales) {
  return RandomTensor(random, StoredAs(dtype), shape, -100, 100)
      .As(dtype, Value(Quantization::Make(dtype, std::move(scales))));
}

// An 8-bit network between Float32 tensors. It has convolutions of three channels, of channels in
// fours and of one channel each; a sum, a table, both kinds of pooling.
Graph NetworkOfBytes() {
  std::mt19937_64 random(5);
  GraphMaker make;
  const DType u8 = DType::kQuantized8Asymm, s8 = DType::kQuantizedS8;
  const auto convolve = [&](int x, float scale, const Shape& filter, int64_t outputs,
                            ConvBiasParam param, const std::string& name) {
    std::vector<float> of_filter;
    for (int64_t c = 0; c < outputs; ++c) {
      of_filter.push_back(0.001f * static_cast<float>(1 + c % 7));
    }
    std::vector<float> of_bias = of_filter;
    for (float& one : of_bias) one *= scale;
    return make.Add<ConvBiasForward>(
        param,
        {x, make.Constant(Bytes(random, s8, filter, of_filter)),
         make.Constant(Bytes(random, DType::kQuantizedS32, {1, outputs, 1, 1}, of_bias))},
        name);
  };
  ConvBiasParam padded;
  padded.pad_h = padded.pad_w = 1;
  padded.nonlineMode = ScalarFunction::kRelu;
  padded.output = {u8, 0.0625f, 9};
  int x = make.Add<TypeCvt>({u8, 0.0078125f, 128}, {make.Input("data", {kBatch, 3, 12, 12})}, "q");
  x = convolve(x, 0.0078125f, {16, 3, 3, 3}, 16, padded, "stem");
  ConvBiasParam grouped = padded;
  grouped.sparse = SparseMode::kGroup;
  const int y = convolve(x, 0.0625f, {16, 1, 1, 3, 3}, 16, grouped, "depthwise");
  int z = convolve(y, 0.0625f, {16, 16, 3, 3}, 16, padded, "conv");
  z = make.Add<ElemwiseMultiType>({{ScalarFunction::kFuseAddRelu}, {u8, 0.125f, 3}}, {z, y}, "sum");
  z = make.Add<PoolingForward>({.mode = PoolingMode::kMax}, {z}, "max");
  z = make.Add<ElemwiseMultiType>({{ScalarFunction::kSigmoid}, {s8, 0.00390625f, -128}}, {z}, "f");
  PoolingParam mean = {.mode = PoolingMode::kAverage, .window_h = 6, .window_w = 6};
  mean.output = {s8, 0.00390625f, -128};
  z = make.Add<PoolingForward>(mean, {z}, "mean");
  make.Output(make.Add<TypeCvt>({DType::kFloat32}, {z}, "dequantise"));
  return std::move(make).Build();
}

TEST_F(CudaSession, NetworksOf8BitsGiveTheBitsOfTheReference) {
  const std::unique_ptr<Session> session =
      Value(Session::Create(Value(Executable::Compile(NetworkOfBytes(), OnGpu()))));
  const std::vector<HostTensor> outputs = BindOutputs(*session);
  std::set<float> different;
  for (uint64_t seed = 30; seed < 34; ++seed) {
    const HostTensor image = Image(seed);
    BindImage(*session, image);
    ASSERT_TRUE(IsOk(session->Run()));
    const auto expected = Value(EvaluateGraph(NetworkOfBytes(), {{"data", image}}));
    ASSERT_EQ(outputs.size(), expected.size());
    EXPECT_TRUE(Near(outputs[0], expected[0], 0)) << "seed " << seed;
    for (const float value : expected[0].data<float>()) different.insert(value);
  }
  EXPECT_GT(different.size(), 4u) << "nearly all results saturate";
}

TEST_F(CudaSession, ConvolutionsOf8BitsWithoutKernelAreNamed) {
  std::mt19937_64 random(6);
  for (const int64_t channels : {256, 257}) {
    const HostTensor filter = Bytes(random, DType::kQuantizedS8, {channels, 4, 1, 1}, {0.5f});
    ConvBiasParam param;
    param.output = {DType::kQuantizedS8, 1, 0};
    const ConvBiasForward op(param);  // the request keeps its address
    const KernelRequest request =
        Value(RequestOf(op,
                        {Bytes(random, DType::kQuantizedS8, {1, 4, 2, 2}, {0.5f}), filter,
                         Bytes(random, DType::kQuantizedS32, {1, channels, 1, 1}, {0.25f})},
                        {}, {false, false, false}));
    const absl::Status status = (*device_.kernels().Find("ConvBiasForward"))(request).status();
    if (channels == 256) {
      EXPECT_TRUE(IsOk(status));
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
      EXPECT_TRUE(FailsWith(status, "257 output channels, expected at most 256"));
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
