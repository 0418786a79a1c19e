// The base of operators that slide a window over images: convolution and pooling. Input 0 is the
// image [N, C, H, W]; images are independent, channels are not cut. A new subclass provides
// parameters, inference, evaluation, its operations, the windows, and itself with other padding.
#ifndef ASHLAR_OPR_BASE_WINDOW_OPERATOR_H_
#define ASHLAR_OPR_BASE_WINDOW_OPERATOR_H_

#include <memory>

#include "opr/base/base.h"
#include "opr/base/window.h"

namespace ashlar {

class WindowOperator : public Operator {
 public:
  StorageRules storage_rules(const Site& site) const override;
  // Cuts input 0; other inputs are needed as a whole.
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  // For input 0 only.
  std::optional<Region> OutputRegion(int input, const Region& region,
                                     const Site& site) const override;
  bool CropsInput(int input) const override { return input == 0; }
  // Returns the padding from the parameters, with resolved ends (no kSamePadding).
  virtual WindowPadding padding() const = 0;
  // Divisors of means depend on windows and padding; they stay right because only the borders of
  // the whole image keep padding.
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given,
                                      const Site& site) const override;

 protected:
  virtual absl::StatusOr<WindowAxes> WindowsOf(absl::Span<const InputInfo> inputs) const = 0;
  virtual OperatorPtr WithPadding(const WindowPadding& padding) const = 0;
};

// Returns an operator with other padding; its parameters have pad_h, pad_h_end, pad_w and
// pad_w_end.
template <typename Op>
OperatorPtr Padded(const Op& op, const WindowPadding& padding) {
  typename Op::Param param = op.param();
  param.pad_h = padding.h_begin;
  param.pad_h_end = padding.h_end;
  param.pad_w = padding.w_begin;
  param.pad_w_end = padding.w_end;
  return std::make_shared<const Op>(std::move(param));
}

// Returns the padding of such an operator.
template <typename Param>
WindowPadding PaddingOf(const Param& param) {
  const auto end = [](int64_t begin, int64_t end) { return end == kSamePadding ? begin : end; };
  return {param.pad_h, end(param.pad_h, param.pad_h_end), param.pad_w,
          end(param.pad_w, param.pad_w_end)};
}

// The base of operators with such parameters.
template <typename Op>
class PaddedWindowOperator : public WindowOperator {
 public:
  WindowPadding padding() const override { return PaddingOf(self().param()); }

 protected:
  OperatorPtr WithPadding(const WindowPadding& padding) const override {
    return Padded(self(), padding);
  }

  const Op& self() const { return static_cast<const Op&>(*this); }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_WINDOW_OPERATOR_H_
