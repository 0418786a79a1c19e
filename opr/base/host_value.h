// Reads numbers that operators need before the run: target shapes, bounds, scales.
#ifndef ASHLAR_OPR_BASE_HOST_VALUE_H_
#define ASHLAR_OPR_BASE_HOST_VALUE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/operator.h"

namespace ashlar {

// Returns the elements of an Int32 or Int64 vector of at most Shape::kMaxRank elements. `what`
// names it in errors: InvalidArgument if its value is not known, or if it is not such a vector.
absl::StatusOr<std::vector<int64_t>> IntegerVector(const InputInfo& input, absl::string_view what);

// Like IntegerVector, for exactly one element, of rank 0 or 1.
absl::StatusOr<int64_t> IntegerScalar(const InputInfo& input, absl::string_view what);

// Like IntegerVector, for Float32 and twice as many elements: pairs by axis.
absl::StatusOr<std::vector<float>> FloatVector(const InputInfo& input, absl::string_view what);

// Returns a host tensor as shape inference sees it.
InputInfo InfoOf(const HostTensor& tensor);
std::vector<InputInfo> InfosOf(absl::Span<const HostTensor> tensors);

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_HOST_VALUE_H_
