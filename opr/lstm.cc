#include "opr/lstm.h"

#include <cmath>

#include "graph/graph_builder.h"
#include "opr/base/checks.h"
#include "opr/base/host_value.h"
#include "opr/base/saturating_product.h"
#include "opr/concat.h"
#include "opr/matrix_mul.h"

namespace ashlar {

ASHLAR_MAKE_FROM_PARAMS(LSTM)

namespace {

// The composition has about fifteen operators per step.
constexpr int64_t kMostSteps = 4096;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

absl::StatusOr<LstmSizes> InferLstm(const LSTMParam& param, absl::Span<const InputInfo> inputs) {
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 6));
  const TensorType &x = inputs[LSTM::kX].type, &h = inputs[LSTM::kH].type;
  ASHLAR_RETURN_IF_ERROR(CheckFloat("x", x));
  if (x.shape.rank() != 3 || h.shape.rank() != 3 || x.shape[0] > kMostSteps) {
    return absl::InvalidArgumentError(absl::StrCat("x is ", x.ToString(), " and h ", h.ToString(),
                                                   ", expected rank 3, and at most ", kMostSteps,
                                                   " steps"));
  }
  const LstmSizes s = {x.shape[0], x.shape[1], x.shape[2],
                       param.direction == LstmDirection::kBidirectional ? 2 : 1, h.shape[2]};
  const Shape state = {s.directions, s.batch, s.hidden};
  const int64_t gates = LSTM::kGates * s.hidden;
  const struct {
    const char* name;
    int input;
    Shape shape;
  } kRows[] = {{"W", LSTM::kW, {s.directions, gates, s.inputs}},
               {"R", LSTM::kR, {s.directions, gates, s.hidden}},
               {"b", LSTM::kB, {s.directions, 2 * gates}},
               {"h", LSTM::kH, state},
               {"c", LSTM::kC, state}};
  for (const auto& row : kRows) {
    ASHLAR_RETURN_IF_ERROR(CheckDType(row.name, inputs[row.input].type, x.dtype));
    if (inputs[row.input].type.shape == row.shape) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        row.name, " is ", inputs[row.input].type.ToString(), ", expected ", row.shape.ToString()));
  }
  return s;
}

absl::StatusOr<std::vector<TensorType>> LSTM::Infer(absl::Span<const InputInfo> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const LstmSizes s, InferLstm(param(), inputs));
  const DType dtype = inputs[kX].type.dtype;
  const Shape state = {s.directions, s.batch, s.hidden};
  const Shape all = {s.steps, s.directions, s.batch, s.hidden};
  ASHLAR_RETURN_IF_ERROR(Shape::Make(all.dims()).status());
  ASHLAR_RETURN_IF_ERROR(CheckMadeOfElements("x", inputs[kX].type, state));
  return std::vector<TensorType>{{dtype, all}, {dtype, state}, {dtype, state}};
}

absl::StatusOr<std::vector<HostTensor>> LSTM::Evaluate(absl::Span<const HostTensor> inputs) const {
  ASHLAR_ASSIGN_OR_RETURN(const LstmSizes s, InferLstm(param(), InfosOf(inputs)));
  const DType dtype = inputs[kX].dtype();
  const int64_t gates = kGates * s.hidden, state = s.batch * s.hidden;
  HostTensor all = HostTensor::Zeros(dtype, {s.steps, s.directions, s.batch, s.hidden});
  HostTensor last_h = HostTensor::Zeros(dtype, {s.directions, s.batch, s.hidden}), last_c = last_h;
  last_c = HostTensor::Zeros(dtype, last_h.shape());
  for (int64_t d = 0; d < s.directions; ++d) {
    for (int64_t n = 0; n < s.batch; ++n) {
      std::vector<double> h, c, sums(static_cast<size_t>(gates));
      for (int64_t i = 0; i < s.hidden; ++i) {
        h.push_back(inputs[kH].At(d * state + n * s.hidden + i));
        c.push_back(inputs[kC].At(d * state + n * s.hidden + i));
      }
      for (int64_t step = 0; step < s.steps; ++step) {
        const int64_t t = param().is_reverse(d) ? s.steps - 1 - step : step;
        for (int64_t g = 0; g < gates; ++g) {
          double sum = inputs[kB].At(d * 2 * gates + g) + inputs[kB].At((d * 2 + 1) * gates + g);
          for (int64_t i = 0; i < s.inputs; ++i) {
            sum += inputs[kX].At((t * s.batch + n) * s.inputs + i) *
                   inputs[kW].At((d * gates + g) * s.inputs + i);
          }
          for (int64_t i = 0; i < s.hidden; ++i) {
            sum += h[static_cast<size_t>(i)] * inputs[kR].At((d * gates + g) * s.hidden + i);
          }
          sums[static_cast<size_t>(g)] = sum;
        }
        for (int64_t i = 0; i < s.hidden; ++i) {
          const auto gate = [&](int which) {
            return sums[static_cast<size_t>(which * s.hidden + i)];
          };
          double& cell = c[static_cast<size_t>(i)];
          cell = Sigmoid(gate(2)) * cell + Sigmoid(gate(0)) * std::tanh(gate(3));
          h[static_cast<size_t>(i)] = Sigmoid(gate(1)) * std::tanh(cell);
          all.Set(((t * s.directions + d) * s.batch + n) * s.hidden + i, h[static_cast<size_t>(i)]);
        }
      }
      for (int64_t i = 0; i < s.hidden; ++i) {
        last_h.Set(d * state + n * s.hidden + i, h[static_cast<size_t>(i)]);
        last_c.Set(d * state + n * s.hidden + i, c[static_cast<size_t>(i)]);
      }
    }
  }
  return std::vector<HostTensor>{std::move(all), std::move(last_h), std::move(last_c)};
}

int64_t LSTM::Computation(const Site& site) const {
  const absl::StatusOr<LstmSizes> s = InferLstm(param(), site.inputs);
  if (!s.ok()) return 0;
  return SaturatingProduct(
      {s->steps, s->batch, s->directions, kGates * s->hidden, s->inputs + s->hidden, 2});
}

}  // namespace ashlar
