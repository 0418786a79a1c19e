// MegEngine's automatic names.
#ifndef ASHLAR_GRAPH_NAMING_H_
#define ASHLAR_GRAPH_NAMING_H_

#include <string>

#include "absl/types/span.h"
#include "graph/operator.h"

namespace ashlar {

// Returns base(in1,in2,...)[id]. Each input is listed without its outermost parentheses; after 64
// characters the list ends with "...". Inputs used as kHostValue, such as the target of a Reshape,
// are not listed: `input_names` does not contain them. Constants: const{1000,2048}[id], or
// const<-1>[id] for a single element.
std::string AutomaticName(const Operator& op, absl::Span<const std::string> input_names, int id);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_NAMING_H_
