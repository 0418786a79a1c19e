// Layers of convolutions, said shortly.
#ifndef ASHLAR_TESTS_CASES_CONVOLUTION_LAYER_H_
#define ASHLAR_TESTS_CASES_CONVOLUTION_LAYER_H_

#include <cstdint>

#include "opr/conv_bias.h"

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

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_CASES_CONVOLUTION_LAYER_H_
