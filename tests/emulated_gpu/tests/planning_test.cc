// The cost of planning: which engines are prepared for convolutions, and that it happens once.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "graph/status.h"
#include "opr/conv_bias.h"
#include "opr/pooling.h"
#include "opr/type_cvt.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "tests/emulated_gpu/tests/emulated_gpu.h"
#include "tests/support/activations.h"
#include "tests/support/graph_maker.h"
#include "tests/support/kernel_request.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr char kPreparation[] = "(preparation of an engine)",
               kCompilation[] = "(compilation of an engine)";

PlanRequest WithPrecision(DType precision) {
  PlanRequest request;
  request.target.comp_node = kEmulatedGpu;
  request.target.precision = precision;
  return request;
}

int64_t Calls(const std::string& function) {
  const auto calls = EmulatedGpu().calls();
  const auto it = calls.find(function);
  return it == calls.end() ? 0 : it->second;
}

// Returns 3x3 convolutions with a ReLU, one for each number of channels; no other test has these
// problems.
Graph Convolutions(const std::vector<int64_t>& channels) {
  std::mt19937_64 random(5);
  GraphMaker make;
  int64_t in = 3;
  int x = make.Input("data", {1, in, 6, 5});
  for (int64_t out : channels) {
    ConvBiasParam param;
    param.pad_h = param.pad_w = 1;
    param.nonlineMode = ScalarFunction::kRelu;
    x = make.Add<ConvBiasForward>(param,
                                  {x, make.Constant(RandomTensor(random, {out, in, 3, 3})),
                                   make.Constant(RandomTensor(random, {1, out, 1, 1}))},
                                  absl::StrCat("conv", out));
    in = out;
  }
  make.Output(x);
  return std::move(make).Build();
}

// Bytes of one scale have kernels; a conversion with several scales has none.
TEST(Planning, QuantisedTensorsHaveKernelsOrAreRefusedByName) {
  OpenEmulated();
  for (const bool several : {false, true}) {
    GraphMaker make;
    const std::vector<float> scales =
        several ? std::vector<float>{0.5F, 1, 2, 4} : std::vector<float>{0.5F};
    const HostTensor bytes = HostTensor::Zeros(DType::kInt8, {4, 1, 6, 6});
    int x = make.Constant(
        bytes.As(DType::kQuantizedS8, Value(Quantization::Make(DType::kQuantizedS8, scales))));
    if (!several) x = make.Add<PoolingForward>({}, {x}, "pool");
    make.Output(make.Add<TypeCvt>({DType::kFloat32}, {x}, "dequantize"));
    PlanRequest request = WithPrecision(DType::kFloat32);
    request.planning.passes = "none";  // keeps constants
    const auto planned = PlanGraph(std::move(make).Build(), request);
    if (!several) {
      ASSERT_TRUE(planned.ok()) << planned.status();
      int own = 0;
      for (const auto& kernel : (*planned)->kernels) {
        own += kernel != nullptr && absl::StartsWith(kernel->implementation(), "int8:");
      }
      EXPECT_EQ(own, 2);
      continue;
    }
    EXPECT_TRUE(absl::IsUnimplemented(planned.status())) << planned.status();
    for (const char* part : {"QuantizedS8", "dequantize", "of one scale"}) {
      EXPECT_TRUE(absl::StrContains(planned.status().message(), part)) << planned.status();
    }
  }
}

TEST(Planning, EnginesArePreparedOnce) {
  OpenEmulated();
  const PlanRequest request = WithPrecision(DType::kFloat16);
  const std::unique_ptr<PlannedGraph> first = Value(PlanGraph(Convolutions({8, 24}), request));
  const int64_t prepared = Calls(kPreparation), alive = EmulatedGpu().live()["cuDNN descriptors"];
  EXPECT_GT(prepared, 0);
  for (int turn = 0; turn < 3; ++turn) {
    const std::unique_ptr<PlannedGraph> again = Value(PlanGraph(Convolutions({8, 24}), request));
    EXPECT_EQ(Calls(kPreparation), prepared);
    EXPECT_EQ(EmulatedGpu().live()["cuDNN descriptors"], alive);
    for (size_t i = 0; i < first->kernels.size(); ++i) {
      ASSERT_EQ(again->kernels[i] == nullptr, first->kernels[i] == nullptr);
      if (first->kernels[i] == nullptr) continue;
      EXPECT_EQ(again->kernels[i]->implementation(), first->kernels[i]->implementation());
      EXPECT_EQ(again->workspace[i], first->workspace[i]);
    }
  }
  // Another precision makes another problem.
  EXPECT_TRUE(IsOk(PlanGraph(Convolutions({8, 24}), WithPrecision(DType::kBFloat16)).status()));
  EXPECT_GT(Calls(kPreparation), prepared);
}

// Returns the emulated library's kernels for a 3x3 convolution in NHWC with bias and activation.
std::vector<std::string> Offered(const ConvBiasParam& param, const KernelPolicy& policy,
                                 bool has_z = false, DType dtype = DType::kFloat32) {
  std::mt19937_64 random(6);
  const ConvBiasForward op(param);
  std::vector<HostTensor> inputs = {RandomTensor(random, dtype, {2, 8, 7, 5}),
                                    RandomTensor(random, dtype, {8, 8, 3, 3}),
                                    RandomTensor(random, dtype, {1, 8, 1, 1})};
  std::vector<Format> formats = {Format::kNHWC, Format::kDefault, Format::kDefault};
  if (has_z) {
    inputs.push_back(RandomTensor(random, dtype, {2, 8, 5, 3}));
    formats.push_back(Format::kNHWC);
  }
  KernelRequest request = Value(RequestOf(op, inputs, formats, {false, true, true, false}));
  request.outputs[0].format = Format::kNHWC;
  request.policy = policy;
  std::vector<std::string> names;
  for (const auto& kernel : Value((*OpenEmulated().kernels().Find(op.type()))(request))) {
    if (kernel->implementation().find("cudnn:") != 0) continue;
    names.push_back(kernel->implementation().substr(6));
  }
  return names;
}

int64_t CountCompiled(const std::vector<std::string>& names) {
  return std::count_if(names.begin(), names.end(),
                       [](const auto& name) { return absl::StrContains(name, ":compiled"); });
}

TEST(Planning, OnlyEnginesThatAreOfferedArePrepared) {
  ConvBiasParam param;
  param.nonlineMode = ScalarFunction::kRelu;
  const int64_t prepared = Calls(kPreparation), compiled = Calls(kCompilation);
  const std::vector<std::string> offered = Offered(param, {});
  EXPECT_GE(offered.size(), 2u);
  // Engine 3 fails only in preparation.
  EXPECT_LE(Calls(kPreparation) - prepared, static_cast<int64_t>(offered.size()) + 1);
  // Compiling takes a second, so it is done only on request.
  EXPECT_EQ(CountCompiled(offered), 0);
  EXPECT_EQ(Calls(kCompilation), compiled);
}

// If all candidates are requested, the compiled ones are among them, under names that say so.
TEST(Planning, AllCandidatesAreListedAndNotPrepared) {
  ConvBiasParam param;
  param.nonlineMode = ScalarFunction::kRelu;
  OpenEmulated();
  const int64_t prepared = Calls(kPreparation), compiled = Calls(kCompilation);
  const std::vector<std::string> offered = Offered(param, {.all_candidates = true});
  EXPECT_GE(offered.size(), 4u);
  EXPECT_EQ(CountCompiled(offered), 2);
  EXPECT_EQ(Calls(kPreparation), prepared);
  EXPECT_EQ(Calls(kCompilation), compiled);
}

// An H100's engine for 5x5 filters in Float16 erred more than direct sums may. Transformed images
// are rounded to 16 bits, too, so only Float32 has engines that transform, and --exact none.
TEST(Planning, EnginesThatTransformAreForFloat32) {
  const auto transforms = [](DType dtype, bool exact) {
    const std::vector<std::string> offered =
        Offered({}, {.exact = exact, .all_candidates = true}, /*has_z=*/false, dtype);
    EXPECT_GE(offered.size(), 4u);
    return std::count_if(offered.begin(), offered.end(), [](const std::string& name) {
      return absl::EndsWith(name, ":transforms");
    });
  };
  EXPECT_EQ(transforms(DType::kFloat32, /*exact=*/false), 1);
  EXPECT_EQ(transforms(DType::kFloat32, /*exact=*/true), 0);
  EXPECT_EQ(transforms(DType::kFloat16, /*exact=*/false), 0);
  EXPECT_EQ(transforms(DType::kBFloat16, /*exact=*/false), 0);
}

// A start with a tuned record prepares only the recorded engines, compiled ones included.
TEST(Planning, OfAProblemOnRecordOnlyThatEngineIsPrepared) {
  constexpr char kRecorded[] = "cudnn:eng8{2=2}:compiled";
  OpenEmulated();
  const Graph graph = Convolutions({56});
  PlanRequest request = WithPrecision(DType::kFloat16);
  const std::unique_ptr<PlannedGraph> planned = Value(PlanGraph(graph, request));
  auto record = std::make_shared<KernelRecord>();
  for (const std::string& key :
       KernelKeys(planned->graph, planned->model, request.planning.kernels)) {
    if (absl::StartsWith(key, "ConvBiasForward")) record->choices[key] = {kRecorded, {}};
  }
  ASSERT_EQ(record->choices.size(), 1u);
  request.planning.record = record;
  const int64_t prepared = Calls(kPreparation), compiled = Calls(kCompilation);
  for (int start = 0; start < 2; ++start) {
    const std::unique_ptr<PlannedGraph> tuned = Value(PlanGraph(graph, request));
    EXPECT_EQ(std::count_if(tuned->kernels.begin(), tuned->kernels.end(),
                            [&](const auto& kernel) {
                              return kernel != nullptr && kernel->implementation() == kRecorded;
                            }),
              1);
    EXPECT_EQ(Calls(kPreparation) - prepared, 1);
    EXPECT_EQ(Calls(kCompilation) - compiled, 1);
  }
}

TEST(Planning, ActivationsThatNoGoodEngineTakesAreLaunchesOfTheirOwn) {
  for (const ScalarFunction activation : Activations()) {
    for (const bool has_z : {false, true}) {
      ConvBiasParam param;
      param.nonlineMode = activation;
      param.parameters = {0, 6};
      SCOPED_TRACE(absl::StrCat(static_cast<int>(activation), has_z ? " z" : ""));
      const std::vector<std::string> names = Offered(param, {}, has_z);
      ASSERT_FALSE(names.empty());
      const bool in_graph =
          activation == ScalarFunction::kIdentity || activation == ScalarFunction::kRelu;
      EXPECT_EQ(names[0].find('+'), in_graph ? std::string::npos : names[0].find("+activation"));
      // Engine 2 comes first in the heuristics, 28 and 29 are fallbacks.
      EXPECT_EQ(names[0].find("eng2{"), 0u) << names[0];
    }
  }
}

// Handles and prepared engines are for one thread at a time; the emulation watches them.
TEST(Planning, ThreadsPlanAndRunTheSameConvolutions) {
  OpenEmulated();
  const Graph graph = Convolutions({8, 16, 8});
  std::mt19937_64 random(7);
  const HostTensor image = RandomTensor(random, {1, 3, 6, 5});
  const HostTensor expected = Value(EvaluateGraph(graph, {{"data", image}}))[0];
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int turn = 0; turn < 4; ++turn) {
        // Each thread is the first to meet some problem.
        const int64_t own = 32 + 8 * (4 * turn + thread);
        EXPECT_TRUE(
            IsOk(PlanGraph(Convolutions({8, own}), WithPrecision(DType::kFloat32)).status()));
        const std::unique_ptr<Session> session = Value(Session::Create(
            Value(Executable::Compile(Graph(graph), WithPrecision(DType::kFloat32))),
            {.record = false}));
        const std::vector<HostTensor> outputs = Value(BindTensors(*session, {{"data", image}}));
        for (int run = 0; run < 5; ++run) EXPECT_TRUE(IsOk(session->Run()));
        EXPECT_TRUE(Near(outputs[0], expected, 1e-4)) << "thread " << thread;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ashlar::testing
