// Corrects the biases of 8-bit layers by the mean error that rounding and clipping add to their
// outputs.
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
  int biases = 0;  // the number that changed
};

class BiasCorrection {
 public:
  // `floats`: the graph that runs; `fused`: result of FuseForQuantization; `types`: by var of
  // `fused`.
  BiasCorrection(const Graph& floats, const Graph& fused, const LayerPlan& plan,
                 const std::vector<TensorType>& types);

  // Adds the value of a var in a run of `floats`.
  void Add(const Var& var, const HostTensor& value);

  // Returns `bytes` with corrected biases. `bytes` comes from RewriteInEightBits. Layers whose sums
  // no run has shown are not changed.
  absl::StatusOr<CorrectedGraph> Correct(const Graph& bytes) const;

 private:
  // An input tensor of layers, summed over runs and its first dimension, in the tensor's own
  // format.
  struct Source {
    TensorType type;
    std::vector<int32_t> sums;  // by element, in steps of the type: of 8 million images at most
    int64_t count = 0;
  };
  // The sums of a layer before its activation, by channel.
  struct Sums {
    int axis = 0;
    std::vector<double> sums;
    int64_t count = 0;
  };
  struct Layer {
    int source = 0, sums = 0, output = 0;  // ids of vars
    bool behind_activation = false;        // whether `output` is
  };

  // Returns, by output channel, the mean excess of a convolution's output over the float layer's.
  absl::StatusOr<std::vector<double>> ExcessOf(const Layer& layer, const Graph& bytes,
                                               const OperatorNode& node) const;

  std::vector<Layer> layers_;
  std::map<int, Source> sources_;  // by id
  std::map<int, Sums> sums_;       // by id
};

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_BIAS_CORRECTION_H_
