// The base of operator files: an Operator over a plain parameter struct.
#ifndef ASHLAR_OPR_BASE_BASE_H_
#define ASHLAR_OPR_BASE_BASE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/operator.h"
#include "graph/status.h"

namespace ashlar {

// `P` lists its fields with Visit (graph/params.h). `Base` implements the functions that a family
// of operators shares.
template <typename P, typename Base = Operator>
class OperatorWithParam : public Base {
 public:
  using Param = P;
  explicit OperatorWithParam(P param) : param_(std::move(param)) {}
  const P& param() const { return param_; }
  ParamList params() const override { return ToParams(param_); }
  void AppendParams(std::string& bytes) const override { ashlar::AppendParams(param_, bytes); }

 private:
  P param_;
};

// The names of an operator (graph/operator.h).
#define ASHLAR_OPERATOR_NAMES(type_name, automatic_name)    \
  static constexpr absl::string_view kType = type_name;     \
  absl::string_view type() const override { return kType; } \
  std::string base_name() const override { return automatic_name; }

// The members of every operator with parameters: the names here, inference and evaluation in its
// .cc file.
#define ASHLAR_OPERATOR(type_name, automatic_name)                                      \
  using OperatorWithParam::OperatorWithParam;                                           \
  ASHLAR_OPERATOR_NAMES(type_name, automatic_name)                                      \
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo> inputs)     \
      const override;                                                                   \
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor> inputs) \
      const override;

struct NoParam {
  template <typename V>
  void Visit(V&) {}
};

// Makes an operator from its parameters; defined in each operator's file.
template <typename Op>
absl::StatusOr<OperatorPtr> MakeOperator(const ParamList& params);

// The definition for operators that consist of their parameters only.
#define ASHLAR_MAKE_FROM_PARAMS(Op)                                       \
  template <>                                                             \
  absl::StatusOr<OperatorPtr> MakeOperator<Op>(const ParamList& params) { \
    auto param = FromParams<Op::Param>(params);                           \
    if (!param.ok()) return param.status();                               \
    return std::make_shared<const Op>(*std::move(param));                 \
  }

// InvalidArgument unless there are `expected` inputs.
inline absl::Status CheckInputCount(absl::Span<const InputInfo> inputs, size_t expected) {
  if (inputs.size() == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(inputs.size(), " inputs, expected ", expected));
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_BASE_H_
