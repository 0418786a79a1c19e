#include "tools/zoo/zoo.h"

namespace ashlar {
namespace {

constexpr ZooModel kModels[] = {
    {"resnet18", "ResNet-18", BuildResNet18},
    {"resnet50", "ResNet-50 v1.5: the stride is in the 3x3 convolutions", BuildResNet50},
    {"vgg19", "VGG-19 without batch normalisation", BuildVgg19},
    {"mobilenet_v2", "MobileNetV2, width 1.0", BuildMobileNetV2},
    {"squeezenet", "SqueezeNet 1.1", BuildSqueezeNet},
    {"inception_v1", "Inception v1 (GoogLeNet), without auxiliary classifiers", BuildInceptionV1},
    {"tiling_chain", "conv, pool, conv, pool of one channel at 16 x 16", BuildTilingChain},
};

}  // namespace

absl::Span<const ZooModel> ZooModels() { return kModels; }

}  // namespace ashlar
