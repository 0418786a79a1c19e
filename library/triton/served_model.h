// A model that Triton serves: its plans by batch size, or at the points of a family. All instances
// share one copy of the weights.
#ifndef ASHLAR_LIBRARY_TRITON_SERVED_MODEL_H_
#define ASHLAR_LIBRARY_TRITON_SERVED_MODEL_H_

#include <ashlar/ashlar.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "library/triton/model_config.h"

namespace ashlar::triton {

class ServedModel {
 public:
  // Plans the model and packs its weights.
  ServedModel(const Model& model, const ModelConfig& config);

  bool batched() const { return batched_; }
  // Whether requests of a sequence pass states on.
  bool has_states() const { return largest().States().size() > 0; }
  // Whether the shapes of a request choose its plan.
  bool has_sizes() const { return family_.has_value(); }
  // Returns the index of the plan for these shapes. Throws the declared sizes.
  size_t PointOf(const std::vector<ashlar_shape>& shapes) const { return family_->Point(shapes); }
  // Sorted by batch size. Without batches each is of size 1: the points of the family, or one plan
  // of the model's own shapes.
  const std::vector<std::pair<int64_t, Plan>>& plans() const { return plans_; }
  const Plan& largest() const { return plans_.back().second; }
  // Returns the plans that describe the tensors of requests.
  std::vector<Plan> ShownPlans() const {
    return has_sizes() ? family_->Plans() : std::vector<Plan>{largest()};
  }
  int64_t most_rows() const { return plans_.back().first; }

 private:
  bool batched_;
  std::optional<Family> family_;
  std::vector<std::pair<int64_t, Plan>> plans_;
};

}  // namespace ashlar::triton

#endif  // ASHLAR_LIBRARY_TRITON_SERVED_MODEL_H_
