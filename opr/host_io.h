// The operators through which tensors enter and leave a graph.
#ifndef ASHLAR_OPR_HOST_IO_H_
#define ASHLAR_OPR_HOST_IO_H_

#include <string>
#include <vector>

#include "opr/base/base.h"

namespace ashlar {

// A tensor type as parameters; declares the inputs of a graph.
struct InputParam {
  DType dtype = DType::kFloat32;
  std::vector<int64_t> shape;

  template <typename V>
  void Visit(V& v) {
    v("dtype", dtype, DTypeNames());
    v("shape", shape);
  }
};

// Both input operators bind the caller's tensor; Evaluate is not defined for them.
class InputOperator : public OperatorWithParam<InputParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  Role role() const override { return Role::kInput; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
};

class Host2DeviceCopy final : public InputOperator {
 public:
  using InputOperator::InputOperator;
  ASHLAR_OPERATOR_NAMES("Host2DeviceCopy", "h2d")
  int64_t Computation(const Site& site) const override;
};

// Two outputs: the tensor and an empty Byte marker.
class InputCallback final : public InputOperator {
 public:
  using InputOperator::InputOperator;
  ASHLAR_OPERATOR_NAMES("InputCallback", "input_callback")
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
};

// Describes an output. If a size of another output depends on data, that output is planned for
// the most that it may hold, and this one is its count (Int64, rank 0) along an axis.
struct OutputParam {
  std::string count_of;  // the other output's name for the caller; empty: this is no count
  int64_t axis = 0;

  template <typename V>
  void Visit(V& v) {
    v.Optional("count_of", count_of, std::string());
    v.Optional("axis", axis, int64_t{0});
  }
};

// Passes its input to the caller. Its output is an empty Byte marker.
class OutputCallback final : public OperatorWithParam<OutputParam> {
 public:
  using OperatorWithParam::OperatorWithParam;
  ASHLAR_OPERATOR_NAMES("OutputCallback", "output_callback")
  Role role() const override { return Role::kOutput; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs) const override;
  absl::StatusOr<std::vector<HostTensor>> Evaluate(
      absl::Span<const HostTensor> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_HOST_IO_H_
