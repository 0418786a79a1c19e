// Updates: a training step changes a state in place. SgdUpdate and AdamUpdate are the formulas of
// torch.optim.SGD, Adam and AdamW; AddUpdate is MegEngine's operator.
#ifndef ASHLAR_OPR_UPDATE_H_
#define ASHLAR_OPR_UPDATE_H_

#include "opr/base/base.h"

namespace ashlar {

// Declares output 0 a later version of an input: in its storage if that is a state; otherwise it
// may overwrite it.
inline Aliasing UpdatesInput(int input) {
  return {.overwrites = {{0, input}}, .updates = {{0, input}}};
}

// The parameters of an operator that adds another operator's result to `alpha` times a tensor.
template <typename Param>
struct AddingParam : Param {
  double alpha = 1;

  template <typename V>
  void Visit(V& v) {
    Param::Visit(v);
    v("alpha", alpha);
  }
};

// Output i is tensor i of StateInputs() after the update. If that is a state (Role::kState), the
// output is in its storage; otherwise it may overwrite it.
class UpdateOperator : public Operator {
 public:
  Aliasing aliasing(const Site& site) const override;
  int64_t Computation(const Site& site) const override;
  // Returns for each output the input that it is a later version of.
  virtual std::vector<int> StateInputs() const = 0;

 protected:
  virtual int64_t OperationsOfElement() const = 0;
  // `names` by input. Input 0 is Float32 and not empty. All others have its type, except inputs
  // `first_scalar` to `last_scalar`, which hold one element.
  absl::StatusOr<std::vector<TensorType>> InferUpdate(absl::Span<const InputInfo> inputs,
                                                      absl::Span<const char* const> names,
                                                      int first_scalar, int last_scalar) const;
};

struct SgdUpdateParam {
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;

  template <typename V>
  void Visit(V& v) {
    v("momentum", momentum);
    v("weight_decay", weight_decay);
    v("nesterov", nesterov);
  }
};

// SGD: d = gradient + weight_decay * weight; v = momentum * v + d; weight -= rate * v, or with
// Nesterov's momentum rate * (d + momentum * v). Inputs: weight, gradient, rate {1}, and with
// momentum v. Outputs: weight, and v.
class SgdUpdate final : public OperatorWithParam<SgdUpdateParam, UpdateOperator> {
 public:
  static constexpr int kWeight = 0, kGradient = 1, kRate = 2, kVelocity = 3;
  ASHLAR_OPERATOR("SgdUpdate", "sgd_update")
  bool has_velocity() const { return param().momentum != 0; }
  std::vector<int> StateInputs() const override;

 protected:
  int64_t OperationsOfElement() const override { return has_velocity() ? 6 : 4; }
};

struct AdamUpdateParam {
  double beta1 = 0.9, beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  // AdamW: the decay applies to the weight and not to the gradient

  template <typename V>
  void Visit(V& v) {
    v("beta1", beta1);
    v("beta2", beta2);
    v("epsilon", epsilon);
    v("weight_decay", weight_decay);
    v("decoupled", decoupled);
  }
};

// The factors of an Adam step, computed once per step.
struct AdamFactors {
  double decay = 1;       // of the weight, if decoupled
  double step_size = 0;   // rate / (1 - beta1^step)
  double root_scale = 1;  // 1 / sqrt(1 - beta2^step)
};
AdamFactors FactorsOf(const AdamUpdateParam& param, double rate, int64_t step);

// Adam: d = gradient + weight_decay * weight, or with decoupled decay weight *= 1 - rate *
// weight_decay and d = gradient. Then mean = beta1 mean + (1 - beta1) d; square = beta2 square + (1
// - beta2) d^2; weight -= step_size * mean / (sqrt(square) * root_scale + epsilon). Inputs: weight,
// gradient, rate {1}, step {1} (Int64, 1 at the first), mean, square. Outputs: weight, mean,
// square.
class AdamUpdate final : public OperatorWithParam<AdamUpdateParam, UpdateOperator> {
 public:
  static constexpr int kWeight = 0, kGradient = 1, kRate = 2, kStep = 3, kMean = 4, kSquare = 5;
  ASHLAR_OPERATOR("AdamUpdate", "adam_update")
  std::vector<int> StateInputs() const override { return {kWeight, kMean, kSquare}; }

 protected:
  int64_t OperationsOfElement() const override { return 14; }
};

struct AddUpdateParam {
  double alpha = 1, beta = 1, bias = 0;

  template <typename V>
  void Visit(V& v) {
    v("alpha", alpha);
    v("beta", beta);
    v("bias", bias);
  }
};

// alpha * dest + beta * delta + bias. Inputs: dest, and delta of the same type. Output: dest.
class AddUpdate final : public OperatorWithParam<AddUpdateParam, UpdateOperator> {
 public:
  static constexpr int kDest = 0, kDelta = 1;
  ASHLAR_OPERATOR("AddUpdate", "add_update")
  std::vector<int> StateInputs() const override { return {kDest}; }

 protected:
  int64_t OperationsOfElement() const override { return 4; }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_UPDATE_H_
