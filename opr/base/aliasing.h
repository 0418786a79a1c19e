// Common answers to Operator::aliasing.
#ifndef ASHLAR_OPR_BASE_ALIASING_H_
#define ASHLAR_OPR_BASE_ALIASING_H_

#include <cstdint>

#include "graph/operator.h"

namespace ashlar {

// Declares output 0 a view of input 0 from `offset` on.
inline Aliasing ViewOfInput(int64_t offset = 0) {
  return {.views = {{.output = 0, .input = 0, .offset = offset}}};
}

// Lets output 0 overwrite any input of its type.
inline Aliasing OverwritesInputs(const Site& site) {
  Aliasing aliasing;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (site.inputs[i].type != site.outputs[0]) continue;
    aliasing.overwrites.push_back({.output = 0, .input = static_cast<int>(i)});
  }
  return aliasing;
}

// Lets output 0 overwrite one input of its type.
inline Aliasing OverwritesInput(int input, const Site& site) {
  Aliasing aliasing;
  if (static_cast<size_t>(input) < site.inputs.size() &&
      site.inputs[input].type == site.outputs[0]) {
    aliasing.overwrites.push_back({.output = 0, .input = input});
  }
  return aliasing;
}

// Like OverwritesInput, but 8-bit integers may differ in scale and zero point.
inline Aliasing OverwritesBytes(int input, const Site& site) {
  Aliasing aliasing;
  if (static_cast<size_t>(input) < site.inputs.size() &&
      site.inputs[input].type.format == site.outputs[0].format) {
    aliasing.overwrites.push_back({.output = 0, .input = input});
  }
  return aliasing;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_ALIASING_H_
