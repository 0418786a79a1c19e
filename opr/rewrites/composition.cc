#include "opr/rewrites/composition.h"

#include <algorithm>

#include "opr/base/strided.h"
#include "opr/concat.h"
#include "opr/expand.h"
#include "opr/get_var_shape.h"
#include "opr/immutable_tensor.h"
#include "opr/reduce.h"
#include "opr/reshape.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"

namespace ashlar {

namespace {

HostTensor TargetOf(const Shape& shape) {
  return HostTensor::FromValues<int64_t>(DType::kInt64, {shape.rank()}, shape.dims());
}

}  // namespace

std::vector<int> Composition::AddAll(OperatorPtr op, std::vector<int> inputs) {
  constexpr size_t kMostOutputs = 8;  // more outputs than any caller indexes
  if (!status_.ok()) return std::vector<int>(kMostOutputs, 0);
  absl::StatusOr<std::vector<int>> outputs = builder_ != nullptr
                                                 ? builder_->Add(std::move(op), std::move(inputs))
                                                 : context_->Add(std::move(op), std::move(inputs));
  if (outputs.ok()) return *std::move(outputs);
  status_ = outputs.status();
  return std::vector<int>(kMostOutputs, 0);
}

int Composition::Add(OperatorPtr op, std::vector<int> inputs) {
  return AddAll(std::move(op), std::move(inputs))[0];
}

int Composition::Constant(HostTensor value) {
  return Add(std::make_shared<const ImmutableTensor>(std::move(value)), {});
}

int Composition::Constant(DType dtype, double value) {
  HostTensor tensor = HostTensor::Zeros(dtype, {1});
  StoreRow({&value, 1}, 0, tensor);
  return Constant(std::move(tensor));
}

int Composition::Reshaped(int var, const Shape& shape) {
  return Add<Reshape>({}, {var, Constant(TargetOf(shape))});
}

int Composition::ReshapedImages(int var, const Shape& shape) {
  const Shape& from = type(var).shape;
  const bool follows = from.rank() == 2 && from[0] == shape[0];  // rows are not split
  std::vector<int64_t> target(shape.dims().begin(), shape.dims().end());
  target[0] = -1;
  const Shape length = {static_cast<int64_t>(target.size())};
  HostTensor dims = HostTensor::FromValues<int64_t>(DType::kInt64, length, target);
  return Add<Reshape>({.axis = 0, .follows = follows}, {var, Constant(std::move(dims))});
}

int Composition::ReshapedAs(int var, int other, int64_t last) {
  const int64_t rank = type(other).shape.rank();
  const int rows = Slice(Add<GetVarShape>({}, {other}), 0, 0, rank - 1);
  return Add<Reshape>(
      {}, {var, Add<Concat>({0}, {rows, Constant(HostTensor::FromValues<int32_t>(
                                            DType::kInt32, {1}, {static_cast<int32_t>(last)}))})});
}

int Composition::Converted(int var, DType dtype) {
  return type(var).dtype == dtype ? var : Add<TypeCvt>({dtype}, {var});
}

int Composition::SummedTo(int var, const Shape& shape) {
  if (type(var).shape == shape) return var;
  return Add<Reduce>({ReduceMode::kSum, kNoAxis}, {var, Constant(TargetOf(shape))});
}

int Composition::Repeated(int var, const Shape& shape) {
  if (type(var).shape == shape) return var;
  return Add<Expand>({}, {var, Constant(TargetOf(shape))});
}

int Composition::Slice(int var, int axis, int64_t begin, int64_t end, int64_t step) {
  const auto bound = [&](int64_t value) {
    return Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {&value, 1}));
  };
  SubtensorParam param = {{axis}, {1}, {1}, {step == 1 ? 0 : 1}, {0}};
  std::vector<int> inputs = {var, bound(begin)};
  if (end >= 0) {
    inputs.push_back(bound(end));
  } else {
    param.end = {0};  // down to the first element
  }
  if (step != 1) inputs.push_back(bound(step));
  return Add<Subtensor>(std::move(param), std::move(inputs));
}

int Composition::Filled(DType dtype, const Shape& shape, double value) {
  HostTensor tensor = HostTensor::Zeros(dtype, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, value);
  return Constant(std::move(tensor));
}

absl::StatusOr<std::vector<int>> Composition::Finish(std::vector<int> outputs) && {
  if (!status_.ok()) return status_;
  return outputs;
}

}  // namespace ashlar
