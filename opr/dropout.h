// Dropout (Srivastava et al. 2014, "Dropout"): elements zeroed at random while a model is trained.
#ifndef ASHLAR_OPR_DROPOUT_H_
#define ASHLAR_OPR_DROPOUT_H_

#include "opr/base.h"

namespace ashlar {

struct DropoutParam {
  double probability = 0.5;  // of an element's becoming zero, in [0, 1)
  int64_t seed = 0;

  template <typename V>
  void Visit(V& v) {
    v("probability", probability);
    v("seed", seed);
  }
};

// The state that all elements of a step share, and whether one of them stays. The number of an
// element follows from these alone, so that its gradient makes the mask again. The function is the
// finaliser of SplitMix64 (Steele, Lea and Flood 2014), applied to seed and step, then to the
// element.
constexpr uint64_t DropoutMix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
constexpr uint64_t DropoutKey(int64_t seed, int64_t step) {
  return DropoutMix(DropoutMix(static_cast<uint64_t>(seed)) ^ static_cast<uint64_t>(step));
}
// An element stays where its 53 bits are not below this.
constexpr uint64_t DropoutThreshold(double probability) {
  return static_cast<uint64_t>(probability * 9007199254740992.0);
}
constexpr bool DropoutKeeps(uint64_t key, int64_t element, uint64_t threshold) {
  return DropoutMix(key ^ static_cast<uint64_t>(element)) >> 11 >= threshold;
}

// Elements that stay are divided by the probability of staying. Inputs: x, floats; the number of
// the step, one Int32 or Int64, by which masks differ. Output: x's type; it may overwrite x.
class Dropout final : public OperatorWithParam<DropoutParam> {
 public:
  static constexpr int kX = 0, kStep = 1;

  ASHLAR_OPERATOR("Dropout", "dropout")
  absl::Status Gradient(GradientContext& context) const override;
  int64_t Computation(const Site& site) const override;
  Aliasing aliasing(const Site& site) const override;
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_DROPOUT_H_
