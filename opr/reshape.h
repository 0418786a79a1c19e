// Reshape: gives the same elements, in row-major order, another shape.
#ifndef ASHLAR_OPR_RESHAPE_H_
#define ASHLAR_OPR_RESHAPE_H_

#include "opr/base/axis.h"
#include "opr/base/base.h"

namespace ashlar {

struct ReshapeParam {
  int64_t axis = kNoAxis;  // the deduced dimension; the shape vector holds -1 there
  // Dimension 0, which is -1 in the shape vector, must equal x's: the number of images stays open.
  bool follows = false;

  template <typename V>
  void Visit(V& v) {
    v.Optional("axis", axis, kNoAxis);
    v.Optional("follows", follows, false);
  }
};

// Inputs: x, and the new shape, an integer vector known before the run. One of its dimensions may
// be -1: it is deduced, with or without the parameter.
class Reshape final : public OperatorWithParam<ReshapeParam> {
 public:
  ASHLAR_OPERATOR("Reshape", "reshape")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site&) const override {
    return {.precision = PrecisionRule::kFollow, .moves = true};
  }
  InputUse input_use(int input) const override {
    return input == 0 ? InputUse::kDeviceValue : InputUse::kHostValue;
  }
  std::optional<std::vector<Region>> InputRegions(const Region& output,
                                                  const Site& site) const override;
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given,
                                      const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
  std::optional<Movement> AsMovement(absl::Span<const InputInfo> inputs) const override {
    return inputs[1].value != nullptr ? std::optional(Movement{{}, !param().follows})
                                      : std::nullopt;
  }

 private:
  absl::StatusOr<Shape> TargetShape(absl::Span<const InputInfo> inputs) const;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_RESHAPE_H_
