// Inception v1 (Szegedy et al. 2015, "Going Deeper with Convolutions"), with the names of the
// authors' Caffe model.
#include "absl/strings/str_cat.h"
#include "tools/zoo/network_builder.h"

namespace ashlar {
namespace {

// The output channels of the branches of one module.
struct Module {
  const char* name;
  int64_t conv1, reduce3, conv3, reduce5, conv5, pool;
};

Feature Inception(NetworkBuilder& net, const Module& m, const Feature& x) {
  const std::string name = absl::StrCat("inception_", m.name, "/");
  const Feature reduced3 = net.ConvRelu(name + "3x3_reduce", x, {.channels = m.reduce3});
  const Feature reduced5 = net.ConvRelu(name + "5x5_reduce", x, {.channels = m.reduce5});
  const Feature pooled = net.MaxPool(name + "pool", x, 3, 1, 1);
  return net.Concat(
      name + "output",
      {net.ConvRelu(name + "1x1", x, {.channels = m.conv1}),
       net.ConvRelu(name + "3x3", reduced3, {.channels = m.conv3, .kernel = 3, .padding = 1}),
       net.ConvRelu(name + "5x5", reduced5, {.channels = m.conv5, .kernel = 5, .padding = 2}),
       net.ConvRelu(name + "pool_proj", pooled, {.channels = m.pool})});
}

}  // namespace

absl::StatusOr<Graph> BuildInceptionV1(const ZooOptions& options) {
  constexpr Module kStage3[] = {{"3a", 64, 96, 128, 16, 32, 32}, {"3b", 128, 128, 192, 32, 96, 64}};
  constexpr Module kStage4[] = {{"4a", 192, 96, 208, 16, 48, 64},
                                {"4b", 160, 112, 224, 24, 64, 64},
                                {"4c", 128, 128, 256, 24, 64, 64},
                                {"4d", 112, 144, 288, 32, 64, 64},
                                {"4e", 256, 160, 320, 32, 128, 128}};
  constexpr Module kStage5[] = {{"5a", 256, 160, 320, 32, 128, 128},
                                {"5b", 384, 192, 384, 48, 128, 128}};
  NetworkBuilder net(options);
  Feature x = net.ConvRelu("conv1/7x7_s2", net.Input(),
                           {.channels = 64, .kernel = 7, .stride = 2, .padding = 3});
  x = net.MaxPoolCeil("pool1/3x3_s2", x, 3, 2);
  x = net.LocalResponseNorm("pool1/norm1", x);
  x = net.ConvRelu("conv2/3x3_reduce", x, {.channels = 64});
  x = net.ConvRelu("conv2/3x3", x, {.channels = 192, .kernel = 3, .padding = 1});
  x = net.LocalResponseNorm("conv2/norm2", x);
  x = net.MaxPoolCeil("pool2/3x3_s2", x, 3, 2);
  for (const Module& module : kStage3) x = Inception(net, module, x);
  x = net.MaxPoolCeil("pool3/3x3_s2", x, 3, 2);
  for (const Module& module : kStage4) x = Inception(net, module, x);
  x = net.MaxPoolCeil("pool4/3x3_s2", x, 3, 2);
  for (const Module& module : kStage5) x = Inception(net, module, x);
  if (options.headless) return std::move(net).Finish("features", x);
  x = net.Classifier("pool5", "loss3/classifier", x);
  return std::move(net).Finish("prob", x);
}

}  // namespace ashlar
