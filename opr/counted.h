// Operators of tensors whose sizes depend on data. Such a tensor is planned for the most that it
// may hold, with a count (Int64, rank 0) beside it: the places after the count are fill.
#ifndef ASHLAR_OPR_COUNTED_H_
#define ASHLAR_OPR_COUNTED_H_

#include <algorithm>
#include <string>

#include "absl/types/span.h"
#include "opr/base/base.h"

namespace ashlar {

struct NonZeroParam {
  int64_t at_most = 0;  // places that are planned; more are an error of the run

  template <typename V>
  void Visit(V& v) {
    v("at_most", at_most);
  }
};

// Input: numbers or truth values of rank 1 or more. Outputs: the indices of all elements that are
// not 0, in row-major order, Int64 [rank, at_most], -1 after the count; and the count.
class NonZero final : public OperatorWithParam<NonZeroParam> {
 public:
  ASHLAR_OPERATOR("NonZero", "non_zero")
  // Writes both outputs. `is_zero(i)` is called once for each element.
  template <typename IsZero>
  static absl::Status Find(const Shape& shape, int64_t at_most, const IsZero& is_zero,
                           int64_t* places, int64_t* count);
};

struct IndicesWithinParam {
  int64_t axis = -1;  // of the indices, along which they have a count themselves; -1: none

  template <typename V>
  void Visit(V& v) {
    v.Optional("axis", axis, int64_t{-1});
  }
};

// Inputs: indices, Int64 or Int32; the count of what they index; and, if `axis` is given, their own
// count. Output: the indices, none of them negative, 0 after their own count. An index that is out
// of range of the count is an error of the run.
class IndicesWithin final : public OperatorWithParam<IndicesWithinParam> {
 public:
  ASHLAR_OPERATOR("IndicesWithin", "indices_within")
};

struct CheckCountParam {
  bool at_most = false;  // otherwise equal
  std::string what;      // for the error

  template <typename V>
  void Visit(V& v) {
    v.Optional("at_most", at_most, false);
    v("what", what);
  }
};

// Inputs: two counts. Output: the first. It is an error of the run if the first is not as the
// second.
class CheckCount final : public OperatorWithParam<CheckCountParam> {
 public:
  ASHLAR_OPERATOR("CheckCount", "check_count")
  static absl::Status Check(const CheckCountParam& param, int64_t count, int64_t other);
};

// An error of the run: more was found than is planned for.
absl::Status MoreThanPlanned(int64_t at_most);

// Returns the index of a tensor of `count` elements, not negative.
absl::StatusOr<int64_t> IndexWithin(int64_t index, int64_t count);

template <typename IsZero>
absl::Status NonZero::Find(const Shape& shape, int64_t at_most, const IsZero& is_zero,
                           int64_t* places, int64_t* count) {
  const int64_t size = shape.num_elements();
  int64_t found = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (is_zero(i)) continue;
    if (found == at_most) return MoreThanPlanned(at_most);
    int64_t rest = i;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      places[axis * at_most + found] = rest % shape[axis];
      rest /= shape[axis];
    }
    ++found;
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::fill(places + axis * at_most + found, places + (axis + 1) * at_most, int64_t{-1});
  }
  *count = found;
  return absl::OkStatus();
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_COUNTED_H_
