// Converts the elements of an array of a file to the dtype of an input.
#ifndef ASHLAR_TOOLS_CONVERT_ELEMENTS_H_
#define ASHLAR_TOOLS_CONVERT_ELEMENTS_H_

#include "absl/status/statusor.h"
#include "graph/tensor.h"

namespace ashlar {

// Floats are rounded to floats. Integers, quantised dtypes and Bool take only numbers that they
// hold exactly. InvalidArgument, with the first such element, for
//   a number out of range (of Bool: other than 0 and 1), NaN or a fraction, as an integer
//   a finite number that is infinite as a float
absl::StatusOr<HostTensor> ConvertElements(const HostTensor& x, DType dtype);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_CONVERT_ELEMENTS_H_
