// ResNet (He et al. 2016, "Deep Residual Learning for Image Recognition"), as torchvision builds
// it.
#include "absl/strings/str_cat.h"
#include "tools/zoo/network_builder.h"

namespace ashlar {
namespace {

// Blocks by stage. A bottleneck's last convolution is four times as wide as the others.
struct Variant {
  bool bottleneck;
  int blocks[4];
};

Feature Block(NetworkBuilder& net, const std::string& name, const Feature& x, int64_t width,
              int64_t stride, bool bottleneck) {
  const int64_t channels = bottleneck ? 4 * width : width;
  const bool projects = stride != 1 || net.shape(x)[1] != channels;
  const auto conv = [&](int i, const Feature& in, const ConvolutionShape& shape, double gain) {
    return net.ConvBatchNorm(absl::StrCat(name, ".conv", i), absl::StrCat(name, ".bn", i), in,
                             shape, gain);
  };
  const auto relu = [&](int i, const Feature& in) {
    return net.Relu(absl::StrCat(name, ".relu", i), in);
  };
  Feature y = x;
  if (bottleneck) {
    y = relu(1, conv(1, y, {.channels = width}, 1));
    y = relu(2, conv(2, y, {.channels = width, .kernel = 3, .stride = stride, .padding = 1}, 1));
    y = conv(3, y, {.channels = channels}, NetworkBuilder::kResidualGain);
  } else {
    y = relu(1, conv(1, y, {.channels = width, .kernel = 3, .stride = stride, .padding = 1}, 1));
    y = conv(2, y, {.channels = width, .kernel = 3, .padding = 1}, NetworkBuilder::kResidualGain);
  }
  Feature shortcut = x;
  if (projects) {
    shortcut =
        net.ConvBatchNorm(absl::StrCat(name, ".downsample.0"), absl::StrCat(name, ".downsample.1"),
                          x, {.channels = channels, .stride = stride});
  }
  return relu(bottleneck ? 3 : 2, net.Add(absl::StrCat(name, ".add"), y, shortcut));
}

absl::StatusOr<Graph> Build(const ZooOptions& options, const Variant& variant) {
  NetworkBuilder net(options);
  Feature x = net.ConvBatchNorm("conv1", "bn1", net.Input(),
                                {.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  x = net.MaxPool("maxpool", net.Relu("relu", x), 3, 2, 1);
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < variant.blocks[stage]; ++i) {
      const int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      x = Block(net, absl::StrCat("layer", stage + 1, ".", i), x, int64_t{64} << stage, stride,
                variant.bottleneck);
    }
  }
  if (options.headless) return std::move(net).Finish("features", x);
  x = net.Classifier("avgpool", "fc", x);
  return std::move(net).Finish("prob", x);
}

}  // namespace

absl::StatusOr<Graph> BuildResNet18(const ZooOptions& options) {
  return Build(options, {.bottleneck = false, .blocks = {2, 2, 2, 2}});
}

absl::StatusOr<Graph> BuildResNet50(const ZooOptions& options) {
  return Build(options, {.bottleneck = true, .blocks = {3, 4, 6, 3}});
}

}  // namespace ashlar
