// Checks of inputs that several operators make.
#ifndef ASHLAR_OPR_CHECKS_H_
#define ASHLAR_OPR_CHECKS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/shape.h"

namespace ashlar {

// InvalidArgument unless the tensor is Float32 and has elements; `name` is the input's in messages.
absl::Status CheckFloat32(absl::string_view name, const TensorType& type);

// The same, and of rank 4: [N, C, H, W].
absl::Status CheckImage(absl::string_view name, const TensorType& type);

}  // namespace ashlar

#endif  // ASHLAR_OPR_CHECKS_H_
