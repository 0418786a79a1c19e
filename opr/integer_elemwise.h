// IntegerElemwise: integer functions that floating point cannot replace, with broadcasting. Exact
// in 64 bits; upper bits that do not fit the dtype are dropped.
#ifndef ASHLAR_OPR_INTEGER_ELEMWISE_H_
#define ASHLAR_OPR_INTEGER_ELEMWISE_H_

#include <type_traits>

#include "opr/base/integer_functions.h"
#include "opr/base/pointwise.h"

namespace ashlar {

inline constexpr const char* kIntegerFunctionNames[] = {
    "AND", "OR", "XOR", "SHIFT_LEFT", "SHIFT_RIGHT", "POW", "ADD", "SUB", "MUL"};

struct IntegerElemwiseParam {
  IntegerFunction mode = IntegerFunction::kAnd;

  template <typename V>
  void Visit(V& v) {
    v("mode", mode, kIntegerFunctionNames);
  }
};

// Inputs: two integer tensors that broadcast to each other; input 1 may have another dtype than
// input 0. Output: the dtype of input 0. A shift by less than 0 or by all bits leaves only the
// sign; a power by less than 0 is truncated.
class IntegerElemwise final : public OperatorWithParam<IntegerElemwiseParam, PointwiseOperator> {
 public:
  ASHLAR_OPERATOR("IntegerElemwise", kIntegerFunctionNames[static_cast<size_t>(param().mode)])
  StorageRules storage_rules(const Site&) const override { return {}; }
  int64_t Computation(const Site& site) const override;
};

// The integer of 64 bits that holds any T.
template <typename T>
auto Widened(T integer) {
  return static_cast<std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>(integer);
}

// Calls visit.template operator()<T>() with the C++ type of an integer dtype.
template <typename Visit>
auto WithInteger(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kInt64:
      return visit.template operator()<int64_t>();
    case DType::kInt32:
      return visit.template operator()<int32_t>();
    case DType::kInt8:
      return visit.template operator()<int8_t>();
    case DType::kUint16:
      return visit.template operator()<uint16_t>();
    case DType::kInt16:
      return visit.template operator()<int16_t>();
    case DType::kUint32:
      return visit.template operator()<uint32_t>();
    case DType::kUint64:
      return visit.template operator()<uint64_t>();
    default:
      return visit.template operator()<uint8_t>();
  }
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_INTEGER_ELEMWISE_H_
