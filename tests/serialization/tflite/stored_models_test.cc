// TensorFlow Lite models with LiteRT's outputs (tests/data/tflite): integers to the bit, floats
// within 1e-5 of the largest.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "graph/evaluate.h"
#include "serialization/npz.h"
#include "serialization/tflite/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr double kTolerance = 1e-5;  // of the largest magnitude

void ExpectLiteRt(const HostTensor& got, const HostTensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  double most = 0, distance = 0;
  for (int64_t i = 0; i < want.num_elements(); ++i) {
    most = std::max(most, std::abs(want.At(i)));
    distance = std::max(distance, std::abs(got.At(i) - want.At(i)));
  }
  EXPECT_LE(distance, IsFloat(want.dtype()) ? kTolerance * most : 0);
}

TEST(StoredTflite, ModelsGiveTheOutputsOfLiteRt) {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/tflite"))) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().stem());
    ++models;
    const std::string bytes = ReadWholeFile(entry.path());
    const Graph graph = Value(
        ReadTflite({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, nullptr, "m"));
    InputTensors inputs;
    std::map<std::string, HostTensor> want;
    for (const auto& [name, value] :
         Value(ReadNpz(std::filesystem::path(entry.path()).replace_extension(".npz")))) {
      if (absl::StartsWith(name, "in_")) inputs[name.substr(3)] = value;
      if (absl::StartsWith(name, "out_")) want[name.substr(4)] = value;
    }
    const std::vector<HostTensor> on_host =
        Value(EvaluateGraph(graph, {inputs.begin(), inputs.end()}));
    const std::vector<HostTensor> on_cpu = LoadedModel(graph).Run(inputs);
    ASSERT_EQ(graph.outputs().size(), want.size());
    for (size_t o = 0; o < want.size(); ++o) {
      const std::string& name = graph.outputs()[o].name;
      ASSERT_TRUE(want.contains(name)) << name;
      ExpectLiteRt(on_host[o], want.at(name));
      ExpectLiteRt(on_cpu[o], want.at(name));
    }
  }
  EXPECT_GE(models, 83);
}

}  // namespace
}  // namespace ashlar::testing
