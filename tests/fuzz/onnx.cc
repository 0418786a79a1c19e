// ONNX models: read, planned, run. The node cases provide operators of current models.
#include <filesystem>

#include "serialization/onnx/export/writer.h"
#include "serialization/onnx/import/reader.h"
#include "serialization/onnx/import/table.h"
#include "tests/fuzz/onnx_mutation.h"
#include "tests/fuzz/onnx_seeds.h"
#include "tests/fuzz/plan.h"
#include "tests/fuzz/target.h"
#include "tests/serialization/files.h"
#include "tests/serialization/sample_graphs.h"

namespace ashlar::testing {
namespace {

std::vector<std::string> Seeds() {
  const TempDir folder;
  const std::string path = folder / "m.onnx";
  std::vector<std::string> seeds;
  for (const SampleGraph& sample : SampleGraphs()) {
    if (WriteOnnx(sample.graph, path).ok()) seeds.push_back(ReadWholeFile(path));
  }
  for (std::string& model : ModelsOfSubgraphsAndCounts()) seeds.push_back(std::move(model));
  return seeds;
}

// Returns the model's path; its weights may lie in a file beside it.
const std::string& ModelPath() {
  static const TempDir folder;
  static const std::string path = [] {
    WriteWholeFile(folder / "data", std::string(256, '\x01'));
    return folder / "m.onnx";
  }();
  return path;
}

void Run(absl::Span<const uint8_t> file) {
  WriteWholeFile(ModelPath(), std::string(file.begin(), file.end()));
  OnnxReadOptions options;
  options.most_folded_bytes = 1 << 24;
  options.most_folded_operations = 1 << 24;
  options.least_in_file = 8;
  options.note = [](const std::string& note) { Expect(!note.empty(), "a note says something"); };
  PlanWhatWasRead(ReadOnnx(ModelPath(), options));
}

// Returns texts with a meaning: operators, attributes, names of values.
const std::vector<std::string>& Words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> all = {"",           "data",       "location", "offset", "length",
                                    "SAME_UPPER", "SAME_LOWER", "VALID",    "ai.onnx"};
    for (const OnnxRow& row : AllOnnxRows()) all.emplace_back(row.type);
    for (const std::string& seed : Seeds()) {
      for (std::string& word : WordsOf(seed)) all.push_back(std::move(word));
    }
    return all;
  }();
  return words;
}

// Uses names of the model itself twice as often as others.
std::string Mutate(const std::string& file, std::mt19937_64& random) {
  const std::vector<std::string> own = WordsOf(file);
  return WithChangedField(file, own.empty() || random() % 3 == 0 ? Words() : own, random);
}

}  // namespace

const FuzzTarget kFuzzTarget = {
    Seeds, {"data/onnx/node", "data/onnx/light", "data/onnx/exports"}, Run, Mutate};

}  // namespace ashlar::testing
