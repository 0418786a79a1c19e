// The parts of a model that training changes: the constants that layers compute with, and the
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
  bool learns = true;  // by gradients; else a statistic
  // The node that reads it, and as which input: of batch norms, as exporters write equal constants
  // of several layers once; in tiles, its parts. Empty: all that read it.
  std::vector<int> readers;
  int input = -1;
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
  bool batch_statistics = true;  // else batch norms keep the statistics that they have
};

// Constants of Float32 that convolutions, products, layer and batch norms read as weights, and
// biases that are added behind convolutions and products. A batch norm of which scale or bias is
// frozen keeps its statistics. InvalidArgument where the expression is none, or
// matches none of them, or nothing is left to learn.
absl::StatusOr<Parameters> FindParameters(const Graph& model, const ParameterOptions& options);

// The parameters of a model in the model in tiles, of which `parts` says what they are parts of.
// InvalidArgument where tiles take a norm apart that normalises by the statistics of the batch.
absl::StatusOr<Parameters> InTiles(const Parameters& parameters, const Graph& model,
                                   const Graph& tiled, const PartsOfNodes& parts);

// The model with other operators in the place of parameters: `make` gives that of a parameter,
// without inputs and of the constant's type. By parameter its var goes into `vars`. Nodes that
// `instead` (may be empty) returns true for have been dealt with by it; all others are copied, with
// parameters in place.
using MakeParameter = std::function<OperatorPtr(int parameter)>;
using Instead = std::function<absl::StatusOr<bool>(int node, const std::vector<int>& inputs)>;
absl::Status CopyWith(const Parameters& parameters, const MakeParameter& make,
                      const Instead& instead, GraphRewriter& rewriter, std::vector<int>& vars);

// The model with these values, by parameter, as its constants.
absl::StatusOr<Graph> WithValues(const Graph& model, const Parameters& parameters,
                                 const std::vector<HostTensor>& values);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_PARAMETERS_H_
