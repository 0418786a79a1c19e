// Memory of loading a model with external weights: the weights are in memory once, packed.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/process_memory.h"
#include "runtime/session/executable.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/serialization/onnx/model_text.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr int kLayers = 6, kChannels = 512;
constexpr int64_t kFilters = int64_t{kChannels} * kChannels * 9 * 4;  // bytes

// Writes convolutions, each with its filters in the file "data".
void WriteTower(const TempDir& dir) {
  std::string graph = "ir_version: 8 opset_import { version: 17 } graph { input " +
                      ValueText("v0", {1, kChannels, 4, 4});
  std::ofstream data(dir / "data", std::ios::binary);
  std::mt19937 random(1);
  std::vector<float> filters(kFilters / sizeof(float));
  for (int i = 0; i < kLayers; ++i) {
    for (float& value : filters) value = static_cast<float>(random() % 1000) * 1e-5f;
    data.write(reinterpret_cast<const char*>(filters.data()), kFilters);
    absl::StrAppend(&graph, "initializer { name: 'w", i, "' data_type: 1 dims: [", kChannels, ",",
                    kChannels,
                    ",3,3] data_location: EXTERNAL external_data { key: 'location' value: 'data' } "
                    "external_data { key: 'offset' value: '",
                    i * kFilters, "' } external_data { key: 'length' value: '", kFilters,
                    "' } } node { op_type: 'Conv' input: ['v", i, "', 'w", i, "'] output: 'v",
                    i + 1, "' attribute { name: 'pads' type: INTS ints: [1,1,1,1] } }\n");
  }
  absl::StrAppend(&graph, "output { name: 'v", kLayers, "' } }");
  WriteWholeFile(dir / "m.onnx", Serialized(graph));
}

TEST(OnnxLoadMemory, WeightsBesideTheModelAreInMemoryOnce) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has the memory";
#endif
  const TempDir dir;
  WriteTower(dir);
  ReturnFreedMemory();
  if (!(std::ofstream("/proc/self/clear_refs") << "5" << std::flush)) {
    GTEST_SKIP() << "the peak of resident memory cannot be reset here";
  }
  const int64_t before = ReadResidentSet().current;
  cpu::RegisterDevice();
  std::vector<std::shared_ptr<const MappedFile>> files;
  Graph graph = Value(ReadOnnx(dir / "m.onnx", {}, &files));
  PlanRequest request;
  request.planning.kernels.low_workspace = true;
  const auto executable =
      Value(Executable::Compile(std::move(graph), request, [&](const void* data, int64_t bytes) {
        for (const auto& file : files) file->DropResidentPages(data, bytes);
      }));
  EXPECT_GE(executable->planned().weights.bytes, kLayers * kFilters);
  // One layer in two forms, and memory that is about to be freed.
  EXPECT_LT(ReadResidentSet().peak - before, kLayers * kFilters + kLayers * kFilters / 2);
}

}  // namespace
}  // namespace ashlar::testing
