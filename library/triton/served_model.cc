#include "library/triton/served_model.h"

#include <algorithm>

#include "library/triton/errors.h"

namespace ashlar::triton {
namespace {

// Returns the shapes of a plan's inputs for a batch of `rows`.
std::vector<ashlar_shape> ShapesFor(const Plan& plan, int64_t rows) {
  std::vector<ashlar_shape> shapes;
  for (const ashlar_tensor& input : plan.Inputs()) {
    ashlar_shape& shape = shapes.emplace_back();
    shape.input = input.name;
    shape.rank = input.rank;
    std::copy(input.shape, input.shape + input.rank, shape.shape);
    shape.shape[0] = rows;
  }
  return shapes;
}

// Checks that the first dimension of every tensor is the batch, as batched requests need.
void CheckRows(const Plan& plan, int64_t rows) {
  for (const auto& tensors : {plan.Inputs(), plan.Outputs()}) {
    for (const ashlar_tensor& tensor : tensors) {
      if (tensor.rank > 0 && (rows == 0 || tensor.shape[0] == rows)) continue;
      throw InvalidArgument("max_batch_size: '" + std::string(tensor.name) +
                            "' has no rows of a batch first; set it to 0");
    }
  }
}

}  // namespace

ServedModel::ServedModel(const Model& model, const ModelConfig& config)
    : batched_(config.max_batch_size > 0) {
  if (!config.shape.empty()) {
    family_ = model.NewFamily(config.shape, config.Options());
    for (const Plan& plan : family_->Plans()) plans_.emplace_back(1, plan);
    largest().Load();
    return;
  }
  const Plan own = model.NewPlan(config.Options());
  if (!batched_) plans_.emplace_back(1, own);
  if (batched_) CheckRows(own, 0);
  for (const int64_t rows : config.batch_sizes) {
    const std::vector<ashlar_shape> shapes = ShapesFor(own, rows);
    ashlar_plan_options options = config.Options();
    options.shapes = shapes.data();
    options.num_shapes = shapes.size();
    if (!plans_.empty()) options.share = plans_[0].second.get();
    plans_.emplace_back(rows, model.NewPlan(options));
    CheckRows(largest(), rows);
  }
  largest().Load();  // this loads all plans that share with it
}

}  // namespace ashlar::triton
