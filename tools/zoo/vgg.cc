// VGG-19 (Simonyan and Zisserman 2015, "Very Deep Convolutional Networks for Large-Scale Image
// Recognition"), configuration E.
#include "absl/strings/str_cat.h"
#include "tools/zoo/network_builder.h"

namespace ashlar {
namespace {

constexpr int64_t kPooledSize = 7;  // of the map that the classifier reads

}  // namespace

absl::StatusOr<Graph> BuildVgg19(const ZooOptions& options) {
  constexpr int kConvolutions[] = {2, 2, 4, 4, 4};
  constexpr int64_t kChannels[] = {64, 128, 256, 512, 512};
  const int64_t size = options.image / 32;  // of the last feature map
  if (!options.headless && (size == 0 || size % kPooledSize != 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "vgg19: an image of ", options.image, " pixels gives a ", size, " x ", size,
        " feature map, and the classifier reads 7 x 7, averaged from a multiple of it: images of "
        "224, 448, 672, ... pixels (or --headless for any size)"));
  }
  NetworkBuilder net(options);
  Feature x = net.Input();
  for (int stage = 0; stage < 5; ++stage) {
    for (int i = 1; i <= kConvolutions[stage]; ++i) {
      const std::string suffix = absl::StrCat(stage + 1, "_", i);
      x = net.ConvBias("conv" + suffix, x,
                       {.channels = kChannels[stage], .kernel = 3, .padding = 1});
      x = net.Relu("relu" + suffix, x);
    }
    x = net.MaxPool(absl::StrCat("pool", stage + 1), x, 2, 2);
  }
  if (options.headless) return std::move(net).Finish("features", x);
  if (size > kPooledSize) x = net.AveragePool("avgpool", x, size / kPooledSize);
  x = net.Flatten("flatten", x);
  x = net.Relu("relu6", net.FullyConnected("fc6", x, 4096));
  x = net.Relu("relu7", net.FullyConnected("fc7", x, 4096));
  x = net.Softmax("prob", net.FullyConnected("fc8", x, 1000, NetworkBuilder::kLogitDeviation));
  return std::move(net).Finish("prob", x);
}

}  // namespace ashlar
