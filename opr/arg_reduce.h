// ArgReduce: where along an axis the greatest or the least element is.
#ifndef ASHLAR_OPR_ARG_REDUCE_H_
#define ASHLAR_OPR_ARG_REDUCE_H_

#include "opr/along_axis.h"

namespace ashlar {

enum class ArgReduceMode { kMax, kMin };

struct ArgReduceParam {
  ArgReduceMode mode = ArgReduceMode::kMax;
  int64_t axis = 0;   // negative: from the end
  bool last = false;  // of equal elements the last instead of the first

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kModes[] = {"MAX", "MIN"};
    v("mode", mode, kModes);
    v("axis", axis);
    v.Optional("last", last, false);
  }
};

// Whether element `a`, met behind element `b`, takes its place. A NaN is more than anything.
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
  // Of floats: the least or greatest index of the elements that equal the extreme.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_ARG_REDUCE_H_
