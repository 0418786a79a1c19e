#include "opr/composition.h"

#include <algorithm>

#include "opr/immutable_tensor.h"
#include "opr/reshape.h"
#include "opr/strided.h"
#include "opr/subtensor.h"

namespace ashlar {

int Composition::Add(OperatorPtr op, std::vector<int> inputs) {
  if (!status_.ok()) return 0;
  absl::StatusOr<std::vector<int>> outputs = builder_.Add(std::move(op), std::move(inputs));
  if (outputs.ok()) return (*outputs)[0];
  status_ = outputs.status();
  return 0;
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
  HostTensor target = HostTensor::FromValues<int64_t>(DType::kInt64, {shape.rank()}, shape.dims());
  return Add<Reshape>({}, {var, Constant(std::move(target))});
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
