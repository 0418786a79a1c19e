#include "tests/support/command/small_model.h"

#include "tests/support/status.h"
#include "tools/zoo/network_builder.h"

namespace ashlar::testing {

Graph SmallModel(int64_t batch) {
  NetworkBuilder net({.batch = batch, .image = 16});
  Feature x = net.ConvBatchNorm("conv1", "bn1", net.Input(),
                                {.channels = 32, .kernel = 3, .stride = 2, .padding = 1});
  x = net.Relu("relu1", x);
  const Feature y =
      net.ConvBatchNorm("conv2", "bn2", x, {.channels = 32, .kernel = 3, .padding = 1});
  x = net.Relu("relu2", net.Add("add", y, x));
  x = net.Flatten("flatten", net.GlobalAveragePool("pool", x));
  x = net.Softmax("prob", net.FullyConnected("fc", x, 10));
  return Value(std::move(net).Finish("prob", x));
}

}  // namespace ashlar::testing
