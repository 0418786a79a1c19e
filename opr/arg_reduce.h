// ArgReduce: the index of the largest or smallest element along an axis.
#ifndef ASHLAR_OPR_ARG_REDUCE_H_
#define ASHLAR_OPR_ARG_REDUCE_H_

#include "opr/base/along_axis.h"

namespace ashlar {

enum class ArgReduceMode { kMax, kMin };

struct ArgReduceParam {
  ArgReduceMode mode = ArgReduceMode::kMax;
  int64_t axis = 0;   // negative: from the end
  bool last = false;  // of equal elements, the last instead of the first

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kModes[] = {"MAX", "MIN"};
    v("mode", mode, kModes);
    v("axis", axis);
    v.Optional("last", last, false);
  }
};

// Returns whether element `a`, which comes after element `b`, replaces it. NaN is larger than every
// number.
template <typename T>
constexpr bool Displaces(ArgReduceMode mode, bool last, T a, T b) {
  if (b != b) return last && a != a;
  if (a != a) return true;
  return (mode == ArgReduceMode::kMax ? a > b : a < b) || (last && a == b);
}

// Input: numbers; the axis is not empty. Output: Int64, of size 1 along the axis.
class ArgReduce final
    : public OperatorWithParam<ArgReduceParam, AlongAxis<ArgReduce, AxisOperator>> {
 public:
  ASHLAR_OPERATOR("ArgReduce", "arg_reduce")
  // For floats: the smallest or largest index of the elements that equal the extreme.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_ARG_REDUCE_H_
