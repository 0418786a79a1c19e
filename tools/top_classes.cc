#include "tools/top_classes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/status.h"
#include "serialization/mapped_file.h"

namespace ashlar {

std::vector<std::vector<ScoredClass>> TopClasses(const HostTensor& scores, int64_t count) {
  const int64_t rows = scores.shape()[0], columns = scores.shape()[1];
  count = std::min(count, columns);
  std::vector<std::vector<ScoredClass>> top(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> order(static_cast<size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    const auto value = [&](int64_t c) {
      const double score = scores.At(row * columns + c);
      return std::isnan(score) ? -INFINITY : score;  // so that scores can be ordered
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
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  const absl::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                               file->bytes().size());
  std::vector<std::string> labels;
  for (absl::string_view line : absl::StrSplit(text, '\n'))
    labels.emplace_back(absl::StripSuffix(line, "\r"));
  return labels;
}

}  // namespace ashlar
