// Answers to Operator::aliasing that several operators give.
#ifndef ASHLAR_OPR_ALIASING_H_
#define ASHLAR_OPR_ALIASING_H_

#include <cstdint>

#include "graph/operator.h"

namespace ashlar {

// Output 0 is input 0 from `offset` on.
inline Aliasing ViewOfInput(int64_t offset = 0) {
  return {.views = {{.output = 0, .input = 0, .offset = offset}}};
}

// Output 0 may overwrite any input of its type.
inline Aliasing OverwritesInputs(const Site& site) {
  Aliasing aliasing;
  for (size_t i = 0; i < site.inputs.size(); ++i) {
    if (site.inputs[i].type != site.outputs[0]) continue;
    aliasing.overwrites.push_back({.output = 0, .input = static_cast<int>(i)});
  }
  return aliasing;
}

// The same for one input.
inline Aliasing OverwritesInput(int input, const Site& site) {
  Aliasing aliasing;
  if (static_cast<size_t>(input) < site.inputs.size() &&
      site.inputs[input].type == site.outputs[0]) {
    aliasing.overwrites.push_back({.output = 0, .input = input});
  }
  return aliasing;
}

// The same where integers of 8 bits may be of different scales and zero points.
inline Aliasing OverwritesBytes(int input, const Site& site) {
  Aliasing aliasing;
  if (static_cast<size_t>(input) < site.inputs.size() &&
      site.inputs[input].type.format == site.outputs[0].format) {
    aliasing.overwrites.push_back({.output = 0, .input = input});
  }
  return aliasing;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_ALIASING_H_
