#include "serialization/onnx/import/supported.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {

std::vector<SupportedOnnx> SupportedOnnxOperators() {
  // Nodes with graphs have no rows: OnnxNodeReader reads them.
  std::vector<SupportedOnnx> operators = {
      {"FlexAttention", "ai.onnx.preview", "all", true, ""},
      {"If", "ai.onnx", "all", true, "both branches run if the condition is of the run"},
      {"Loop", "ai.onnx", "all", true, "unrolled; a trip count known, of counts, or bounded"},
      {"Scan", "ai.onnx", "all", true, "unrolled; a length known, or of counts"},
      {"SequenceMap", "ai.onnx", "all", true, "unrolled"},
  };
  for (const OnnxRow& row : AllOnnxRows()) {
    const std::string domain = row.domain;
    std::string sets = absl::StrCat(row.since, " to ", row.until);
    if (row.until == OnnxRow::kAny) {
      sets = row.since == 1 ? "all" : absl::StrCat("from ", row.since);
    }
    const bool runs = row.run != nullptr || row.body != nullptr;
    operators.push_back({row.type, domain.empty() ? "ai.onnx" : domain, sets, runs, row.limits});
  }
  std::stable_sort(operators.begin(), operators.end(),
                   [](const SupportedOnnx& a, const SupportedOnnx& b) {
                     return std::tie(a.domain, a.type) < std::tie(b.domain, b.type);
                   });
  return operators;
}

}  // namespace ashlar
