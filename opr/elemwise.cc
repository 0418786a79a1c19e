#include "opr/elemwise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "opr/elemwise_chain.h"
#include "opr/per_channel.h"
#include "opr/regions.h"
#include "opr/strided.h"

namespace ashlar {
namespace {

using P = const ElemwiseParam&;

struct Row {
  const char* name;
  int arity;
  bool commutative;
  bool integers;  // integer arguments give an integer
  double (*apply)(P, double, double, double);
  // The same for n elements, in place: a[i] = apply(a[i], b[i], c[i]).
  void (*apply_row)(P, int64_t n, double* a, const double* b, const double* c);
};

// Comparisons are written so that a NaN is handed on.
double Relu(P, double a, double, double) { return a < 0 ? 0 : a; }
double Exp(P, double a, double, double) { return std::exp(a); }
double Log(P, double a, double, double) { return std::log(a); }
double Sqrt(P, double a, double, double) { return std::sqrt(a); }
double Abs(P, double a, double, double) { return std::abs(a); }
double Negate(P, double a, double, double) { return -a; }
double Sigmoid(P, double a, double, double) { return 1 / (1 + std::exp(-a)); }
double Tanh(P, double a, double, double) { return std::tanh(a); }
double Clamp(P p, double a, double, double) { return a < p.lo ? p.lo : a > p.hi ? p.hi : a; }
double HSwish(P, double a, double, double) { return a < -3 ? 0 : a > 3 ? a : a * (a + 3) / 6; }
double Add(P, double a, double b, double) { return a + b; }
double Sub(P, double a, double b, double) { return a - b; }
double Mul(P, double a, double b, double) { return a * b; }
double TrueDiv(P, double a, double b, double) { return a / b; }
double Max(P, double a, double b, double) { return a < b || std::isnan(b) ? b : a; }
double Min(P, double a, double b, double) { return b < a || std::isnan(b) ? b : a; }
double Pow(P, double a, double b, double) { return std::pow(a, b); }
double FuseAddRelu(P p, double a, double b, double) { return Relu(p, a + b, 0, 0); }
double FuseAddSigmoid(P p, double a, double b, double) { return Sigmoid(p, a + b, 0, 0); }
double FuseAddTanh(P, double a, double b, double) { return std::tanh(a + b); }
double FuseMulAdd3(P, double a, double b, double c) { return a * b + c; }

template <double (*F)(P, double, double, double)>
void ApplyRow(P p, int64_t n, double* a, const double* b, const double* c) {
  for (int64_t i = 0; i < n; ++i) a[i] = F(p, a[i], b[i], c[i]);
}

template <double (*F)(P, double, double, double)>
constexpr Row MakeRow(const char* name, int arity, bool commutative, bool integers) {
  return {name, arity, commutative, integers, F, ApplyRow<F>};
}

constexpr Row kRows[] = {
    // In the order of ElemwiseMode: name, arity, commutative, integers.
    MakeRow<Relu>("RELU", 1, false, true),
    MakeRow<Exp>("EXP", 1, false, false),
    MakeRow<Log>("LOG", 1, false, false),
    MakeRow<Sqrt>("SQRT", 1, false, false),
    MakeRow<Abs>("ABS", 1, false, true),
    MakeRow<Negate>("NEGATE", 1, false, true),
    MakeRow<Sigmoid>("SIGMOID", 1, false, false),
    MakeRow<Tanh>("TANH", 1, false, false),
    MakeRow<Clamp>("CLAMP", 1, false, true),
    MakeRow<HSwish>("H_SWISH", 1, false, false),
    MakeRow<Add>("ADD", 2, true, true),
    MakeRow<Sub>("SUB", 2, false, true),
    MakeRow<Mul>("MUL", 2, true, true),
    MakeRow<TrueDiv>("TRUE_DIV", 2, false, false),
    MakeRow<Max>("MAX", 2, true, true),
    MakeRow<Min>("MIN", 2, true, true),
    MakeRow<Pow>("POW", 2, false, false),
    MakeRow<FuseAddRelu>("FUSE_ADD_RELU", 2, true, true),
    MakeRow<FuseAddSigmoid>("FUSE_ADD_SIGMOID", 2, true, false),
    MakeRow<FuseAddTanh>("FUSE_ADD_TANH", 2, true, false),
    MakeRow<FuseMulAdd3>("FUSE_MUL_ADD3", 3, true, true),
};

constexpr size_t kNumModes = std::size(kRows);
static_assert(kNumModes == static_cast<size_t>(ElemwiseMode::kFuseMulAdd3) + 1);

const Row& RowOf(ElemwiseMode mode) { return kRows[static_cast<size_t>(mode)]; }

}  // namespace

absl::Span<const char* const> ElemwiseModeNames() {
  static constexpr auto kNames = [] {
    std::array<const char*, kNumModes> names = {};
    for (size_t i = 0; i < kNumModes; ++i) names[i] = kRows[i].name;
    return names;
  }();
  return kNames;
}

int Arity(ElemwiseMode mode) { return RowOf(mode).arity; }

bool IsCommutative(ElemwiseMode mode) { return RowOf(mode).commutative; }

double Apply(const ElemwiseParam& param, double a, double b, double c) {
  return RowOf(param.mode).apply(param, a, b, c);
}

std::string Elemwise::base_name() const { return RowOf(param().mode).name; }

PrecisionRule Elemwise::precision_rule() const {
  switch (param().mode) {
    case ElemwiseMode::kExp:
    case ElemwiseMode::kLog:
    case ElemwiseMode::kPow:
    case ElemwiseMode::kTrueDiv:
      return PrecisionRule::kFloat32;
    default:
      return PrecisionRule::kFollow;
  }
}

FormatRule Elemwise::format_rule(absl::Span<const TensorType> inputs) const {
  const bool fits = std::all_of(inputs.begin(), inputs.end(),
                                [](const TensorType& type) { return type.shape.rank() <= 4; });
  return fits ? FormatRule::kFollow : FormatRule::kDefaultOnly;
}

absl::StatusOr<TensorType> BroadcastInputs(absl::Span<const InputInfo> inputs) {
  const DType dtype = inputs[0].type.dtype;
  Shape shape = inputs[0].type.shape;
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].type.dtype != dtype) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " is ",
                                                     Name(inputs[i].type.dtype), ", expected ",
                                                     Name(dtype), " as input 0"));
    }
    ASHLAR_ASSIGN_OR_RETURN(shape, Broadcast(shape, inputs[i].type.shape));
  }
  return TensorType{dtype, shape};
}

absl::StatusOr<std::vector<TensorType>> Elemwise::Infer(absl::Span<const InputInfo> inputs) const {
  const Row& row = RowOf(param().mode);
  ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, row.arity));
  const DType dtype = inputs[0].type.dtype;
  if (dtype == DType::kByte || dtype == DType::kBool || (!row.integers && !IsFloat(dtype))) {
    return absl::InvalidArgumentError(absl::StrCat(row.name, " is not defined for ", Name(dtype)));
  }
  if (param().mode == ElemwiseMode::kClamp && !(param().lo <= param().hi)) {
    return absl::InvalidArgumentError(
        absl::StrCat("CLAMP to [", param().lo, ", ", param().hi, "]: lo must not exceed hi"));
  }
  ASHLAR_ASSIGN_OR_RETURN(TensorType output, BroadcastInputs(inputs));
  return std::vector<TensorType>{std::move(output)};
}

absl::StatusOr<std::vector<HostTensor>> Elemwise::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  constexpr int64_t kPiece = 1024;
  const Row& row = RowOf(param().mode);
  Shape shape = inputs[0].shape();
  for (const HostTensor& input : inputs) {
    ASHLAR_ASSIGN_OR_RETURN(shape, Broadcast(shape, input.shape()));
  }
  HostTensor output = HostTensor::Zeros(inputs[0].dtype(), shape);
  std::array<Strides, 4> strides;  // the inputs, then the output
  strides.fill(Strides(shape.rank(), 0));
  for (size_t i = 0; i < inputs.size(); ++i)
    strides[i] = BroadcastStrides(inputs[i].shape(), shape);
  strides[3] = ContiguousStrides(shape);
  JoinDimensions(shape, strides);
  std::array<std::array<double, kPiece>, 3> values = {};
  ForEachRow(shape, strides, kPiece, [&](const std::array<int64_t, 4>& offsets, int64_t n) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      LoadRow(inputs[i], offsets[i], strides[i].back(), absl::MakeSpan(values[i].data(), n));
    }
    row.apply_row(param(), n, values[0].data(), values[1].data(), values[2].data());
    StoreRow(absl::MakeSpan(values[0].data(), n), offsets[3], output);
  });
  return std::vector<HostTensor>{std::move(output)};
}

int64_t Elemwise::Computation(absl::Span<const TensorType> inputs,
                              absl::Span<const TensorType> outputs) const {
  const int64_t operations = std::max<int64_t>(static_cast<int64_t>(inputs.size()), 2) - 1;
  return outputs[0].shape.num_elements() * operations;
}

std::vector<int> Elemwise::WritableForward(absl::Span<const TensorType> inputs,
                                           absl::Span<const TensorType> outputs) const {
  std::vector<int> writable;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == outputs[0]) writable.push_back(static_cast<int>(i));
  }
  return writable;
}

std::optional<ChannelAffine> Elemwise::AsChannelAffine(absl::Span<const InputInfo> inputs) const {
  // The one input that is not constant, an image of the output's shape.
  int x = -1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].value != nullptr) continue;
    if (x >= 0) return std::nullopt;
    x = static_cast<int>(i);
  }
  if (x < 0 || inputs[x].type.shape.rank() != 4 || inputs[x].type.dtype != DType::kFloat32) {
    return std::nullopt;
  }
  const int64_t channels = inputs[x].type.shape[1];
  std::vector<double> operands[3];
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (i == x) continue;
    std::optional<std::vector<double>> values = PerChannel(inputs[i], channels);
    if (!values.has_value()) return std::nullopt;
    operands[i] = *std::move(values);
  }
  ChannelAffine affine{x, std::vector<double>(channels, 1), std::vector<double>(channels, 0)};
  const std::vector<double>& other = operands[1 - std::min(x, 1)];
  switch (param().mode) {
    case ElemwiseMode::kNegate:
      affine.scale.assign(channels, -1);
      return affine;
    case ElemwiseMode::kAdd:
      affine.shift = other;
      return affine;
    case ElemwiseMode::kSub:
      affine.shift = other;
      if (x == 1) {
        affine.scale.assign(channels, -1);
      } else {
        for (double& shift : affine.shift) shift = -shift;
      }
      return affine;
    case ElemwiseMode::kMul:
      affine.scale = other;
      return affine;
    case ElemwiseMode::kTrueDiv:
      if (x == 1) return std::nullopt;
      for (int64_t c = 0; c < channels; ++c) affine.scale[c] = 1 / other[c];
      return affine;
    case ElemwiseMode::kFuseMulAdd3:
      if (x == 2) return std::nullopt;
      affine.scale = other;
      affine.shift = operands[2];
      return affine;
    default:
      return std::nullopt;
  }
}

std::optional<Replacement> Elemwise::Chain(const Operator& consumer, int via,
                                           absl::Span<const InputInfo> inputs,
                                           absl::Span<const InputInfo> consumer_inputs) const {
  return ChainElemwise(*this, consumer, via, inputs, consumer_inputs);
}

std::optional<std::vector<Region>> Elemwise::InputRegions(
    const Region& output, absl::Span<const InputInfo> inputs,
    absl::Span<const TensorType> /*outputs*/) const {
  return BroadcastRegions(output, inputs);
}

std::optional<Region> Elemwise::OutputRegion(int input, const Region& region,
                                             absl::Span<const InputInfo> inputs,
                                             absl::Span<const TensorType> outputs) const {
  return BroadcastOutputRegion(region, inputs[input].type, outputs[0]);
}

}  // namespace ashlar
