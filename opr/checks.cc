#include "opr/checks.h"

#include "graph/status.h"

namespace ashlar {

absl::Status CheckFloat32(absl::string_view name, const TensorType& type) {
  if (type.dtype != DType::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is ", type.ToString(), ", expected Float32"));
  }
  if (type.shape.num_elements() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is ", type.ToString(), ": empty"));
  }
  return absl::OkStatus();
}

absl::Status CheckImage(absl::string_view name, const TensorType& type) {
  ASHLAR_RETURN_IF_ERROR(CheckFloat32(name, type));
  if (type.shape.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", type.ToString(), ", expected rank 4 (N, C, H, W)"));
}

}  // namespace ashlar
