// A model that Triton serves: its plans by batch size. All instances share one copy of the weights.
#ifndef ASHLAR_LIBRARY_TRITON_SERVED_MODEL_H_
#define ASHLAR_LIBRARY_TRITON_SERVED_MODEL_H_

#include <ashlar/ashlar.hpp>
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
  // Sorted by batch size. If requests have the model's own shapes, there is one plan, of size 1.
  const std::vector<std::pair<int64_t, Plan>>& plans() const { return plans_; }
  const Plan& largest() const { return plans_.back().second; }
  int64_t most_rows() const { return plans_.back().first; }

 private:
  bool batched_;
  std::vector<std::pair<int64_t, Plan>> plans_;
};

}  // namespace ashlar::triton

#endif  // ASHLAR_LIBRARY_TRITON_SERVED_MODEL_H_
