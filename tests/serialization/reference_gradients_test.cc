// Compares the first gradients of two small networks on handwritten digits with another program's,
// in double precision.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "graph/differentiate.h"
#include "graph/graph_builder.h"
#include "opr/batch_norm_training.h"
#include "opr/convolution.h"
#include "opr/cross_entropy.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/matrix_mul.h"
#include "opr/pooling.h"
#include "opr/reshape.h"
#include "opr/table.h"
#include "serialization/npz.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr char kFile[] = "data/training/digits_reference.npz";
constexpr int64_t kBatch = 32;

using Arrays = std::map<std::string, HostTensor>;

// conv 1-16 and conv 16-32, each followed by a norm or a bias, and a ReLU; maximum; 512-10.
class Network {
 public:
  Network(const Arrays& arrays, std::string name) : arrays_(arrays), name_(std::move(name)) {
    int y = Constant(Images());
    for (const char* const layer : {"1", "2"}) y = Layer(y, layer);
    y = Add<PoolingForward>({}, {y});
    y = Add<Reshape>({}, {y, Constant(Int64Vector({kBatch, -1}))});
    MatrixMulParam transposed;
    transposed.transposeB = true;
    y = Add<MatrixMul>(transposed, {y, Parameter("fc.weight")});
    y = Add<Elemwise>({ScalarFunction::kAdd}, {y, Parameter("fc.bias")});
    loss_ = Add<CrossEntropy>({}, {y, Constant(Labels())});
  }

  // Returns the loss, then the gradients by parameter, in double precision.
  std::map<std::string, HostTensor> Evaluated() && {
    std::vector<int> wrt;
    for (const auto& [name, var] : parameters_) wrt.push_back(var);
    const auto gradients = Value(Differentiate(builder_, loss_, wrt, Operators()));
    std::vector<std::string> names = {"loss"};
    Add<OutputCallback>({}, {loss_});
    for (size_t i = 0; i < wrt.size(); ++i) {
      names.push_back(parameters_[i].first);
      Add<OutputCallback>({}, {gradients[i].value()});
    }
    const std::vector<HostTensor> values =
        Value(EvaluateGraph(Value(std::move(builder_).Build()), {}));
    std::map<std::string, HostTensor> by_name;
    for (size_t i = 0; i < names.size(); ++i) by_name[names[i]] = values[i];
    return by_name;
  }

 private:
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs) {
    return Value(builder_.Add(std::make_shared<const Op>(std::move(param)), std::move(inputs)))[0];
  }
  int Constant(HostTensor value) {
    return Value(builder_.Add(Operators().MakeConstant(std::move(value)), {}))[0];
  }
  static HostTensor Wide(const HostTensor& narrow, const Shape& shape) {
    HostTensor wide = HostTensor::Zeros(DType::kFloat64, shape);
    for (int64_t i = 0; i < wide.num_elements(); ++i) wide.Set(i, narrow.At(i));
    return wide;
  }
  bool Has(const std::string& name) const {
    return arrays_.count(absl::StrCat(name_, "/initial/", name)) == 1;
  }
  int Parameter(const std::string& name) {
    const HostTensor& value = arrays_.at(absl::StrCat(name_, "/initial/", name));
    parameters_.emplace_back(name, Constant(Wide(value, value.shape())));
    return parameters_.back().second;
  }
  int Layer(int x, const std::string& number) {
    ConvolutionParam same;
    same.pad_h = same.pad_w = 1;
    int y = Add<ConvolutionForward>(same, {x, Parameter("conv" + number + ".weight")});
    if (Has("bn" + number + ".weight")) {
      const int scale = Parameter("bn" + number + ".weight");
      y = Add<BatchNormTraining>({1e-5}, {y, scale, Parameter("bn" + number + ".bias")});
    } else {
      const int bias = Parameter("conv" + number + ".bias");
      const int64_t channels = builder_.graph().var(bias).type.shape[0];
      const int column = Add<Reshape>({}, {bias, Constant(Int64Vector({channels, 1, 1}))});
      y = Add<Elemwise>({ScalarFunction::kAdd}, {y, column});
    }
    return Add<Elemwise>({ScalarFunction::kRelu}, {y});
  }
  // The images of the first step.
  int64_t ImageOf(int64_t i) const { return static_cast<int64_t>(arrays_.at("order").At(i)); }
  HostTensor Images() const {
    HostTensor images = HostTensor::Zeros(DType::kFloat64, {kBatch, 1, 8, 8});
    for (int64_t i = 0; i < images.num_elements(); ++i) {
      images.Set(i, arrays_.at("images").At(ImageOf(i / 64) * 64 + i % 64) / 16);
    }
    return images;
  }
  HostTensor Labels() const {
    HostTensor labels = HostTensor::Zeros(DType::kInt64, {kBatch});
    for (int64_t i = 0; i < kBatch; ++i) labels.Set(i, arrays_.at("labels").At(ImageOf(i)));
    return labels;
  }

  const Arrays& arrays_;
  const std::string name_;
  GraphBuilder builder_;
  std::vector<std::pair<std::string, int>> parameters_;
  int loss_ = 0;
};

TEST(ReferenceGradients, OfTheFirstStepAreThoseOfAnotherProgram) {
  Arrays arrays;
  for (auto& [name, tensor] : Value(ReadNpz(SharedData(kFile)))) arrays[name] = std::move(tensor);
  for (const std::string network : {"bn", "plain"}) {
    const auto values = Network(arrays, network).Evaluated();
    EXPECT_NEAR(values.at("loss").At(0), arrays.at(network + "/loss_float64").At(0), 1e-6);
    size_t compared = 0;
    for (const auto& [name, want] : arrays) {
      const std::string folder = network + "/gradient_step_1_float64/";
      if (name.rfind(folder, 0) != 0) continue;
      ++compared;
      // The file has doubles; they are read as Float32.
      EXPECT_LE(LargestDifference(values.at(name.substr(folder.size())), want), 1e-6) << name;
    }
    EXPECT_EQ(compared + 1, values.size());
  }
}

}  // namespace
}  // namespace ashlar::testing
