// The arenas of small networks in 8 bits, of which others publish theirs.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "nlohmann/json.hpp"
#include "opr/conv_bias.h"
#include "opr/elemwise_multi_type.h"
#include "opr/pooling.h"
#include "opr/quantized_conv.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/type_cvt.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "tests/support/graph_maker.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using nlohmann::json;
using testing::GraphMaker;
using testing::HasSharedData;
using testing::SharedData;
using testing::Value;

constexpr OutputType kBytes = {DType::kQuantizedS8, 0.05f, 3};

HostTensor Zeros(DType dtype, const Shape& shape, float scale) {
  return HostTensor::Zeros(StoredAs(dtype), shape)
      .As(dtype, Value(Quantization::Make(dtype, {scale})));
}

// A network of nets.json, whose operators are listed as: kind, name, inputs, output, window,
// stride, padding, activation.
class NetMaker {
 public:
  explicit NetMaker(const json& net) : net_(net), vars_(net["tensors"].size(), -1) {}

  Graph Make() && {
    const int input = net_["input_tensor"];
    const int bytes = maker_.Input("x", ShapeOf(input), DType::kInt8);
    vars_[static_cast<size_t>(input)] =
        maker_.Add<TypeCvt>({kBytes.dtype, kBytes.scale, kBytes.zero_point}, {bytes});
    for (const json& op : net_["ops"]) var(op[3]) = Add(op);
    maker_.Output(maker_.Add<TypeCvt>({DType::kInt8}, {var(net_["output_tensor"])}, "y"));
    return std::move(maker_).Build();
  }

 private:
  int& var(int tensor) { return vars_[static_cast<size_t>(tensor)]; }
  Shape ShapeOf(int tensor) const {
    const json& chw = net_["tensors"][static_cast<size_t>(tensor)];
    return {1, chw[0], chw[1], chw[2]};
  }

  int Add(const json& op) {
    const std::string kind = op[0], name = op[1], activation = op[7];
    const int x = var(op[2][0]);
    const ScalarFunction function = activation == "relu"    ? ScalarFunction::kRelu
                                    : activation == "relu6" ? ScalarFunction::kClamp
                                                            : ScalarFunction::kIdentity;
    if (kind == "add") {
      const bool rectified = function == ScalarFunction::kRelu;
      return maker_.Add<ElemwiseMultiType>(
          {{rectified ? ScalarFunction::kFuseAddRelu : ScalarFunction::kAdd}, kBytes},
          {x, var(op[2][1])}, name);
    }
    if (kind == "avg") {
      PoolingParam param;
      param.mode = PoolingMode::kAverage;
      param.window_h = op[4][0], param.window_w = op[4][1];
      param.stride_h = op[5][0], param.stride_w = op[5][1];
      param.output = kBytes;
      return maker_.Add<PoolingForward>(param, {x}, name);
    }
    if (kind == "softmax") {
      const int floats = maker_.Add<TypeCvt>({DType::kFloat32}, {x});
      const int y = maker_.Add<Softmax>({1}, {floats}, name);
      return maker_.Add<TypeCvt>({kBytes.dtype, 1.0 / 256, -128}, {y});
    }
    return AddConvolution(kind, op, function);
  }

  int AddConvolution(const std::string& kind, const json& op, ScalarFunction function) {
    int x = var(op[2][0]);
    const Shape to = ShapeOf(op[3]);
    const int64_t elements = maker_.var(x).type.shape.num_elements();
    if (kind == "fc") x = Reshaped(x, {1, elements, 1, 1});
    const int64_t channels = maker_.var(x).type.shape[1];
    ConvBiasParam param;
    param.nonlineMode = function;
    if (function == ScalarFunction::kClamp) param.parameters = {0, 6};
    param.output = kBytes;
    Shape filter = {to[1], channels, 1, 1};
    if (kind != "fc") {
      filter[2] = op[4][0], filter[3] = op[4][1];
      param.stride_h = op[5][0], param.stride_w = op[5][1];
      param.pad_h = op[6][0], param.pad_w = op[6][1];
      param.pad_h_end = op[6][2], param.pad_w_end = op[6][3];
    }
    if (kind == "dw") {
      param.sparse = SparseMode::kGroup;
      filter = {channels, to[1] / channels, 1, filter[2], filter[3]};
    }
    const float scale = 0.01f;
    const int w = maker_.Constant(Zeros(DType::kQuantizedS8, filter, scale));
    const int bias = maker_.Constant(Zeros(DType::kQuantizedS32, {1, to[1], 1, 1},
                                           maker_.var(x).type.quantization.scale() * scale));
    return maker_.Add<ConvBiasForward>(param, {x, w, bias}, op[1]);
  }

  int Reshaped(int x, const Shape& shape) {
    if (maker_.var(x).type.shape == shape) return x;
    HostTensor target = HostTensor::Zeros(DType::kInt64, {shape.rank()});
    for (int i = 0; i < shape.rank(); ++i) target.Set(i, static_cast<double>(shape[i]));
    return maker_.Add<Reshape>({}, {x, maker_.Constant(target)});
  }

  const json& net_;
  GraphMaker maker_;
  std::vector<int> vars_;  // by tensor
};

int64_t ArenaOf(const json& net) {
  PlanRequest request;
  request.wishes.processor = Value(Processor::Parse("avx2/32K/512K"));
  return Value(PlanGraph(NetMaker(net).Make(), request))->plan.plan.arena;
}

// Executed whole: a byte an element, and nothing besides but what lies in place. Of tiny-ic a
// residual that its convolution took in would save a third.
TEST(SmallMemory, ArenasOfNetworksInEightBits) {
  if (!HasSharedData("data/int8/nets.json")) GTEST_SKIP() << "no ../shared/data/int8";
  cpu::RegisterDevice();
  std::ifstream file(SharedData("data/int8/nets.json"));
  const json nets = json::parse(file)["nets"];
  const std::pair<const char*, int64_t> kArenas[] = {
      {"mbv2-1.0-224", 1505280}, {"mcunet-in0", 46080},  {"mcunet-in2", 332800},
      {"mcunet-in3", 340736},    {"mcunet-in4", 422400}, {"proxyless-1.0", 802816},
      {"tiny-vww", 55296},       {"tiny-ic", 49152},     {"tiny-kws", 16000},
      {"tiny-ad", 256},
  };
  for (const auto& [name, bytes] : kArenas) EXPECT_LE(ArenaOf(nets[name]), bytes) << name;
}

}  // namespace
}  // namespace ashlar
