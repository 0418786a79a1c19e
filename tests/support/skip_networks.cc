#include "tests/support/skip_networks.h"

#include <vector>

#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/elemwise.h"
#include "opr/pooling.h"
#include "opr/resize.h"
#include "tests/support/graph_maker.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

int AddDoubled(GraphMaker& maker, int x, const std::string& name) {
  ResizeParam param;
  param.axes = {2, 3};
  param.mode = ResizeMode::kNearest;
  param.coordinates = ResizeCoordinates::kAsymmetric;
  param.rounding = ResizeRounding::kFloor;
  const int scales =
      maker.Constant(HostTensor::FromValues<float>(DType::kFloat32, {2}, {2.0f, 2.0f}));
  return maker.Add<Resize>(param, {x, scales}, name);
}

namespace {

class NetworkMaker {
 public:
  explicit NetworkMaker(std::mt19937_64& random) : random_(random) {}

  int Convolution(int x, int64_t channels, int64_t window) {
    ConvBiasParam param;
    param.nonlineMode = ScalarFunction::kRelu;
    param.pad_h = param.pad_w = window / 2;
    const Shape filter = {channels, maker.var(x).type.shape[1], window, window};
    const int w = maker.Constant(RandomTensor(random_, filter));
    const int bias = maker.Constant(RandomTensor(random_, {1, channels, 1, 1}));
    return maker.Add<ConvBiasForward>(param, {x, w, bias});
  }
  int Half(int x) {
    PoolingParam pool;
    pool.window_h = pool.window_w = pool.stride_h = pool.stride_w = 2;
    return maker.Add<PoolingForward>(pool, {x});
  }

  GraphMaker maker;

 private:
  std::mt19937_64& random_;
};

}  // namespace

Graph MakeSkipNetwork(std::mt19937_64& random, const SkipNetwork& network) {
  NetworkMaker m(random);
  const auto channels = [&](int64_t level) {
    return network.sums ? network.channels : network.channels << level;
  };
  int x = m.maker.Input("x", {1, 3, network.rows, network.rows});
  std::vector<int> skips;
  for (int64_t level = 0; level < network.levels; ++level) {
    x = m.Convolution(m.Convolution(x, channels(level), 3), channels(level), 3);
    if (level + 1 == network.levels) break;
    skips.push_back(x);
    x = m.Half(x);
  }
  for (int64_t level = network.levels - 1; level-- > 0;) {
    if (network.heads) m.maker.Output(m.Convolution(x, 4, 3));
    x = AddDoubled(m.maker, m.Convolution(x, channels(level), 1));
    x = network.sums ? m.maker.Add<Elemwise>({ScalarFunction::kAdd}, {x, skips[level]})
                     : m.maker.Add<Concat>({.axis = 1}, {skips[level], x});
    x = m.Convolution(x, channels(level), 3);
  }
  m.maker.Output(m.Convolution(x, 4, 1));
  return std::move(m.maker).Build();
}

SkipNetwork RandomSkipNetwork(std::mt19937_64& random) {
  SkipNetwork network;
  network.levels = Pick(random, 2, 4);
  network.channels = 4 * Pick(random, 1, 4);
  network.rows = Pick(random, 2, 4) << network.levels;
  network.sums = Pick(random, 0, 1) == 1;
  network.heads = Pick(random, 0, 1) == 1;
  return network;
}

}  // namespace ashlar::testing
