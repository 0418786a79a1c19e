// Operation graphs of the emulated cuDNN, and their interpretation.
#ifndef ASHLAR_TESTS_EMULATED_GPU_CUDNN_GRAPH_H_
#define ASHLAR_TESTS_EMULATED_GPU_CUDNN_GRAPH_H_

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "tests/emulated_gpu/numbers.h"

namespace ashlar::emulated {

struct GraphTensor {
  Number number;
  std::array<int64_t, 4> dims, strides;  // N, C, H, W; filters K, C, R, S
  int64_t alignment;
  bool is_virtual;

  // Returns the number of elements from the first to the last one.
  int64_t Reach() const;
  // Return whether elements lie without gaps, channels last, or in the order of the dimensions.
  bool IsChannelsLast() const;
  bool IsRowMajor() const;
  bool operator==(const GraphTensor& other) const;
};

enum class GraphStep { kConvolution, kAdd, kRelu, kSigmoid };

struct GraphOperation {
  GraphStep step;
  int64_t x, w, y;  // tensors by number; w is the filter or the addend
  double alpha = 1, beta = 0;
  std::array<int64_t, 2> strides{}, dilations{}, before{}, after{};  // height, width
  bool flipped = false;
  double lower = 0, upper = 0;  // of kRelu
};

struct OperationGraph {
  std::map<int64_t, GraphTensor> tensors;
  std::vector<GraphOperation> operations;  // each after the operations it reads
  bool has_handle = false;

  const GraphTensor& At(int64_t id) const { return tensors.at(id); }
};

// The way in which an engine differs from exact arithmetic.
enum class Arithmetic { kExact, kTf32, kImprecise };

// Computes all tensors that are not virtual, from and to the given places.
void Interpret(const OperationGraph& graph, Arithmetic arithmetic,
               const std::map<int64_t, void*>& places);

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_CUDNN_GRAPH_H_
