// Layers of convolutions, said shortly.
#ifndef ASHLAR_TESTS_CASES_CONVOLUTION_LAYER_H_
#define ASHLAR_TESTS_CASES_CONVOLUTION_LAYER_H_

#include <algorithm>
#include <cstdint>

#include "opr/conv_bias.h"
#include "tests/cases/cases.h"

namespace ashlar::testing {

struct Layer {
  const char* name;
  int64_t batch, in, out;  // channels over all groups
  int64_t h, w;
  int64_t fh, fw;
  int64_t groups = 1;
  ConvBiasParam param = {};
};

// The same in both dimensions.
inline ConvBiasParam Window(int64_t stride, int64_t pad, int64_t dilation = 1) {
  ConvBiasParam param;
  param.stride_h = param.stride_w = stride;
  param.pad_h = param.pad_w = pad;
  param.dilate_h = param.dilate_w = dilation;
  return param;
}

// Returns the filter's shape, and sets whether it has groups. Groups 0: one group, with the group
// dimension.
inline Shape FilterOf(const Layer& layer, ConvBiasParam& param) {
  const int64_t groups = std::max<int64_t>(1, layer.groups);
  if (layer.groups == 1) return {layer.out, layer.in, layer.fh, layer.fw};
  param.sparse = SparseMode::kGroup;
  return {groups, layer.out / groups, layer.in / groups, layer.fh, layer.fw};
}

// Adds layers of 8 bits whose biases are close to the greatest that 32 bits hold.
void AddGreatBiases(Cases& cases);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_CONVOLUTION_LAYER_H_
