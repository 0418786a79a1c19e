// Zoo models on a GPU: plans, which need no device, and runs if a device is present.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/measure/autotune.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/pipeline.h"
#include "runtime/session/session.h"
#include "tests/support/cuda_device.h"
#include "tests/support/environment.h"
#include "tests/support/operators.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tools/zoo/zoo.h"

namespace ashlar::testing {
namespace {

PlanRequest Options(DType precision = DType::kFloat32) {
  PlanRequest options;
  options.target.comp_node = kGpu;
  options.target.precision = precision;
  return options;
}

// Small images, so that the reference takes seconds.
constexpr ZooOptions kSmall = {.batch = 2, .image = 64}, kTiny = {.batch = 1, .image = 48};

TEST_F(CudaLibrary, APlanNeedsNoDevice) {
  struct Case {
    DType precision;
    bool allow_tf32;
    Format images;  // tensor cores read NHWC
  };
  for (const Case& test :
       {Case{DType::kFloat32, false, Format::kDefault}, Case{DType::kFloat32, true, Format::kNHWC},
        Case{DType::kFloat16, false, Format::kNHWC},
        Case{DType::kBFloat16, false, Format::kNHWC}}) {
    PlanRequest options = Options(test.precision);
    options.planning.kernels.allow_tf32 = test.allow_tf32;
    const std::unique_ptr<PlannedGraph> planned =
        Value(PlanGraph(Value(BuildResNet18(kSmall)), options));
    EXPECT_EQ(device_->alignment(), 512);
    for (int64_t offset : planned->plan.plan.offsets) EXPECT_EQ(offset % 512, 0);
    int convolutions = 0, images = 0;
    for (size_t i = 0; i < planned->graph.nodes().size(); ++i) {
      const OperatorNode& node = planned->graph.node(static_cast<int>(i));
      if (node.op->type() != "ConvBiasForward") continue;
      ++convolutions;
      ASSERT_NE(planned->kernels[i], nullptr);
      EXPECT_EQ(planned->workspace[i], planned->kernels[i]->workspace_bytes());
      const TensorType& output = planned->graph.var(node.outputs[0]).type;
      images += output.format == test.images && output.dtype == test.precision;
    }
    EXPECT_EQ(convolutions, 20);
    EXPECT_EQ(images, convolutions);
  }
}

// Kernels without tensor cores need workspace for images in NHWC, but none for NCHW.
TEST_F(CudaLibrary, Float32ConvolutionsNeedNoWorkspace) {
  if (device_->ready().ok()) GTEST_SKIP() << "a device answers, which has its own kernels";
  const std::unique_ptr<PlannedGraph> planned =
      Value(PlanGraph(Value(BuildResNet18({.batch = 16})), Options()));
  for (size_t i = 0; i < planned->workspace.size(); ++i) {
    if (planned->graph.node(static_cast<int>(i)).op->type() != "ConvBiasForward") continue;
    EXPECT_EQ(planned->workspace[i], 0) << i;
  }
}

// Returns the kernels of a plan's convolutions, by node.
std::vector<std::string> Convolutions(const PlannedGraph& planned) {
  std::vector<std::string> implementations;
  for (size_t i = 0; i < planned.graph.nodes().size(); ++i) {
    if (planned.graph.node(static_cast<int>(i)).op->type() != "ConvBiasForward") continue;
    implementations.push_back(planned.kernels[i]->implementation());
  }
  return implementations;
}

// Engines 0 and 11 use no tensor cores, and come last in the library's heuristics.
TEST_F(CudaLibrary, ConvolutionsRunOnTensorCores) {
  if (device_->ready().ok()) GTEST_SKIP() << "a device answers, which has its own kernels";
  for (const auto& [precision, batch] :
       {std::pair(DType::kFloat16, 1), std::pair(DType::kFloat16, 10),
        std::pair(DType::kFloat32, 10)}) {
    PlanRequest options = Options(precision);
    options.planning.kernels.allow_tf32 = true;
    const std::unique_ptr<PlannedGraph> planned =
        Value(PlanGraph(Value(BuildResNet18({.batch = batch})), options));
    for (const std::string& implementation : Convolutions(*planned)) {
      EXPECT_TRUE(implementation.find("cudnn:eng0{") && implementation.find("cudnn:eng11{"))
          << implementation << " in " << Name(precision) << ", batch " << batch;
    }
  }
}

// The library's engines are slow with a ReLU6 in the same graph, and with a window per channel. The
// depthwise kernel clamps its input by the ReLU6 before it. So only one ReLU6 is a launch: the one
// before the mean.
TEST_F(CudaLibrary, MobileNetRunsOnGoodEngines) {
  if (device_->ready().ok()) GTEST_SKIP() << "a device answers, which has its own kernels";
  const std::unique_ptr<PlannedGraph> planned =
      Value(PlanGraph(Value(BuildMobileNetV2({.batch = 10})), Options(DType::kFloat16)));
  int depthwise = 0, activations = 0, others = 0;
  for (const std::string& implementation : Convolutions(*planned)) {
    EXPECT_NE(implementation.find("cudnn:eng0{"), 0u) << implementation;
    if (implementation.find("depthwise:packs") == 0) {
      ++depthwise;
    } else if (implementation.find("+activation") != std::string::npos) {
      ++activations;
    } else {
      ++others;
    }
  }
  EXPECT_EQ(depthwise, 17);
  EXPECT_EQ(activations, 1);
  EXPECT_EQ(others, 34);
}

TEST_F(CudaLibrary, PartsOfImagesRunOnTheLibraryToo) {
  const std::unique_ptr<PlannedGraph> whole =
      Value(PlanGraph(Value(BuildResNet18(kSmall)), Options()));
  for (const std::string& implementation : Convolutions(*whole)) {
    EXPECT_EQ(implementation.find("cudnn:"), 0u) << implementation;
  }
  int last = 0;  // the global pooling needs whole images; this comes before
  for (const OperatorNode& node : whole->graph.nodes()) {
    if (node.op->type() == "ConvBiasForward") last = node.id;
  }
  for (const char* kind : {"batch2", "rows2", "grid2x2"}) {
    SCOPED_TRACE(kind);
    PlanRequest options = Options();
    options.target.tiles = Value(TileSpec::Parse(absl::StrCat("0-", last, ":", kind)));
    const std::unique_ptr<PlannedGraph> tiled =
        Value(PlanGraph(Value(BuildResNet18(kSmall)), options));
    const std::vector<std::string> parts = Convolutions(*tiled);
    EXPECT_GE(parts.size(), 2 * Convolutions(*whole).size());
    for (const std::string& implementation : parts) {
      EXPECT_NE(implementation.find("cudnn:"), std::string::npos) << implementation;
    }
  }
}

TEST_F(CudaLibrary, APlanFitsABudget) {
  PlanRequest options = Options();
  const int64_t whole = Value(PlanGraph(Value(BuildResNet18(kSmall)), options))->plan.plan.arena;
  options.target.budget = MemoryBudget{.bytes = whole * 6 / 10};
  const std::unique_ptr<PlannedGraph> planned =
      Value(PlanGraph(Value(BuildResNet18(kSmall)), options));
  EXPECT_LE(planned->plan.plan.arena, whole * 6 / 10);
  EXPECT_FALSE(planned->tiles.empty());
}

// Plans for a device described in a file, in the form in which cuDNN describes a real one. The
// devices gpu1:0 and up are first opened here.
TEST_F(CudaLibrary, APlanIsForTheDescribedDevice) {
  if (device_->ready().ok()) GTEST_SKIP() << "there is a device, which needs no description";
  constexpr char kVariable[] = "ASHLAR_DEVICE_PROPERTIES";
  const std::string path = ::testing::TempDir() + "deviceprop.json";
  auto open = [&, next = 1](const std::string& text) mutable {
    std::ofstream(path) << text;
    setenv(kVariable, path.c_str(), /*overwrite=*/1);
    CompNode comp_node = kGpu;
    comp_node.device = next++;
    const absl::StatusOr<Device*> device = OpenGpu(comp_node);
    unsetenv(kVariable);
    return device.ok() ? absl::StatusOr<CompNode>(comp_node) : device.status();
  };
  EXPECT_TRUE(FailsWith(open("").status(), "ASHLAR_DEVICE_PROPERTIES: no description of a device"));
  EXPECT_TRUE(FailsWith(open("nonsense").status(), "the description of a device"));
  // The H100 with 80 GB.
  const CompNode h100 = Value(open(R"({
    "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
    "multiProcessorCount": 132, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
    "globalMemoryBusWidth": 5120, "totalGlobalMem": 85017493504, "l2CacheSize": 52428800,
    "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
    "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "warpSize": 32,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
    "maxSharedMemoryPerMultiprocessor": 233472, "maxSharedMemoryPerSM": 233472,
    "reservedSharedMemoryPerBlock": 1024, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsPerSM": 2048, "maxMemoryPitch": 2147483647, "textureAlignment": 512,
    "isTccDriver": 0, "supportCoopLaunch": 1, "deviceName": "NVIDIA H100 80GB HBM3",
    "name": "NVIDIA H100 80GB HBM3"})"));
  // The heuristics list the same engines in the same order for both cards, so plans are equal.
  std::vector<std::vector<std::string>> engines;
  for (const CompNode& comp_node : {kGpu, h100}) {
    PlanRequest options = Options(DType::kFloat16);
    options.target.comp_node = comp_node;
    const std::unique_ptr<PlannedGraph> planned =
        Value(PlanGraph(Value(BuildResNet50({.batch = 10})), options));
    engines.push_back({absl::StrCat(planned->plan.plan.arena)});
    for (const auto& kernel : planned->kernels) {
      engines.back().push_back(kernel == nullptr ? "" : kernel->implementation());
    }
  }
  EXPECT_EQ(engines[0], engines[1]);
}

TEST_F(CudaLibrary, WithoutADeviceARunSaysWhatIsMissing) {
  if (device_->ready().ok()) GTEST_SKIP() << "a device answers";
  const absl::Status status = Executable::Compile(Value(BuildResNet18(kSmall)), Options()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(FailsWith(status, "gpu0:0"));
  EXPECT_TRUE(FailsWith(status, "can be planned for it, not run"));
  EXPECT_FALSE(device_->memory().has_value());
  EXPECT_FALSE(device_->NewStream({}).ok());
  EXPECT_FALSE(device_->AllocateStaging(64).ok());
}

TEST_F(CudaDevice, ModelsOfTheZooGiveTheReferencesOutputs) {
  std::mt19937_64 random(21);
  for (const ZooModel& model : ZooModels()) {
    const absl::StatusOr<Graph> built = model.build(kTiny);
    if (!built.ok()) continue;  // VGG's classifier takes images of one size
    // Two models that together have most kinds of operators.
    const absl::string_view name = model.name;
    const bool shortened = kSanitized || (Emulated() && !LongTests());
    if (shortened && name != "inception_v1" && name != "mobilenet_v2") continue;
    const Graph& graph = *built;
    InputTensors inputs;
    absl::flat_hash_map<std::string, HostTensor> named;
    for (const Binding& binding : graph.inputs()) {
      const HostTensor image = RandomTensor(random, graph.var(binding.var).type.shape);
      inputs[binding.name] = image;
      named[binding.name] = image;
    }
    const std::vector<HostTensor> expected = Value(EvaluateGraph(graph, named));
    for (const auto& [precision, tolerance] :
         {std::pair(DType::kFloat32, 1e-3), std::pair(DType::kFloat16, 1e-1),
          std::pair(DType::kBFloat16, 4e-1)}) {
      SCOPED_TRACE(absl::StrCat(model.name, " in ", Name(precision)));
      const std::unique_ptr<Session> session =
          Value(Session::Create(Value(Executable::Compile(Graph(graph), Options(precision)))));
      const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
      for (int run = 0; run < 2; ++run) {  // step by step, then replayed
        ASSERT_TRUE(IsOk(session->Run()));
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_LE(LargestDifference(outputs[i], expected[i]), tolerance) << "run " << run;
        }
      }
    }
    const Measurement measurement = Value(Measure(Graph(graph), Options(), inputs));
    EXPECT_LE(measurement.arena.actual_bytes, measurement.arena.planned_bytes) << model.name;
    EXPECT_LE(measurement.weights.actual_bytes, measurement.weights.planned_bytes) << model.name;
  }
}

// Returns the outputs of the model on random input.
std::vector<HostTensor> RunOn(const Graph& graph, const PlanRequest& options) {
  const std::unique_ptr<Session> session =
      Value(Session::Create(Value(Executable::Compile(Graph(graph), options))));
  std::mt19937_64 random(22);
  InputTensors inputs;
  for (const Binding& binding : graph.inputs()) {
    inputs[binding.name] = RandomTensor(random, graph.var(binding.var).type.shape);
  }
  std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
  for (int run = 0; run < 2; ++run) EXPECT_TRUE(IsOk(session->Run()));
  return outputs;
}

TEST_F(CudaDevice, TiledGivesTheSameAsUntiled) {
  const bool shortened = Emulated() && !LongTests();
  const Graph graph = Value(shortened ? BuildSqueezeNet(kTiny) : BuildResNet18(kSmall));
  const std::vector<HostTensor> whole = RunOn(graph, Options());
  PlanRequest options = Options();
  for (const int64_t percent : {70, 40, 0}) {  // 0: as few as possible
    if (shortened && percent != 70) continue;
    const int64_t arena = Value(PlanGraph(Graph(graph), Options()))->plan.plan.arena;
    options.target.budget = MemoryBudget{.bytes = arena * percent / 100};
    const std::vector<HostTensor> tiled = RunOn(graph, options);
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_LE(LargestDifference(tiled[i], whole[i]), 1e-3) << percent;
    }
  }
}

TEST_F(CudaDevice, TuningFindsAKernelForEachConvolution) {
  if (Emulated() && !LongTests()) GTEST_SKIP() << kTakesLong;
  KernelRecord record;
  const std::vector<TunedProblem> problems =
      Value(Autotune(Value(BuildResNet18(kTiny)), Options(),
                     {.seconds = 5, .device_runs = 2, .device_rounds = 1}, record))
          .problems;
  EXPECT_GE(problems.size(), 8u);
  for (const TunedProblem& problem : problems) {
    EXPECT_GT(problem.trials[static_cast<size_t>(problem.chosen)].seconds, 0) << problem.key;
  }
  PlanRequest tuned = Options();
  tuned.planning.record = std::make_shared<const KernelRecord>(record);
  const Graph graph = Value(BuildResNet18(kTiny));
  const std::vector<HostTensor> before = RunOn(graph, Options()), after = RunOn(graph, tuned);
  EXPECT_LE(LargestDifference(after[0], before[0]), 1e-3);
}

// Runs may overlap in any way: in one arena, and with one each.
TEST_F(CudaDevice, RunsInFlightGiveTheSameAsOneByOne) {
  std::mt19937_64 random(23);
  const auto executable = Value(Executable::Compile(Value(BuildSqueezeNet(kTiny)), Options()));
  const Graph& graph = executable->graph();
  const TensorType& input = graph.var(graph.inputs()[0].var).type;
  const TensorType& output = graph.var(graph.outputs()[0].var).type;
  constexpr size_t kRuns = 6;
  std::vector<HostTensor> images, expected;
  for (size_t run = 0; run < kRuns; ++run) images.push_back(RandomTensor(random, input.shape));
  for (const PipelineOptions& options :
       {PipelineOptions{.in_flight = 1}, PipelineOptions{.in_flight = 2},
        PipelineOptions{.in_flight = 2, .arena_each = true}}) {
    const std::unique_ptr<Pipeline> pipeline = Value(Pipeline::Create(executable, options));
    std::vector<HostTensor> outputs;
    for (size_t run = 0; run < kRuns; ++run) {
      outputs.push_back(HostTensor::Zeros(DType::kFloat32, output.shape));
    }
    for (size_t run = 0; run < kRuns; ++run) {
      if (pipeline->next() == nullptr) {
        ASSERT_TRUE(IsOk(pipeline->Wait()));
      }
      Session& session = *pipeline->next();
      ASSERT_TRUE(
          IsOk(session.BindInput(graph.inputs()[0].name, images[run].raw(), images[run].bytes())));
      ASSERT_TRUE(IsOk(session.BindOutput(graph.outputs()[0].name, outputs[run].mutable_raw(),
                                          outputs[run].bytes())));
      ASSERT_TRUE(IsOk(pipeline->Start()));
    }
    while (pipeline->running() > 0) ASSERT_TRUE(IsOk(pipeline->Wait()));
    EXPECT_TRUE(IsOk(pipeline->recording_status()));
    if (expected.empty()) expected = outputs;
    for (size_t run = 0; run < kRuns; ++run) {
      EXPECT_LE(LargestDifference(outputs[run], expected[run]), 1e-5) << "run " << run;
    }
    EXPECT_GT(LargestDifference(outputs[0], outputs[1]), 1e-5) << "the images differ, too";
  }
}

}  // namespace
}  // namespace ashlar::testing
