// Defines the members that ASHLAR_OPERATOR declares, if a base class implements them for a family.
#ifndef ASHLAR_OPR_BASE_INHERITED_H_
#define ASHLAR_OPR_BASE_INHERITED_H_

#include "opr/base/base.h"

// `infer` and `evaluate` are the functions of the base class.
#define ASHLAR_INHERITS(Op, infer, evaluate)                                                    \
  absl::StatusOr<std::vector<TensorType>> Op::Infer(absl::Span<const InputInfo> inputs) const { \
    return infer(inputs);                                                                       \
  }                                                                                             \
  absl::StatusOr<std::vector<HostTensor>> Op::Evaluate(absl::Span<const HostTensor> inputs)     \
      const {                                                                                   \
    return evaluate(inputs);                                                                    \
  }

#endif  // ASHLAR_OPR_BASE_INHERITED_H_
