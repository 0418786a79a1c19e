// Imports TfIdfVectorizer of integers: it counts the n-grams of a pool in each row. Elements at
// equal distances are compared with all n-grams of one length at once. Columns of one output are
// added in pairs, so the tables grow with the pool and not with the outputs.
#include <algorithm>
#include <map>
#include <utility>

#include "opr/concat.h"
#include "opr/gather.h"
#include "opr/reduce.h"
#include "opr/subtensor.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
constexpr int64_t kMostSkipped = 256;               // elements between two of an n-gram
constexpr int64_t kMostOutputs = int64_t{1} << 20;  // coordinates

// The n-grams of one length, and their numbers in the pool.
struct Grams {
  int64_t length = 0;
  std::map<std::vector<int64_t>, int64_t> numbers;  // of equal ones the last
};

// Reads the pool, and returns as many n-grams as it has; negative after an error.
int64_t ReadPool(OnnxNode& node, std::vector<Grams>& all) {
  const std::vector<int64_t> pool = node.Ints("pool_int64s"), starts = node.Ints("ngram_counts");
  int64_t number = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t length = static_cast<int64_t>(i) + 1, begin = starts[i];
    const auto size = static_cast<int64_t>(pool.size());
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : size;
    if (begin < 0 || end < begin || end > size || (end - begin) % length != 0) {
      node.Invalid("ngram_counts does not divide the pool");
      return -1;
    }
    Grams grams = {length, {}};
    for (int64_t at = begin; at < end; at += length) {
      grams.numbers[{pool.begin() + at, pool.begin() + at + length}] = number++;
    }
    all.push_back(std::move(grams));
  }
  return number;
}

// Returns how often each n-gram is in each row of x, [N, size, 1], with `distance` between its
// elements: [N, n-grams].
OnnxVar CountsOf(OnnxNode& node, OnnxVar x, const Grams& grams, int64_t distance) {
  const auto count = static_cast<int64_t>(grams.numbers.size());
  const int64_t places = node.shape(x)[1] - (grams.length - 1) * distance;
  OnnxVar found = kNoOnnxVar;
  for (int64_t k = 0; k < grams.length; ++k) {
    std::vector<int64_t> wanted;
    for (const auto& [gram, number] : grams.numbers) {
      wanted.push_back(gram[static_cast<size_t>(k)]);
    }
    const OnnxVar part = node.Add<Subtensor>(
        {{1}, {1}, {1}, {0}, {0}},
        {x, node.IntVector({k * distance}), node.IntVector({k * distance + places})});
    const OnnxVar equal =
        node.Converted(node.Function(F::kEqual, {part, node.IntVector(wanted)}), DType::kFloat32);
    found = found == kNoOnnxVar ? equal : node.Product(found, equal);
  }
  const OnnxVar sum = node.Add<Reduce>({ReduceMode::kSum, 1}, {found});
  return node.Reshaped(sum, {node.shape(x)[0], count});
}

// A column of counts, and the output that it is added to.
struct Column {
  int64_t output = 0, at = 0;
};

// Adds columns of one output in pairs until one is left of each; changes `columns` to them.
OnnxVar OneOfEachOutput(OnnxNode& node, OnnxVar all, std::vector<Column>& columns) {
  std::stable_sort(columns.begin(), columns.end(),
                   [](const Column& a, const Column& b) { return a.output < b.output; });
  while (node.ok()) {
    std::vector<int64_t> first, second;
    std::vector<Column> sums;
    for (size_t i = 0; i < columns.size(); ++i) {
      const Column& column = columns[i];
      const bool pair = i + 1 < columns.size() && columns[i + 1].output == column.output;
      sums.push_back({column.output, static_cast<int64_t>(sums.size())});
      first.push_back(column.at);
      second.push_back(pair ? columns[++i].at : node.shape(all)[1]);  // a column of zeros
    }
    if (sums.size() == columns.size()) break;
    columns = std::move(sums);
    all = node.Padded(all, 1, 0, 1);
    all = node.Sum(node.Add<Gather>({1}, {all, node.IntVector(first)}),
                   node.Add<Gather>({1}, {all, node.IntVector(second)}));
  }
  return all;
}

OnnxVars TfIdfVectorizer(OnnxNode& node) {
  if (node.has_attribute("pool_strings")) return node.Unsupported("of strings");
  OnnxVar x = node.Converted(node.input(0), DType::kInt64);
  const int64_t least = node.Int("min_gram_length", 1), most = node.Int("max_gram_length", 1);
  const int64_t skips = node.Int("max_skip_count", 0);
  const std::vector<int64_t> outputs = node.Ints("ngram_indexes");
  const std::vector<float> weights = node.Floats("weights");
  const std::string mode = node.Text("mode", "");
  std::vector<Grams> pool;
  const int64_t in_pool = ReadPool(node, pool);
  if (!node.ok()) return kNoOnnxVar;
  const Shape given = node.shape(x);
  const auto [low, high] = std::minmax_element(outputs.begin(), outputs.end());
  if (given.rank() < 1 || given.rank() > 2 || in_pool < 1 || least < 1 ||
      static_cast<int64_t>(outputs.size()) != in_pool || *low < 0 ||
      (mode != "TF" && mode != "IDF" && mode != "TFIDF")) {
    return node.Invalid("the attributes, or the input's rank, do not fit");
  }
  if (*high >= kMostOutputs) {
    return node.Unsupported(
        absl::StrCat("ngram_indexes has ", *high, ", expected less than ", kMostOutputs));
  }
  if (skips > kMostSkipped) return node.Unsupported(absl::StrCat("max_skip_count ", skips));
  const int64_t size = *high + 1, row = given[given.rank() - 1];
  const int64_t rows = given.rank() == 1 ? 1 : given[0];
  if (mode != "TF" && !weights.empty() && static_cast<int64_t>(weights.size()) != size) {
    return node.Invalid(absl::StrCat(weights.size(), " weights of ", size, " outputs"));
  }
  x = node.Reshaped(x, {rows, row, 1});
  std::vector<OnnxVar> counts;
  std::vector<Column> columns;
  for (const Grams& grams : pool) {
    const bool counted = grams.length >= least && grams.length <= most && !grams.numbers.empty();
    // One element has no distances.
    const int64_t distances = grams.length == 1 ? 1 : skips + 1;
    for (int64_t d = 1; counted && d <= distances && (grams.length - 1) * d < row; ++d) {
      counts.push_back(CountsOf(node, x, grams, d));
      for (const auto& [gram, number] : grams.numbers) {
        columns.push_back(
            {outputs[static_cast<size_t>(number)], static_cast<int64_t>(columns.size())});
      }
    }
  }
  const Shape shape = given.rank() == 1 ? Shape{size} : Shape{rows, size};
  if (counts.empty()) {
    std::optional<HostTensor> zeros = node.NewTensor(DType::kFloat32, shape.dims());
    return zeros ? node.Constant(*std::move(zeros)) : kNoOnnxVar;
  }
  OnnxVar all = counts.size() == 1 ? counts[0] : node.Add<Concat>({1}, counts);
  all = OneOfEachOutput(node, all, columns);
  if (!node.ok()) return kNoOnnxVar;
  std::optional<HostTensor> chosen = node.NewTensor(DType::kInt64, {size});
  if (!chosen) return kNoOnnxVar;
  const auto zeros = static_cast<int64_t>(columns.size());  // the padding
  for (int64_t i = 0; i < size; ++i) chosen->SetInteger(i, zeros);
  for (const Column& column : columns) chosen->SetInteger(column.output, column.at);
  OnnxVar y = node.Add<Gather>({1}, {node.Padded(all, 1, 0, 1), node.Constant(*std::move(chosen))});
  if (mode == "IDF") y = node.Least(y, 1);
  if (mode != "TF" && !weights.empty()) {
    y = node.Product(
        y, node.Constant(HostTensor::FromValues<float>(DType::kFloat32, {size}, weights)));
  }
  return node.Reshaped(y, shape);
}

constexpr OnnxRow kNgramRows[] = {
    OnnxRow("TfIdfVectorizer", 1, 1, TfIdfVectorizer).Limits("of integers"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxNgramRows() { return kNgramRows; }

}  // namespace ashlar
