#include "tests/serialization/sample_graphs.h"

#include <functional>

#include "opr/batch_norm.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/lrn.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reduce.h"
#include "opr/relayout_format.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"
#include "tests/support/activations.h"
#include "tests/support/graph_maker.h"
#include "tests/support/shapes.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

class Samples {
 public:
  // `make` adds nodes after the inputs and returns the output.
  void Add(const std::string& name, const std::vector<Shape>& inputs,
           const std::function<int(GraphMaker&, std::vector<int>)>& make) {
    GraphMaker maker;
    std::vector<int> vars;
    for (size_t i = 0; i < inputs.size(); ++i) {
      vars.push_back(maker.Input(absl::StrCat("x", i), inputs[i]));
    }
    maker.Output(make(maker, vars));
    samples_.push_back({name, std::move(maker).Build()});
  }
  // Adds one operator on the inputs and on constants of these shapes, with values in [0.5, 1.5].
  template <typename Op>
  void AddOne(const std::string& name, typename Op::Param param, const std::vector<Shape>& inputs,
              const std::vector<Shape>& constants = {}) {
    Add(name, inputs, [&](GraphMaker& maker, std::vector<int> vars) {
      for (const Shape& shape : constants) {
        vars.push_back(maker.Constant(RandomTensor(random_, shape, 0.5, 1.5)));
      }
      return maker.Add<Op>(param, vars);
    });
  }
  std::vector<SampleGraph> Take() { return std::move(samples_); }

 private:
  std::mt19937_64 random_{1};
  std::vector<SampleGraph> samples_;
};

void AddConvolutions(Samples& samples) {
  samples.AddOne<ConvolutionForward>("conv", {}, {{2, 3, 7, 6}}, {{4, 3, 3, 2}});
  ConvolutionParam strided;
  strided.stride_h = 2, strided.stride_w = 3;
  strided.pad_h = 2, strided.pad_w = 0, strided.pad_h_end = 0, strided.pad_w_end = 3;
  strided.dilate_h = 2;
  samples.AddOne<ConvolutionForward>("conv_strided", strided, {{1, 3, 9, 8}}, {{4, 3, 3, 2}});
  ConvolutionParam grouped;
  grouped.sparse = SparseMode::kGroup;
  samples.AddOne<ConvolutionForward>("conv_grouped", grouped, {{1, 6, 5, 5}}, {{3, 4, 2, 3, 3}});
  ConvolutionParam flipped;
  flipped.mode = ConvolutionMode::kConvolution;
  samples.AddOne<ConvolutionForward>("conv_flipped", flipped, {{1, 2, 5, 5}}, {{3, 2, 3, 2}});
  samples.AddOne<ConvolutionForward>("conv_computed_filter", grouped,
                                     {{1, 6, 5, 5}, {3, 4, 2, 3, 3}});
  for (const ScalarFunction activation : Activations()) {
    ConvBiasParam param;
    param.nonlineMode = activation;
    if (activation == ScalarFunction::kClamp) param.parameters = {-1, 2.5};
    samples.AddOne<ConvBiasForward>(absl::StrCat("conv_bias_", static_cast<int>(activation)), param,
                                    {{1, 2, 5, 5}}, {{3, 2, 3, 3}, {1, 3, 1, 1}});
  }
  ConvBiasParam relu;
  relu.nonlineMode = ScalarFunction::kRelu;
  samples.AddOne<ConvBiasForward>("conv_bias_z", relu, {{1, 2, 5, 5}},
                                  {{3, 2, 3, 3}, {1, 3, 1, 1}, {1, 3, 3, 3}});
}

void AddImages(Samples& samples) {
  for (const PoolingMode mode :
       {PoolingMode::kMax, PoolingMode::kAverage, PoolingMode::kAverageCountExcludePadding}) {
    PoolingParam param;
    param.mode = mode;
    const std::string name = absl::StrCat("pool_", static_cast<int>(mode));
    samples.AddOne<PoolingForward>(name, param, {{2, 3, 6, 7}});
    param.window_h = 3, param.window_w = 4, param.stride_w = 3;
    param.pad_h = 1, param.pad_w = 2, param.pad_h_end = 2, param.pad_w_end = 0;
    samples.AddOne<PoolingForward>(name + "_padded", param, {{1, 3, 8, 7}});
    // Windows never reach all of this padding.
    param = {};
    param.mode = mode, param.stride_h = 5, param.pad_h_end = 4, param.pad_h = 1;
    samples.AddOne<PoolingForward>(name + "_far", param, {{1, 1, 6, 6}});
  }
  const Shape channels = {1, 4, 1, 1};
  samples.AddOne<BatchNorm>("batch_norm", {1e-3}, {{2, 4, 3, 3}},
                            {channels, channels, channels, channels});
  samples.AddOne<BatchNorm>("batch_norm_vectors", {1e-5}, {{2, 4, 3, 3}}, {{4}, {4}, {4}, {4}});
  samples.AddOne<LRN>("lrn", {3, 0.5, 0.75, 2}, {{1, 5, 2, 2}});
  samples.AddOne<LRN>("lrn_even", {4, 0.5, 0.5, 1}, {{1, 5, 2, 2}});
  samples.Add("relayout", {{1, 17, 2, 2}}, [](GraphMaker& maker, std::vector<int> x) {
    const int blocked = maker.Add<RelayoutFormat>({Format::kNCHW16c}, x);
    return maker.Add<RelayoutFormat>({Format::kDefault}, {blocked});
  });
}

void AddArithmetic(Samples& samples) {
  for (size_t i = 0; i < kScalarFunctionNames.size(); ++i) {
    ElemwiseParam param{static_cast<ScalarFunction>(i)};
    if (param.mode >= ScalarFunction::kSwitchGt0) break;  // gradients, which ONNX lacks
    if (param.mode == ScalarFunction::kClamp) param.parameters = {-0.5, 0.25};
    const std::vector<Shape> constants = {{3, 1}, {2, 1, 4}};
    samples.AddOne<Elemwise>(absl::StrCat("elemwise_", kScalarFunctionNames[i]), param, {{2, 3, 4}},
                             {constants.begin(), constants.begin() + Arity(param.mode) - 1});
  }
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      const Shape left = a ? Shape{3, 2} : Shape{2, 3}, right = b ? Shape{4, 3} : Shape{3, 4};
      samples.AddOne<MatrixMul>(absl::StrCat("matrix_mul_", a, b), {a, b}, {left}, {right});
      samples.AddOne<MatrixMul>(absl::StrCat("matrix_mul_batched_", a, b), {a, b},
                                {{5, 1, left[0], left[1]}}, {{2, right[0], right[1]}});
    }
  }
  for (const ReduceMode mode : {ReduceMode::kSum, ReduceMode::kSumSqr, ReduceMode::kProduct,
                                ReduceMode::kMin, ReduceMode::kMax, ReduceMode::kMean}) {
    const std::string name = absl::StrCat("reduce_", static_cast<int>(mode));
    samples.AddOne<Reduce>(name, {mode, -2}, {{2, 3, 4}});
    for (const auto& target : {std::vector<int32_t>{2, 1, 1}, {2, 3, 4}, {3, 1}, {1}}) {
      samples.Add(absl::StrCat(name, "_to_", target.size(), target[0]), {{2, 3, 4}},
                  [&](GraphMaker& maker, std::vector<int> x) {
                    return maker.Add<Reduce>({mode}, {x[0], maker.Constant(Int32Vector(target))});
                  });
    }
  }
  samples.AddOne<Softmax>("softmax", {-1}, {{2, 5}});
  samples.AddOne<Softmax>("softmax_channels", {1}, {{2, 5, 3}});
  samples.Add("softmax_half", {{2, 5}}, [](GraphMaker& maker, std::vector<int> x) {
    return maker.Add<Softmax>({-1}, {maker.Add<TypeCvt>({DType::kFloat16}, x)});
  });
  samples.Add("type_cvt", {{2, 3}}, [](GraphMaker& maker, std::vector<int> x) {
    return maker.Add<TypeCvt>({DType::kFloat32}, {maker.Add<TypeCvt>({DType::kInt32}, x)});
  });
}

void AddShapes(Samples& samples) {
  samples.Add("reshape", {{2, 3, 4}}, [](GraphMaker& maker, std::vector<int> x) {
    return maker.Add<Reshape>({}, {x[0], maker.Constant(Int32Vector({6, -1}))});
  });
  // A flattening in MegEngine's form: the batch is read from the input's shape.
  samples.Add("reshape_by_shape", {{2, 3, 4}}, [](GraphMaker& maker, std::vector<int> x) {
    const int shape = maker.Add<GetVarShape>({}, x);
    const int bounds[] = {maker.Constant(Int32Vector({0})), maker.Constant(Int32Vector({1}))};
    const int batch =
        maker.Add<Subtensor>({{0}, {1}, {1}, {0}, {0}}, {shape, bounds[0], bounds[1]});
    const int target = maker.Add<Concat>({0}, {batch, maker.Constant(Int32Vector({-1}))});
    return maker.Add<Reshape>({1}, {x[0], target});
  });
  for (const auto& pattern : {std::vector<int64_t>{2, 0, 1}, {0, 1, 2}, {-1, 2, -1, 0, 1, -1}}) {
    samples.AddOne<Dimshuffle>(absl::StrCat("dimshuffle_", pattern.size(), pattern[0]), {pattern},
                               {{2, 3, 4}});
  }
  samples.AddOne<Dimshuffle>("dimshuffle_dropping", {{3, -1, 1}}, {{1, 3, 1, 4}});
  samples.AddOne<Concat>("concat", {-2}, {{2, 3, 4}, {2, 1, 4}}, {{2, 2, 4}});
  samples.Add("get_var_shape", {{2, 3}}, [](GraphMaker& maker, std::vector<int> x) {
    const int all = maker.Add<GetVarShape>({}, x);
    const int last = maker.Add<GetVarShape>({-1}, x);
    return maker.Add<Concat>({0}, {all, last});
  });

  const auto subtensor = [&](const std::string& name, const SubtensorParam& param,
                             const std::vector<int32_t>& bounds) {
    samples.Add(name, {{5, 4, 3}}, [&](GraphMaker& maker, std::vector<int> x) {
      for (int32_t bound : bounds) x.push_back(maker.Constant(Int32Vector({bound})));
      return maker.Add<Subtensor>(param, x);
    });
  };
  subtensor("subtensor", {{0, 2}, {1, 0}, {1, 1}, {0, 0}, {0, 0}}, {1, -1, 2});
  subtensor("subtensor_steps", {{0, -1}, {1, 1}, {0, 0}, {1, 1}, {0, 0}}, {1, 2, -1, -1});
  subtensor("subtensor_index", {{1, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 1}}, {-1, 2});
  subtensor("subtensor_backwards", {{0}, {0}, {0}, {1}, {0}}, {-2});
}

void AddOutputs(Samples& samples) {
  samples.Add("input_is_output", {{2, 3}}, [](GraphMaker&, std::vector<int> x) { return x[0]; });
  samples.Add("constant_is_output", {{2}}, [](GraphMaker& maker, std::vector<int>) {
    return maker.Constant(Int64Vector({1, 2}));
  });
  samples.Add("output_is_read", {{2, 3}}, [](GraphMaker& maker, std::vector<int> x) {
    const int relu = maker.Add<Elemwise>({ScalarFunction::kRelu}, x);
    maker.Output(relu);
    return maker.Add<Elemwise>({ScalarFunction::kExp}, {relu});
  });
  samples.Add("input_callback", {}, [](GraphMaker& maker, std::vector<int>) {
    const int x = maker.Add<InputCallback>({DType::kFloat32, {2, 3}}, {}, "called");
    return maker.Add<Elemwise>({ScalarFunction::kAbs}, {x});
  });
  // All names are equal except the ones of inputs and outputs, and they are no UTF-8.
  samples.Add("bad_names", {{2, 3}}, [](GraphMaker& maker, std::vector<int> x) {
    const std::string name = "<script>\"\\\n\xff";
    const int relu = maker.Add<Elemwise>({ScalarFunction::kRelu}, x, name);
    return maker.Add<Elemwise>({ScalarFunction::kExp}, {relu}, name);
  });
}

}  // namespace

std::vector<SampleGraph> SampleGraphs() {
  Samples samples;
  AddConvolutions(samples);
  AddImages(samples);
  AddArithmetic(samples);
  AddShapes(samples);
  AddOutputs(samples);
  return samples.Take();
}

}  // namespace ashlar::testing
