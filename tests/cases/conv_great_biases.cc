// Cases of ConvBiasForward in 8 bits whose biases are close to the greatest that 32 bits hold: the
// sums fit, but a bias minus the zero point's share of the products does not.
#include <limits>

#include "opr/quantized_conv.h"
#include "tests/cases/convolution_layer.h"
#include "tests/cases/quantized.h"

namespace ashlar::testing {
namespace {

std::vector<Layer> GreatlyBiased() {
  return {
      {"3x3", 1, 20, 37, 6, 7, 3, 3, 1, Window(1, 1)},
      {"1x1", 2, 64, 32, 3, 5, 1, 1, 1, Window(1, 0)},
      {"to one channel", 1, 5, 1, 4, 4, 3, 3, 1, Window(1, 0)},
      {"depthwise", 1, 40, 40, 5, 9, 3, 3, 40, Window(1, 1)},
      {"groups", 1, 24, 24, 5, 6, 3, 3, 3, Window(2, 1)},
  };
}

}  // namespace

// Pixels are the greatest, which is the zero point, or one below; weights are -128. So the sum of
// products is at most 128 per tap, and the zero point's share 127 or 255 times as much.
void AddGreatBiases(Cases& cases) {
  for (const Layer& layer : GreatlyBiased()) {
    for (const DType dtype : kBytes) {
      const int32_t most = MostOf(dtype);
      HostTensor src =
          HostTensor::Zeros(StoredAs(dtype), {layer.batch, layer.in, layer.h, layer.w});
      for (int64_t i = 0; i < src.num_elements(); ++i) {
        src.Set(i, static_cast<double>(most - cases.Pick(0, 1)));
      }
      ConvBiasParam param = layer.param;
      HostTensor filter = HostTensor::Zeros(DType::kInt8, FilterOf(layer, param));
      for (int64_t i = 0; i < filter.num_elements(); ++i) filter.Set(i, -128);
      HostTensor bias = HostTensor::Zeros(DType::kInt32, {1, layer.out, 1, 1});
      const int64_t products = filter.num_elements() / layer.out;
      for (int64_t i = 0; i < layer.out; ++i) {
        bias.Set(i, static_cast<double>(std::numeric_limits<int32_t>::max() - 128 * products));
      }
      src = src.As(dtype, Value(Quantization::Make(dtype, {0.5f}, most)));
      filter = filter.As(DType::kQuantizedS8,
                         Value(Quantization::Make(DType::kQuantizedS8, {0.25f}, 0)));
      bias = bias.As(
          DType::kQuantizedS32,
          Value(Quantization::Make(DType::kQuantizedS32,
                                   SumScales(src.quantization(), filter.quantization()), 0)));
      param.output = {dtype, 0x1p23f, 0};  // 2^31 sums are 32 steps
      AddQuantized(cases,
                   {.name = absl::StrCat("8 bits, great biases, ", layer.name),
                    .op = Make<ConvBiasForward>(param),
                    .inputs = {src, filter, bias},
                    .constant = {false, true, false}},
                   {true, false, false});
    }
  }
}

}  // namespace ashlar::testing
