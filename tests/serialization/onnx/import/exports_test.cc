// Exports of PyTorch, and lightweight models: each is read, or needs an operator that Ashlar lacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "runtime/cpu/cpu_device.h"
#include "runtime/session/bind_tensors.h"
#include "serialization/onnx/import/reader.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// Plans the graph and runs it once on random inputs. All weights are equal, so the outputs are not
// checked.
absl::Status RunOnce(Graph graph) {
  cpu::RegisterDevice();
  std::mt19937_64 random(6);
  InputTensors inputs;
  for (const Binding& input : graph.inputs()) {
    const TensorType& type = graph.var(input.var).type;
    inputs[input.name] = RandomTensor(random, type.dtype, type.shape, 0, 1);
  }
  const auto executable = Executable::Compile(std::move(graph), PlanRequest());
  if (!executable.ok()) return executable.status();
  const auto session = Value(Session::Create(*executable));
  const std::vector<HostTensor> outputs = Value(BindTensors(*session, inputs));
  return session->Run();
}

TEST(OnnxExports, AreRead) {
  if (!HasSharedData("data/onnx/exports")) GTEST_SKIP() << "no ../shared/data/onnx/exports";
  // Running all models takes minutes.
  const bool run = std::getenv("ASHLAR_RUN_EXPORTS") != nullptr;
  std::vector<std::filesystem::path> files;
  for (const char* folder : {"data/onnx/exports", "data/onnx/light"}) {
    for (const auto& entry : std::filesystem::directory_iterator(SharedData(folder))) {
      if (entry.path().extension() == ".onnx") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  int read = 0;
  for (const std::filesystem::path& file : files) {
    SCOPED_TRACE(file);
    absl::StatusOr<Graph> graph = ReadOnnx(file);
    EXPECT_TRUE(IsOk(graph.status()));
    if (!graph.ok()) continue;
    ++read;
    if (!run) continue;
    EXPECT_TRUE(IsOk(RunOnce(*std::move(graph))));
  }
  std::printf("%d of %zu exports and light models are read\n", read, files.size());
}

}  // namespace
}  // namespace ashlar::testing
