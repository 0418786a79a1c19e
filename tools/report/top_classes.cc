#include "tools/report/top_classes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/status.h"
#include "serialization/standard_input.h"
#include "tools/format.h"

namespace ashlar {
namespace {

constexpr int64_t kMostLabelBytes = 1 << 28;

}  // namespace

bool HoldsScores(const Shape& shape) {
  return shape.rank() >= 2 && shape.num_elements() == shape[0] * shape[1];
}

std::vector<std::vector<ScoredClass>> TopClasses(const HostTensor& scores, int64_t count) {
  const int64_t rows = scores.shape()[0], columns = scores.shape()[1];
  count = std::min(count, columns);
  std::vector<std::vector<ScoredClass>> top(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> order(static_cast<size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](int64_t c) {
      const double score = scores.At(row * columns + c);
      return std::isnan(score) ? -INFINITY : score;  // replaces NaN, so that scores can be ordered
    };
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t a, int64_t b) {
      const double x = value(a), y = value(b);
      return x > y || (x == y && a < b);
    });
    for (int64_t i = 0; i < count; ++i)
      top[row].push_back({order[i], scores.At(row * columns + order[i])});
  }
  return top;
}

absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file,
                          MapFileOrPipe(path, kMostLabelBytes));
  absl::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (absl::StrContains(text, '\0')) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no text; expected labels, one a line"));
  }
  text = absl::StripPrefix(text, "\xEF\xBB\xBF");  // a byte order mark
  std::vector<std::string> labels;
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    labels.emplace_back(absl::StripSuffix(line, "\r"));
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  if (!labels.empty()) return labels;
  return absl::InvalidArgumentError(absl::StrCat(path, ": no labels; expected one a line"));
}

absl::Status CheckLabels(const std::string& path, const std::vector<std::string>& labels,
                         const Graph& graph) {
  std::string outputs;
  for (const Binding& output : graph.outputs()) {
    const Shape& shape = graph.var(output.var).type.shape;
    const bool of_labels = HoldsScores(shape) && shape[1] == static_cast<int64_t>(labels.size());
    if (of_labels) return absl::OkStatus();
    absl::StrAppend(&outputs, outputs.empty() ? "" : ", ", output.name, " ", shape.ToString());
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", Counted(static_cast<int64_t>(labels.size()), "label"),
                   ", and no output has so many classes; the outputs are ", outputs));
}

}  // namespace ashlar
