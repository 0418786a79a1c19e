// Separates weights of several layers that a model's file holds as one constant.
//
// Exporters write equal constants once, so the zeros of all new biases and the ones of all new
// norms are one constant. Its readers are different layers, which must not be trained as one.
#ifndef ASHLAR_TRAINING_OWN_WEIGHTS_H_
#define ASHLAR_TRAINING_OWN_WEIGHTS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace ashlar {

// Returns the model with a constant for each weight that has its own gradient or statistic. Copies
// share the constant's name and bytes.
//  - Each batch norm gets constants that nothing else reads, because its statistics are its own.
//  - A constant whose elements are all equal is copied for each layer, and is no other reader's.
//    Nodes with another weight in common are one layer that is applied several times.
//  - Other constants stay shared: equal by chance they are not, so they are tied on purpose.
absl::StatusOr<Graph> WithOwnWeights(Graph model);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_OWN_WEIGHTS_H_
