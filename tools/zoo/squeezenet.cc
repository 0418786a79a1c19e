// SqueezeNet 1.1 (Iandola et al. 2016, "SqueezeNet: AlexNet-level accuracy with 50x fewer
// parameters"), as torchvision builds it.
#include "absl/strings/str_cat.h"
#include "tools/zoo/network_builder.h"

namespace ashlar {
namespace {

// The gain of the class maps, whose means over the image are the logits.
constexpr double kClassMapGain = 20;

Feature Fire(NetworkBuilder& net, int index, const Feature& x, int64_t squeeze, int64_t expand) {
  const std::string name = absl::StrCat("fire", index);
  const Feature s = net.ConvRelu(name + ".squeeze", x, {.channels = squeeze});
  return net.Concat(
      name + ".concat",
      {net.ConvRelu(name + ".expand1x1", s, {.channels = expand}),
       net.ConvRelu(name + ".expand3x3", s, {.channels = expand, .kernel = 3, .padding = 1})});
}

}  // namespace

absl::StatusOr<Graph> BuildSqueezeNet(const ZooOptions& options) {
  NetworkBuilder net(options);
  Feature x = net.ConvRelu("conv1", net.Input(), {.channels = 64, .kernel = 3, .stride = 2});
  x = net.MaxPoolCeil("pool1", x, 3, 2);
  x = Fire(net, 2, x, 16, 64);
  x = Fire(net, 3, x, 16, 64);
  x = net.MaxPoolCeil("pool3", x, 3, 2);
  x = Fire(net, 4, x, 32, 128);
  x = Fire(net, 5, x, 32, 128);
  x = net.MaxPoolCeil("pool5", x, 3, 2);
  x = Fire(net, 6, x, 48, 192);
  x = Fire(net, 7, x, 48, 192);
  x = Fire(net, 8, x, 64, 256);
  x = Fire(net, 9, x, 64, 256);
  if (options.headless) return std::move(net).Finish("features", x);
  x = net.ConvRelu("conv10", x, {.channels = 1000}, kClassMapGain);
  x = net.Softmax("prob", net.Flatten("flatten", net.GlobalAveragePool("pool10", x)));
  return std::move(net).Finish("prob", x);
}

}  // namespace ashlar
