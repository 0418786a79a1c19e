// MegEngine's automatic names.
#ifndef ASHLAR_GRAPH_NAMING_H_
#define ASHLAR_GRAPH_NAMING_H_

#include <string>

#include "absl/types/span.h"
#include "graph/operator.h"

namespace ashlar {

// base(in1,in2,...)[id]; each input without its outermost parentheses; from 64 characters on the
// list ends with "...". Inputs used as kHostValue, such as the target of a Reshape, are not listed:
// `input_names` comes without them. Constants: const{1000,2048}[id], or const<-1>[id] for one
// element.
std::string AutomaticName(const Operator& op, absl::Span<const std::string> input_names, int id);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_NAMING_H_
