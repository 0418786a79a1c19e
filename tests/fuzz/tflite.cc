// TensorFlow Lite models: read, planned, run.
#include <filesystem>
#include <utility>

#include "serialization/tflite/import/reader.h"
#include "tests/fuzz/plan.h"
#include "tests/fuzz/target.h"
#include "tests/serialization/files.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

// Larger seeds are read too slowly to be mutated often.
constexpr uintmax_t kLargest = 4096;

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(SharedData("data/tflite"))) {
    if (entry.path().extension() != ".tflite" || entry.file_size() > kLargest) continue;
    seeds.push_back(ReadWholeFile(entry.path()));
  }
  return seeds;
}

// Whether kernels' tables, which have a row for each element of an axis, fit the driver's limit.
bool IsPlanned(const Graph& graph) {
  constexpr int64_t kLongest = 1 << 20;
  for (const Var& var : graph.vars()) {
    for (const int64_t dim : var.type.shape.dims()) {
      if (dim > kLongest) return false;
    }
  }
  return true;
}

void Run(absl::Span<const uint8_t> file) {
  // Exactly as many bytes, so that a sanitizer sees a read behind the end.
  const std::vector<uint8_t> bytes(file.begin(), file.end());
  TfliteReadOptions options;
  options.most_folded_bytes = 1 << 24;
  options.most_folded_operations = 1 << 24;
  absl::StatusOr<Graph> graph = ReadTflite(bytes, nullptr, "m.tflite", options);
  if (!graph.ok() || IsPlanned(*graph)) PlanWhatWasRead(std::move(graph));
  ExpectAnError(OpenAxesOfTflite(bytes).status());
}

}  // namespace

const FuzzTarget kFuzzTarget = {Seeds, {}, Run, nullptr};

}  // namespace ashlar::testing
