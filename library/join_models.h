// Models that feed one another.
#ifndef ASHLAR_LIBRARY_JOIN_MODELS_H_
#define ASHLAR_LIBRARY_JOIN_MODELS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "library/model.h"
#include "serialization/input_shapes.h"

namespace ashlar {

// Returns the shapes that the first model's outputs give to inputs of a second one (graph/join.h),
// by these names of the second's inputs.
InputShapes ShapesAfter(const Graph& first, const std::vector<std::string>& inputs);

// Joins two models: the first feeds the second (graph/join.h). The result uses no packed part of
// their files. Errors are Join's and UsePlainWeights's. For other shapes it reads the first anew,
// and then the second for the shapes that the first gives.
absl::StatusOr<Model> JoinModels(Model first, Model second);

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_JOIN_MODELS_H_
