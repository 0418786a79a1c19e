// Pad: adds or removes elements at the ends of a tensor.
#ifndef ASHLAR_OPR_PAD_H_
#define ASHLAR_OPR_PAD_H_

#include <vector>

#include "opr/base/regions.h"

namespace ashlar {

enum class PadMode {
  kConstant,
  kReflect,  // mirrored at the first and last element, which are not repeated
  kEdge,     // the first and last element repeated
  kWrap,     // from the other end
};

struct PadParam {
  PadMode mode = PadMode::kConstant;
  std::vector<int64_t> begin,
      end;  // by dimension; negative: so many elements are removed, before the rest is padded
  double value = 0;  // of kConstant

  template <typename V>
  void Visit(V& v) {
    static constexpr const char* kModes[] = {"CONSTANT", "REFLECT", "EDGE", "WRAP"};
    v("mode", mode, kModes);
    v("begin", begin);
    v("end", end);
    v.Optional("value", value, 0.0);
  }
};

// One dimension. Elements [first, first + kept) of the input are left after removal.
struct PadAxis {
  int64_t first = 0, kept = 0;
  int64_t before = 0, behind = 0;

  int64_t output() const { return before + kept + behind; }
  // Returns the input that output o repeats; -1 if it is the constant.
  int64_t InputOf(PadMode mode, int64_t o) const;
};

// Returns the axes by dimension of `x`. Errors are InvalidArgument and name the dimension.
absl::StatusOr<std::vector<PadAxis>> PadAxesOf(const PadParam& param, const TensorType& x);

// Input: a tensor of any dtype. Output: its dtype.
class Pad final : public OperatorWithParam<PadParam> {
 public:
  ASHLAR_OPERATOR("Pad", "pad")
  absl::Status Gradient(GradientContext& context) const override;
  StorageRules storage_rules(const Site& site) const override;
  // For constants only: the elements that other modes repeat may be far from their place in the
  // output.
  ASHLAR_CUTS_OUTPUT_AND_INPUT()
  bool CropsInput(int input) const override { return input == 0; }
  // Moves zeros around an image into the padding of a following convolution or mean.
  std::optional<Replacement> Absorb(absl::Span<const InputInfo> inputs,
                                    const Consumer& consumer) const override;
  // Composes a Concat of constants or of Subtensors.
  absl::StatusOr<std::vector<int>> Compose(GraphBuilder& builder,
                                           absl::Span<const int> inputs) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_PAD_H_
