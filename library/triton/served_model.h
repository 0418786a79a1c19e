// A model as Triton serves it: its plans by batch size, whose weights are in memory once for all
// instances.
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
  // Plans, and packs the weights.
  ServedModel(const Model& model, const ModelConfig& config);

  bool batched() const { return batched_; }
  // By ascending batch size; the only one has size 1 where requests have the model's own shapes.
  const std::vector<std::pair<int64_t, Plan>>& plans() const { return plans_; }
  const Plan& largest() const { return plans_.back().second; }
  int64_t most_rows() const { return plans_.back().first; }

 private:
  bool batched_;
  std::vector<std::pair<int64_t, Plan>> plans_;
};

}  // namespace ashlar::triton

#endif  // ASHLAR_LIBRARY_TRITON_SERVED_MODEL_H_
