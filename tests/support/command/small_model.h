// A small network with every kind of node that models have, for tests of the command.
#ifndef ASHLAR_TESTS_SUPPORT_COMMAND_SMALL_MODEL_H_
#define ASHLAR_TESTS_SUPPORT_COMMAND_SMALL_MODEL_H_

#include "graph/graph.h"

namespace ashlar::testing {

// "data" [batch, 3, 16, 16] -> convolution, batch norm, ReLU, residual block, pooling, fully
// connected, softmax -> "prob" [batch, 10].
Graph SmallModel(int64_t batch);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_COMMAND_SMALL_MODEL_H_
