#include "serialization/onnx/import/operator_sets.h"

#include "absl/strings/str_cat.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {

std::string OnnxDomain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

absl::StatusOr<OnnxOperatorSets> OperatorSetsOf(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  OnnxOperatorSets sets;
  for (const onnx::OperatorSetIdProto& import : imports) {
    const std::string domain = OnnxDomain(import.domain());
    if (domain.empty() && import.version() > kNewestOperatorSet) {
      return absl::UnimplementedError(absl::StrCat(
          "operator set ", import.version(), "; the newest that is known is ", kNewestOperatorSet));
    }
    if (import.version() < 1) {
      return absl::InvalidArgumentError(absl::StrCat("operator set ", import.version()));
    }
    sets[domain] = import.version();
  }
  if (sets.empty()) return absl::InvalidArgumentError("no operator set is imported");
  return sets;
}

}  // namespace ashlar
