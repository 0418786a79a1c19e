// Models made after public bug reports of other systems (data/tried2 of the external data set).
// Each must give the values beside it untiled, on two threads, in the least memory, and after
// writing and reading.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "serialization/npy.h"
#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/files.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr char kFolder[] = "data/tried2";

// Outputs whose values in the folder differ from the specification's.
struct Exception {
  const char* model;
  int output;
  const char* reason;
  int64_t element = 0;  // of integers: its exact value
  int64_t exact = 0;
};
constexpr Exception kExceptions[] = {
    {"norms", 0, "onnx.reference sums other channels than LRN's text for an even size"},
    {"norms", 3, "onnx.reference divides by the sum of signed values for p = 1"},
    {"int64_big", 3, "ONNX Runtime adds some Int64 in doubles", 0, 4620693217682128902},
    {"int64_big", 5, "ONNX Runtime multiplies some Int64 in doubles", 0, 16888498602639375},
    {"int_div_mod", 0, "ONNX Runtime divides some Int64 in doubles", 6, 658812288346769700},
};

const Exception* FindException(const std::string& model, size_t output) {
  for (const Exception& exception : kExceptions) {
    if (model == exception.model && static_cast<int>(output) == exception.output) return &exception;
  }
  return nullptr;
}

std::vector<std::filesystem::path> Models() {
  std::vector<std::filesystem::path> folders;
  if (!HasSharedData(kFolder)) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(SharedData(kFolder))) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

void ExpectGiven(const std::filesystem::path& folder, const Graph& graph,
                 const InputTensors& inputs, const PlanRequest& request) {
  LoadedModel model(graph, request);
  const std::vector<HostTensor> outputs = model.Run(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("output ", i));
    const std::filesystem::path path = folder / absl::StrCat("expected_", i, ".npy");
    if (!std::filesystem::exists(path)) continue;
    const HostTensor expected = Value(ReadNpy(path));
    EXPECT_EQ(outputs[i].dtype(), expected.dtype());
    ASSERT_EQ(outputs[i].shape(), expected.shape());
    if (const Exception* exception = FindException(folder.filename(), i)) {
      if (exception->exact != 0) {
        EXPECT_EQ(outputs[i].IntegerAt(exception->element), exception->exact);
      }
      continue;
    }
    for (int64_t k = 0; k < expected.num_elements() && !IsFloat(expected.dtype()); ++k) {
      ASSERT_EQ(outputs[i].IntegerAt(k), expected.IntegerAt(k)) << "element " << k;
    }
    const double tolerance = expected.dtype() == DType::kFloat64   ? 1e-15
                             : expected.dtype() == DType::kFloat16 ? 1e-3
                                                                   : 2e-6;
    EXPECT_TRUE(Near(outputs[i], expected, tolerance));
  }
}

TEST(ReportedModels, GiveTheirValuesInEveryMode) {
  if (Models().empty()) GTEST_SKIP() << "no ../shared/" << kFolder;
  for (const std::filesystem::path& folder : Models()) {
    SCOPED_TRACE(folder.filename().string());
    const Graph graph = Value(ReadOnnx(folder / "model.onnx"));
    InputTensors inputs;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      inputs[graph.inputs()[i].name] = Value(ReadNpy(folder / absl::StrCat("input_", i, ".npy")));
    }
    PlanRequest request;
    request.planning.planner.limits.work = 0;
    {
      SCOPED_TRACE("whole");
      ExpectGiven(folder, graph, inputs, request);
    }
    {
      SCOPED_TRACE("written and read again");
      TempDir dir;
      ASSERT_TRUE(IsOk(WriteOnnx(graph, dir / "again.onnx")));
      ExpectGiven(folder, Value(ReadOnnx(dir / "again.onnx")), inputs, request);
    }
    {
      SCOPED_TRACE("on two threads");
      PlanRequest two = request;
      two.target.threads = 2;
      ExpectGiven(folder, graph, inputs, two);
    }
    if (kSanitized) continue;  // slow under sanitizers
    SCOPED_TRACE("in the least memory");
    request.target.budget = MemoryBudget{};
    ExpectGiven(folder, graph, inputs, request);
  }
}

}  // namespace
}  // namespace ashlar::testing
