// Subtensor: takes a box of a tensor, with steps.
#ifndef ASHLAR_OPR_SUBTENSOR_H_
#define ASHLAR_OPR_SUBTENSOR_H_

#include "absl/container/inlined_vector.h"
#include "opr/base/base.h"
#include "opr/base/strided.h"

namespace ashlar {

// One row for each axis that is cut (parallel vectors). `axis` is the axis (negative: from the
// end). The others are 1 if that bound is given, otherwise 0. The given bounds are the further
// inputs, row by row, in the order begin, end, step, idx: one-element integer vectors. `idx`
// excludes the others and drops the axis.
struct SubtensorParam {
  std::vector<int64_t> axis, begin, end, step, idx;
  int64_t min_rank = 0;  // 1: the last axis is not dropped if all others are (MegEngine)

  template <typename V>
  void Visit(V& v) {
    v("axis", axis);
    v("begin", begin);
    v("end", end);
    v("step", step);
    v("idx", idx);
    v.Optional("min_rank", min_rank, int64_t{0});
  }
};

// The elements that a Subtensor takes along one axis: start, start + step, ... (`count` of them).
struct AxisRange {
  int64_t start = 0;
  int64_t step = 1;
  int64_t count = 0;
  bool dropped = false;  // by idx; the count is 1
};

// The elements that ranges take from a tensor with strides `input`: the first one, and the strides
// of the axes that are not dropped.
struct StridedView {
  int64_t base = 0;
  Strides strides;
};
StridedView ViewOf(absl::Span<const AxisRange> ranges, const Strides& input);

// Inputs: x, then bounds. Follows Python's slices: negative bounds count from the end, and bounds
// beyond the ends are clipped; an idx must be inside.
class Subtensor final : public OperatorWithParam<SubtensorParam> {
 public:
  ASHLAR_OPERATOR("Subtensor", "subtensor")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site& site) const override;
  InputUse input_use(int input) const override {
    return input == 0 ? InputUse::kDeviceValue : InputUse::kHostValue;
  }
  Aliasing aliasing(const Site& site) const override;

  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given,
                                      const Site& site) const override;
  // Absorbs a Subtensor of its own result.
  std::optional<Replacement> Absorb(absl::Span<const InputInfo> inputs,
                                    const Consumer& consumer) const override;

  // Returns one range for each axis of x; needs the values of the bounds.
  absl::StatusOr<std::vector<AxisRange>> Ranges(absl::Span<const InputInfo> inputs) const;
};

// Returns the Subtensor of input 0, which has this shape, with constant bounds.
Replacement BoxOf(absl::Span<const AxisRange> ranges, const Shape& shape);

}  // namespace ashlar

#endif  // ASHLAR_OPR_SUBTENSOR_H_
