#include "tests/support/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "graph/differentiate.h"
#include "graph/status.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/reduce.h"
#include "opr/table.h"
#include "tests/support/operators.h"
#include "tests/support/shapes.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using InputValues = absl::flat_hash_map<std::string, HostTensor>;

template <typename Op>
int AddTo(GraphBuilder& builder, typename Op::Param param, std::vector<int> inputs) {
  return Value(builder.Add(std::make_shared<const Op>(std::move(param)), std::move(inputs)))[0];
}

int AddConstant(GraphBuilder& builder, HostTensor value) {
  return Value(builder.Add(Operators().MakeConstant(std::move(value)), {}))[0];
}

// Returns the graph with these vars as outputs.
Graph WithOutputs(GraphBuilder builder, const std::vector<int>& vars) {
  for (size_t i = 0; i < vars.size(); ++i) {
    GraphBuilder::NodeOptions options;
    options.binding = absl::StrCat("output", i);
    Value(builder.Add(Value(Operators().Make("OutputCallback", {})), {vars[i]}, options));
  }
  return Value(std::move(builder).Build());
}

HostTensor Moved(const HostTensor& tensor, int64_t element, double by) {
  HostTensor moved = HostTensor::Zeros(tensor.dtype(), tensor.shape());
  std::memcpy(moved.mutable_raw(), tensor.raw(), static_cast<size_t>(tensor.bytes()));
  moved.Set(element, tensor.At(element) + by);
  return moved;
}

// Difference quotients of the loss by one input.
class Quotients {
 public:
  Quotients(const Graph& graph, InputValues values, std::string input)
      : graph_(graph), values_(std::move(values)), input_(std::move(input)) {
    at_ = values_.at(input_);
  }
  double LossAt(int64_t element, double by) {
    values_[input_] = Moved(at_, element, by);
    return Value(EvaluateGraph(graph_, values_))[0].At(0);
  }

 private:
  const Graph& graph_;
  InputValues values_;
  const std::string input_;
  HostTensor at_;
};

std::vector<int64_t> ChosenElements(std::mt19937_64& random, int64_t count, int64_t most) {
  std::vector<int64_t> elements(static_cast<size_t>(count));
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<int64_t>(i);
  if (most == 0 || count <= most) return elements;
  std::shuffle(elements.begin(), elements.end(), random);
  elements.resize(static_cast<size_t>(most));
  return elements;
}

}  // namespace

int AddInput(GraphBuilder& builder, const Shape& shape, DType dtype) {
  const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  return AddTo<Host2DeviceCopy>(builder, {dtype, dims}, {});
}

int AddWeighedSum(GraphBuilder& builder, const std::vector<int>& vars, std::mt19937_64& random) {
  int total = -1;
  for (const int var : vars) {
    const Shape shape = builder.graph().var(var).type.shape;
    const int weights = AddConstant(builder, RandomTensor(random, DType::kFloat64, shape));
    const int products = AddTo<Elemwise>(builder, {ScalarFunction::kMul}, {var, weights});
    const int sum = AddTo<Reduce>(builder, {}, {products, AddConstant(builder, Int64Vector({1}))});
    total = total < 0 ? sum : AddTo<Elemwise>(builder, {ScalarFunction::kAdd}, {total, sum});
  }
  return total;
}

::testing::AssertionResult GradientsAgree(const GraphBuilder& builder, int loss,
                                          const std::vector<int>& wrt,
                                          const std::vector<HostTensor>& values,
                                          std::mt19937_64& random, GradcheckOptions options) {
  const Graph forward = WithOutputs(builder, {loss});
  GraphBuilder both = builder;
  const absl::StatusOr<std::vector<std::optional<int>>> gradients =
      Differentiate(both, loss, wrt, Operators());
  if (!gradients.ok()) return ::testing::AssertionFailure() << gradients.status().ToString();
  std::vector<int> outputs;
  for (const std::optional<int>& gradient : *gradients) {
    if (!gradient) continue;
    outputs.push_back(*gradient);
    const TensorType of =
        both.graph().var(wrt[static_cast<size_t>(&gradient - gradients->data())]).type;
    if (both.graph().var(*gradient).type != of) {
      return ::testing::AssertionFailure()
             << "a gradient is " << both.graph().var(*gradient).type.ToString() << ", expected "
             << of.ToString();
    }
  }
  outputs.push_back(loss);
  InputValues inputs;
  for (size_t i = 0; i < values.size(); ++i) inputs[forward.inputs()[i].name] = values[i];
  const absl::StatusOr<std::vector<HostTensor>> made =
      EvaluateGraph(WithOutputs(std::move(both), outputs), inputs);
  if (!made.ok()) return ::testing::AssertionFailure() << made.status().ToString();
  size_t next = 0;
  for (size_t w = 0; w < wrt.size(); ++w) {
    const HostTensor* const gradient = (*gradients)[w] ? &(*made)[next++] : nullptr;
    const std::string name = forward.node(forward.var(wrt[w]).producer).binding;
    Quotients quotients(forward, inputs, name);
    const double middle = quotients.LossAt(0, 0);
    for (const int64_t i :
         ChosenElements(random, inputs.at(name).num_elements(), options.most_elements)) {
      const double above = quotients.LossAt(i, options.step);
      const double below = quotients.LossAt(i, -options.step);
      const double quotient = (above - below) / (2 * options.step);
      const double size = std::max(1.0, std::abs(quotient));
      const double bend = (above - 2 * middle + below) / options.step;
      if (options.skip_kinks && std::abs(bend) > 1e-3 * size) continue;
      const double got = gradient == nullptr ? 0 : gradient->At(i);
      if (options.checked != nullptr) ++*options.checked;
      if (std::abs(got - quotient) <= options.tolerance * size) continue;
      return ::testing::AssertionFailure()
             << "the gradient by element " << i << " of input " << w << ", "
             << inputs.at(name).shape().ToString() << ", is " << got
             << (gradient == nullptr ? " (empty)" : "") << ", by differences " << quotient;
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult GradientsAgree(const OperatorPtr& op,
                                          const std::vector<HostTensor>& inputs,
                                          std::mt19937_64& random, GradcheckOptions options) {
  GraphBuilder builder;
  std::vector<int> vars, wrt;
  std::vector<HostTensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool differentiated = inputs[i].dtype() == DType::kFloat64 &&
                                op->input_use(static_cast<int>(i)) == InputUse::kDeviceValue;
    if (!differentiated) {
      vars.push_back(AddConstant(builder, inputs[i]));
      continue;
    }
    vars.push_back(AddInput(builder, inputs[i].shape()));
    wrt.push_back(vars.back());
    values.push_back(inputs[i]);
  }
  const absl::StatusOr<std::vector<int>> made = builder.Add(op, vars);
  if (!made.ok()) return ::testing::AssertionFailure() << made.status().ToString();
  std::vector<int> floats;
  for (const int var : *made) {
    if (builder.graph().var(var).type.dtype == DType::kFloat64) floats.push_back(var);
  }
  const int loss = AddWeighedSum(builder, floats, random);
  return GradientsAgree(builder, loss, wrt, values, random, options);
}

HostTensor DistinctTensor(std::mt19937_64& random, const Shape& shape, double low, double high) {
  HostTensor tensor = HostTensor::Zeros(DType::kFloat64, shape);
  const int64_t count = tensor.num_elements();
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
    values.push_back(low + (high - low) * part);
    if (std::abs(values.back()) < 0.01) values.back() = high / static_cast<double>(3 * count);
  }
  std::shuffle(values.begin(), values.end(), random);
  for (int64_t i = 0; i < count; ++i) tensor.Set(i, values[static_cast<size_t>(i)]);
  return tensor;
}

}  // namespace ashlar::testing
