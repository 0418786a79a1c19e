// Float networks with seeded weights, and data for them.
#ifndef ASHLAR_TESTS_QUANTIZATION_SMALL_NETS_H_
#define ASHLAR_TESTS_QUANTIZATION_SMALL_NETS_H_

#include <cmath>
#include <random>
#include <vector>

#include "opr/batch_norm.h"
#include "opr/concat.h"
#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reshape.h"
#include "opr/softmax.h"
#include "opr/split.h"
#include "quantization/calibration.h"
#include "tests/support/graph_maker.h"
#include "tests/support/skip_networks.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {

// Builds networks of layers with seeded weights, one after another.
class NetOfFloats {
 public:
  explicit NetOfFloats(uint64_t seed, const Shape& input) : random_(seed) {
    x_ = maker_.Input("x", input);
  }

  int x() const { return x_; }
  const Shape& shape(int var) const { return maker_.var(var).type.shape; }

  // Multiplies output and input channel c of the weights by 2^exponents[c], if there are any.
  struct Skew {
    std::vector<int> made, read;
  };
  int Conv(int x, int64_t channels, int64_t window = 3, int64_t stride = 1, const Skew& skew = {}) {
    const int64_t in = shape(x)[1], taps = window * window;
    HostTensor filter = Weights({channels, in, window, window}, in * taps);
    HostTensor bias = RandomTensor(random_, {1, channels, 1, 1}, -0.2, 0.2);
    for (int64_t i = 0; i < filter.num_elements(); ++i) {
      const auto out = static_cast<size_t>(i / taps / in),
                 from = static_cast<size_t>(i / taps % in);
      const int exponent =
          (skew.made.empty() ? 0 : skew.made[out]) + (skew.read.empty() ? 0 : skew.read[from]);
      filter.Set(i, std::ldexp(filter.At(i), exponent));
    }
    for (size_t c = 0; c < skew.made.size(); ++c) {
      const auto i = static_cast<int64_t>(c);
      bias.Set(i, std::ldexp(bias.At(i), skew.made[c]));
    }
    const int y = maker_.Add<ConvolutionForward>(Steps(window, stride),
                                                 {x, maker_.Constant(filter)}, Name("conv"));
    return maker_.Add<Elemwise>({ScalarFunction::kAdd}, {y, maker_.Constant(bias)});
  }
  int ConvWithoutBias(int x, int64_t channels) {
    const int64_t in = shape(x)[1];
    return maker_.Add<ConvolutionForward>(
        Steps(3, 1), {x, maker_.Constant(Weights({channels, in, 3, 3}, in * 9))}, Name("conv"));
  }
  int Depthwise(int x, int64_t window = 3) {
    const int64_t channels = shape(x)[1];
    ConvolutionParam param = Steps(window, 1);
    param.sparse = SparseMode::kGroup;
    const HostTensor filter = Weights({channels, 1, 1, window, window}, window * window);
    return Biased(
        maker_.Add<ConvolutionForward>(param, {x, maker_.Constant(filter)}, Name("depthwise")),
        channels);
  }
  int Apply(ScalarFunction function, std::vector<int> inputs) {
    return maker_.Add<Elemwise>({function}, std::move(inputs), Name(RowOf(function).name));
  }
  int Joined(std::vector<int> parts) {
    return maker_.Add<Concat>({1}, std::move(parts), Name("concat"));
  }
  // Splits channels.
  std::vector<int> Pieces(int x, std::vector<int64_t> channels) {
    return maker_.AddSeveral(std::make_shared<const Split>(SplitParam{1, std::move(channels)}),
                             {x});
  }
  int Doubled(int x) { return AddDoubled(maker_, x, Name("up")); }
  int Pool(int x, PoolingMode mode, int64_t window_h, int64_t window_w) {
    PoolingParam param;
    param.mode = mode;
    param.window_h = param.stride_h = window_h;
    param.window_w = param.stride_w = window_w;
    return maker_.Add<PoolingForward>(param, {x}, Name("pool"));
  }
  int Flat(int x) {
    const std::vector<int64_t> target = {-1, shape(x).num_elements() / shape(x)[0]};
    return maker_.Add<Reshape>(
        {.axis = 0, .follows = true},
        {x, maker_.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {2}, target))});
  }
  int Dense(int x, int64_t outputs) {
    const int64_t depth = shape(x)[1];
    const int y = maker_.Add<MatrixMul>({}, {x, maker_.Constant(Weights({depth, outputs}, depth))},
                                        Name("fc"));
    return maker_.Add<Elemwise>({ScalarFunction::kAdd},
                                {y, maker_.Constant(RandomTensor(random_, {outputs}, -0.2, 0.2))});
  }
  // A constant of one number for each channel of x.
  int PerChannel(int x, double least, double most) {
    return maker_.Constant(RandomTensor(random_, {1, shape(x)[1], 1, 1}, least, most));
  }
  int Normalised(int x) {
    return maker_.Add<BatchNorm>({},
                                 {x, PerChannel(x, 0.5, 1.5), PerChannel(x, -0.2, 0.2),
                                  PerChannel(x, -0.2, 0.2), PerChannel(x, 0.5, 1.5)},
                                 Name("bn"));
  }
  int Softmaxed(int x) { return maker_.Add<Softmax>({1}, {x}, "softmax"); }
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs) {
    return maker_.Add<Op>(std::move(param), std::move(inputs));
  }
  Graph Build(int y) && {
    maker_.Output(y);
    return std::move(maker_).Build();
  }

 private:
  static ConvolutionParam Steps(int64_t window, int64_t stride) {
    ConvolutionParam param;
    param.pad_h = param.pad_w = window / 2;
    param.stride_h = param.stride_w = stride;
    return param;
  }
  std::string Name(absl::string_view what) { return absl::StrCat(what, ++names_); }
  // Returns weights for which sums of so many products are about as large as the inputs.
  HostTensor Weights(const Shape& shape, int64_t products) {
    const double most = std::sqrt(3.0 / static_cast<double>(products));
    return RandomTensor(random_, shape, -most, most);
  }
  int Biased(int y, int64_t channels) {
    return maker_.Add<Elemwise>(
        {ScalarFunction::kAdd},
        {y, maker_.Constant(RandomTensor(random_, {1, channels, 1, 1}, -0.2, 0.2))});
  }

  std::mt19937_64 random_;
  GraphMaker maker_;
  int x_ = 0, names_ = 0;
};

// Seeded inputs for one tensor, in [-1, 1].
class RandomData final : public CalibrationData {
 public:
  RandomData(std::string input, Shape shape, int64_t runs, DType dtype = DType::kFloat32)
      : input_(std::move(input)), shape_(std::move(shape)), runs_(runs), dtype_(dtype) {}

  int64_t runs() const override { return runs_; }
  absl::StatusOr<CalibrationRun> Run(int64_t index) const override {
    std::mt19937_64 random(static_cast<uint64_t>(index) + 1);
    CalibrationRun run;
    run.inputs[input_] = RandomTensor(random, dtype_, shape_);
    run.rows = shape_[0];
    return run;
  }

 private:
  const std::string input_;
  const Shape shape_;
  const int64_t runs_;
  const DType dtype_;
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_QUANTIZATION_SMALL_NETS_H_
