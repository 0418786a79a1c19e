// Helpers for operands in rewrites.
#ifndef ASHLAR_OPR_BASE_OPERANDS_H_
#define ASHLAR_OPR_BASE_OPERANDS_H_

#include <utility>
#include <vector>

#include "graph/rewrite_rules.h"

namespace ashlar {

inline Operand FromProducer(int input) { return {Operand::From::kProducer, input, HostTensor()}; }
inline Operand FromConsumer(int input) { return {Operand::From::kConsumer, input, HostTensor()}; }
inline Operand FromBefore() { return {Operand::From::kBefore, 0, HostTensor()}; }
inline Operand ConstantOperand(HostTensor value) {
  return {Operand::From::kConstant, 0, std::move(value)};
}

// Returns all operands of the operator itself, in order.
inline std::vector<Operand> OwnOperands(size_t count) {
  std::vector<Operand> operands;
  for (size_t i = 0; i < count; ++i) operands.push_back(FromProducer(static_cast<int>(i)));
  return operands;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_OPERANDS_H_
