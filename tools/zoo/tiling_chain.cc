// The chain of operators whose tiles a logged training run with spatial tiling shows.
#include "tools/zoo/network_builder.h"

namespace ashlar {

absl::StatusOr<Graph> BuildTilingChain(const ZooOptions& options) {
  ZooOptions small = options;
  small.image = 16;
  NetworkBuilder net(small);
  Feature x = net.Input(1);
  x = net.Conv("conv1", x, {.channels = 1, .kernel = 3, .padding = 1});
  x = net.MaxPool("pool1", x, 2, 2);
  x = net.Conv("conv2", x, {.channels = 1, .kernel = 3, .padding = 1});
  x = net.MaxPool("pool2", x, 2, 2);
  return std::move(net).Finish("features", x);
}

}  // namespace ashlar
