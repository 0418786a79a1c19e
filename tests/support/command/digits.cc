#include "tests/support/command/digits.h"

#include <utility>

#include "graph/graph_builder.h"
#include "graph/random.h"
#include "opr/batch_norm.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/table.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kPixels = 64;
constexpr double kWhite = 16;  // the largest value of a pixel

class NetMaker {
 public:
  NetMaker(std::string kind, const Digits* digits) : kind_(std::move(kind)), digits_(digits) {}

  int Constant(const std::string& name, HostTensor value) {
    return Add(Operators().MakeConstant(std::move(value)), {}, name);
  }
  // Adds the reference's weight, or a uniform random one.
  int Weight(const std::string& name, const Shape& shape) {
    if (digits_ != nullptr) {
      return Constant(name, digits_->array(kind_ + "/initial/" + name).Reshaped(shape));
    }
    HostTensor value = HostTensor::Zeros(DType::kFloat32, shape);
    for (int64_t i = 0; i < value.num_elements(); ++i) value.Set(i, random_.Uniform(-0.1, 0.1));
    return Constant(name, std::move(value));
  }
  int Filled(const std::string& name, int64_t channels, double element) {
    HostTensor value = HostTensor::Zeros(DType::kFloat32, {channels});
    for (int64_t i = 0; i < channels; ++i) value.Set(i, element);
    return Constant(name, std::move(value));
  }
  int Add(OperatorPtr op, std::vector<int> inputs, const std::string& name) {
    GraphBuilder::NodeOptions options;
    options.name = name;
    return Value(builder_.Add(std::move(op), std::move(inputs), std::move(options)))[0];
  }
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs, const std::string& name) {
    return Add(std::make_shared<const Op>(std::move(param)), std::move(inputs), name);
  }

  // Adds a convolution, batch norm or bias, and ReLU.
  int Block(int x, const std::string& number, int64_t in, int64_t out) {
    ConvolutionParam param;
    param.pad_h = param.pad_w = 1;
    const std::string conv = "conv" + number, norm = "bn" + number;
    int y = Add<ConvolutionForward>(param, {x, Weight(conv + ".weight", {out, in, 3, 3})}, conv);
    if (kind_ == "bn") {
      const int scale =
          digits_ == nullptr ? Filled(norm + ".weight", out, 1) : Weight(norm + ".weight", {out});
      y = Add<BatchNorm>(
          {1e-5},
          {y, scale, Weight(norm + ".bias", {out}), Filled(norm + ".running_mean", out, 0),
           Filled(norm + ".running_var", out, 1)},
          norm);
    } else {
      y = Add<Elemwise>({ScalarFunction::kAdd}, {y, Weight(conv + ".bias", {1, out, 1, 1})},
                        conv + ".add");
    }
    return Add<Elemwise>({ScalarFunction::kRelu}, {y}, "relu" + number);
  }

  Graph Build() && { return Value(std::move(builder_).Build()); }

 private:
  const std::string kind_;
  const Digits* const digits_;
  Random random_{1};
  GraphBuilder builder_;
};

}  // namespace

Digits::Digits() {
  for (auto& [name, array] : Value(ReadNpz(SharedData(kDigits)))) arrays_[name] = std::move(array);
}

NamedTensors Digits::Split(const std::string& index) const {
  const HostTensor &images = array("images"), &labels = array("labels"), &chosen = array(index);
  const int64_t count = chosen.num_elements();
  HostTensor x = HostTensor::Zeros(DType::kFloat32, {count, 1, 8, 8});
  HostTensor y = HostTensor::Zeros(DType::kInt32, {count});
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = static_cast<int64_t>(chosen.At(i));
    for (int64_t p = 0; p < kPixels; ++p) {
      x.Set(i * kPixels + p, images.At(from * kPixels + p) / kWhite);
    }
    y.Set(i, labels.At(from));
  }
  return {{"images", std::move(x)}, {"labels", std::move(y)}};
}

Graph DigitsNet(const std::string& kind, const Digits* digits, int64_t batch) {
  NetMaker net(kind, digits);
  int x = net.Add<Host2DeviceCopy>({DType::kFloat32, {batch, 1, 8, 8}}, {}, "data");
  x = net.Block(x, "1", 1, 16);
  x = net.Block(x, "2", 16, 32);
  PoolingParam pooling;
  pooling.window_h = pooling.window_w = pooling.stride_h = pooling.stride_w = 2;
  x = net.Add<PoolingForward>(pooling, {x}, "pool");
  const int shape = net.Constant(
      "flat", HostTensor::FromValues<int64_t>(DType::kInt64, {2}, {int64_t{-1}, int64_t{512}}));
  x = net.Add<Reshape>({}, {x, shape}, "flatten");
  MatrixMulParam product;
  product.transposeB = true;
  x = net.Add<MatrixMul>(product, {x, net.Weight("fc.weight", {10, 512})}, "fc");
  x = net.Add<Elemwise>({ScalarFunction::kAdd}, {x, net.Weight("fc.bias", {10})}, "fc.add");
  x = net.Add<Softmax>({}, {x}, "prob");
  net.Add<OutputCallback>({}, {x}, "output");
  return std::move(net).Build();
}

}  // namespace ashlar::testing
