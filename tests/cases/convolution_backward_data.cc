#include "opr/convolution_backward_data.h"

#include "tests/cases/cases.h"
#include "tests/cases/convolution_layer.h"

namespace ashlar::testing {

template <>
void AddCases<ConvolutionBackwardData>(Cases& cases) {
  const auto add = [&](ConvolutionParam param, const Shape& src, const Shape& filter,
                       bool with_z = false) {
    param.sparse = filter.rank() == 5 ? SparseMode::kGroup : SparseMode::kDense;
    for (const bool constant : {true, false}) {
      KernelCase test{with_z ? "deconv z" : "deconv",
                      Make<ConvolutionBackwardData>(param),
                      {cases.Tensor(src, -1, 1), cases.Tensor(filter, -1, 1)}};
      test.constant = {false, constant};
      if (with_z) {
        const auto types = InferShapes(*test.op, {src, filter});
        test.inputs.push_back(cases.Tensor((*types)[0].shape, -1, 1));
        test.constant.push_back(false);
      }
      test.tolerance = 1e-5;
      test.large = src.num_elements() > 20000 || filter.num_elements() > 100000;
      const std::vector<bool> images = {true, false, true};
      cases.AddImages(test, images);
      if (constant) cases.AddFormatPairs(test, images, /*from_planes=*/true);
      if (!with_z) continue;
      test.in_place = ConvolutionBackwardData::kZ;
      cases.AddImages(test, images);
    }
  };
  add(Window(2, 0), {1, 32, 7, 9}, {32, 16, 2, 2});  // UNet
  add(Window(2, 1), {2, 24, 6, 5}, {24, 35, 4, 4});  // GANs
  add(Window(2, 1), {1, 3, 6, 8}, {3, 20, 3, 3});    // few channels
  add(Window(1, 1), {1, 16, 8, 8}, {16, 16, 3, 3});  // as a convolution
  add(Window(3, 2, 2), {1, 17, 5, 7}, {17, 18, 3, 2});
  add(Window(4, 0), {1, 8, 5, 3}, {8, 5, 2, 3});  // windows do not meet
  add(Window(2, 0), {1, 32, 5, 6}, {2, 16, 16, 3, 3});
  add(Window(2, 1), {2, 20, 5, 6}, {4, 5, 3, 3, 3});
  add(Window(2, 1), {1, 33, 6, 7}, {33, 1, 1, 4, 4});  // bilinear upsampling, channel by channel
  add(Window(2, 0), {1, 64, 40, 40}, {64, 32, 2, 2});
  add(Window(2, 1), {1, 136, 3, 2}, {136, 264, 3, 3});  // a filter that is packed by chunks
  add(Window(3, 1, 2), {2, 20, 5, 6}, {20, 24, 3, 4});  // strides and dilations
  add(Window(2, 1, 2), {2, 20, 5, 6}, {20, 24, 4, 3});  // outputs that no tap meets
  add(Window(2, 1), {2, 40, 5, 6}, {40, 1, 1, 3, 3});
  add(Window(1, 1), {2, 40, 5, 6}, {40, 1, 1, 3, 3});
  add(Window(5, 0), {1, 16, 1, 1}, {16, 16, 3, 3});  // fewer outputs than remainders
  ConvolutionParam uneven = Window(2, 1);
  uneven.pad_h = -2;  // rows that no tap reaches
  uneven.pad_h_end = 0;
  uneven.pad_w_end = -3;
  uneven.stride_w = 3;
  uneven.mode = ConvolutionMode::kConvolution;
  add(uneven, {1, 18, 5, 9}, {18, 17, 3, 4});
  const bool with_z = true;
  add(uneven, {1, 18, 5, 9}, {18, 17, 3, 4}, with_z);
  add(Window(1, 1), {1, 16, 8, 8}, {16, 16, 3, 3}, with_z);
  add(Window(1, 0), {2, 20, 5, 7}, {20, 33, 1, 1}, with_z);
  add(Window(2, 0), {2, 24, 6, 5}, {24, 35, 1, 1}, with_z);  // most outputs are z
  add(Window(4, 0), {1, 8, 5, 3}, {8, 5, 2, 3}, with_z);
  add(Window(2, 1), {2, 20, 5, 6}, {4, 5, 3, 3, 3}, with_z);
  add(Window(2, 1), {2, 40, 5, 6}, {40, 1, 1, 3, 3}, with_z);
  add(Window(2, 1), {1, 136, 3, 2}, {136, 264, 3, 3}, with_z);
}

}  // namespace ashlar::testing
