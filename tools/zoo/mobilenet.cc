// MobileNetV2 (Sandler et al. 2018, "MobileNetV2: Inverted Residuals and Linear Bottlenecks"),
// width 1.0, as torchvision builds it.
#include "absl/strings/str_cat.h"
#include "tools/zoo/network_builder.h"

namespace ashlar {
namespace {

struct Stage {
  int64_t expansion, channels, blocks, stride;
};

Feature ConvNormRelu6(NetworkBuilder& net, const std::string& name, const Feature& x,
                      const ConvolutionShape& shape) {
  return net.Relu6(name + ".2", net.ConvBatchNorm(name + ".0", name + ".1", x, shape));
}

Feature InvertedResidual(NetworkBuilder& net, const std::string& name, const Feature& x,
                         int64_t expansion, int64_t channels, int64_t stride) {
  const int64_t in_channels = net.shape(x)[1];
  const int64_t hidden = in_channels * expansion;
  const bool shortcut = stride == 1 && in_channels == channels;
  int layer = 0;
  Feature y = x;
  if (expansion != 1) {
    y = ConvNormRelu6(net, absl::StrCat(name, ".conv.", layer++), y, {.channels = hidden});
  }
  y = ConvNormRelu6(
      net, absl::StrCat(name, ".conv.", layer++), y,
      {.channels = hidden, .kernel = 3, .stride = stride, .padding = 1, .depthwise = true});
  y = net.ConvBatchNorm(absl::StrCat(name, ".conv.", layer),
                        absl::StrCat(name, ".conv.", layer + 1), y, {.channels = channels},
                        shortcut ? NetworkBuilder::kResidualGain : 1);
  return shortcut ? net.Add(name + ".add", x, y) : y;
}

}  // namespace

absl::StatusOr<Graph> BuildMobileNetV2(const ZooOptions& options) {
  constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                               {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  NetworkBuilder net(options);
  Feature x = ConvNormRelu6(net, "features.0", net.Input(),
                            {.channels = 32, .kernel = 3, .stride = 2, .padding = 1});
  int block = 1;
  for (const Stage& stage : kStages) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      x = InvertedResidual(net, absl::StrCat("features.", block++), x, stage.expansion,
                           stage.channels, i == 0 ? stage.stride : 1);
    }
  }
  x = ConvNormRelu6(net, absl::StrCat("features.", block), x, {.channels = 1280});
  if (options.headless) return std::move(net).Finish("features", x);
  x = net.Classifier("avgpool", "classifier", x);
  return std::move(net).Finish("prob", x);
}

}  // namespace ashlar
