// Finds the parts of a model that training changes: the constants that layers compute with, and the
// statistics of batch norms.
#ifndef ASHLAR_TRAINING_PARAMETERS_H_
#define ASHLAR_TRAINING_PARAMETERS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/rewriter.h"
#include "graph/tiling/tile.h"

namespace ashlar {

// A constant of a model that becomes a state.
struct Parameter {
  std::string name;    // of the state: the constant's, made unique
  int var = 0;         // the constant
  bool learns = true;  // by gradients; otherwise it is a statistic
};

// A batch norm that normalises by the statistics of the batch.
struct BatchStatistics {
  int node = 0;
  int mean = 0, variance = 0;  // indices of their parameters
};

struct Parameters {
  std::vector<Parameter> all;
  std::vector<BatchStatistics> norms;
};

struct ParameterOptions {
  std::string freeze;            // a regular expression: names of constants that stay; "": none
  bool batch_statistics = true;  // otherwise batch norms keep their statistics
};

// Finds the Float32 constants that convolutions, products, layer and batch norms read as weights,
// and biases added after convolutions and products. A batch norm keeps its statistics if its scale
// and its bias are frozen. All readers of a constant share its parameter, so `model` is one of
// WithOwnWeights (training/own_weights.h). InvalidArgument if the expression is malformed or
// matches no weight, or if nothing is left to learn.
absl::StatusOr<Parameters> FindParameters(const Graph& model, const ParameterOptions& options);

// Maps the parameters of `model` to its tiled graph; `parts` maps tiled nodes to the model's nodes.
// InvalidArgument if tiles split a norm that normalises by the statistics of the batch.
absl::StatusOr<Parameters> InTiles(const Parameters& parameters, const Graph& model,
                                   const Graph& tiled, const PartsOfNodes& parts);

// Copies the model, with each parameter replaced by the operator that `make` returns: without
// inputs and of the constant's type. The new vars go into `vars`, by parameter. A node is copied
// with its parameters replaced, unless `instead` (may be empty) returns true, which means that it
// has handled the node itself.
using MakeParameter = std::function<OperatorPtr(int parameter)>;
using Instead = std::function<absl::StatusOr<bool>(int node, const std::vector<int>& inputs)>;
absl::Status CopyWith(const Parameters& parameters, const MakeParameter& make,
                      const Instead& instead, GraphRewriter& rewriter, std::vector<int>& vars);

// Returns the model with these values, by parameter, as its constants.
absl::StatusOr<Graph> WithValues(const Graph& model, const Parameters& parameters,
                                 const std::vector<HostTensor>& values);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_PARAMETERS_H_
