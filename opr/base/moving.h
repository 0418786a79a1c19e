// The base of operators that only move elements: the dtype, any of them, is the input's.
#ifndef ASHLAR_OPR_BASE_MOVING_H_
#define ASHLAR_OPR_BASE_MOVING_H_

#include "opr/base/base.h"

namespace ashlar {

class MovingOperator : public Operator {
 public:
  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kFollow, .moves = true};
  }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_MOVING_H_
