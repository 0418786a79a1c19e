#include "serialization/onnx/import/supported.h"

#include "absl/strings/str_cat.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {

std::vector<SupportedOnnx> SupportedOnnxOperators() {
  std::vector<SupportedOnnx> operators;
  for (const OnnxRow& row : AllOnnxRows()) {
    const std::string domain = row.domain;
    std::string sets = absl::StrCat(row.since, " to ", row.until);
    if (row.until == OnnxRow::kAny) {
      sets = row.since == 1 ? "all" : absl::StrCat("from ", row.since);
    }
    const bool runs = row.run != nullptr || row.body != nullptr;
    operators.push_back({row.type, domain.empty() ? "ai.onnx" : domain, sets, runs, row.limits});
  }
  return operators;
}

}  // namespace ashlar
