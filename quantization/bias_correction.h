// Biases of layers in 8 bits, less what rounding and clipping add to their outputs on average.
#ifndef ASHLAR_QUANTIZATION_BIAS_CORRECTION_H_
#define ASHLAR_QUANTIZATION_BIAS_CORRECTION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "quantization/layers.h"

namespace ashlar {

struct CorrectedGraph {
  Graph graph;
  int biases = 0;  // that are others than before
};

class BiasCorrection {
 public:
  // `floats`: the graph that runs; `fused`: of FuseForQuantization; `types`: by var of `fused`.
  BiasCorrection(const Graph& floats, const Graph& fused, const LayerPlan& plan,
                 const std::vector<TensorType>& types);

  // A value of a run of `floats`.
  void Add(const Var& var, const HostTensor& value);

  // `bytes`: of RewriteInEightBits. Layers of which no run has shown sums stay as they are.
  absl::StatusOr<CorrectedGraph> Correct(const Graph& bytes) const;

 private:
  // Of a tensor that a layer reads, summed over runs and its first dimension: its elements as the
  // type has them.
  struct Source {
    TensorType type;
    std::vector<double> sums;
    int64_t count = 0;
  };
  // Of a layer's sums before the activation, by channel.
  struct Sums {
    int axis = 0;
    std::vector<double> sums;
    int64_t count = 0;
  };
  struct Layer {
    int source = 0, sums = 0, output = 0;  // ids of vars
    bool behind_activation = false;        // `output` is
  };

  // By output channel, how much more a convolution makes than the layer in floats.
  absl::StatusOr<std::vector<double>> ExcessOf(const Layer& layer, const Graph& bytes,
                                               const OperatorNode& node) const;

  std::vector<Layer> layers_;
  std::map<int, Source> sources_;  // by id
  std::map<int, Sums> sums_;       // by id
};

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_BIAS_CORRECTION_H_
