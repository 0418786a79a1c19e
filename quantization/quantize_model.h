// Post-training static quantisation: converts a float model to 8 bits, with ranges observed in runs
// on calibration data.
//
// Constants and scales are folded, channels equalised (equalise.h), and operators fused as far as
// the fused ones have 8-bit kernels. Ranges of tensors are chosen by histograms (range.h), and
// weights are rounded by output channel. The same model, data and options give the same bytes, on
// any number of threads.
#ifndef ASHLAR_QUANTIZATION_QUANTIZE_MODEL_H_
#define ASHLAR_QUANTIZATION_QUANTIZE_MODEL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "quantization/calibration.h"
#include "quantization/graph_run.h"
#include "quantization/layers.h"
#include "quantization/noise.h"
#include "quantization/range.h"

namespace ashlar {

// An input of bytes: (byte - mean) * scale is the value that the float model takes.
struct ByteInput {
  int32_t mean = 0;  // 0 to 255
  float scale = 1;
};

struct QuantizeOptions {
  RangeMethod method = RangeMethod::kMse;
  double percentile = 99.99;  // for kPercentile
  bool equalise = true;
  bool weights_by_channel = true;
  bool bias_correction = false;    // see bias_correction.h
  std::optional<ByteInput> input;  // replaces the only input, which is float
  std::vector<std::string> keep;   // names of operators that stay in floats
  int keep_worst = 0;  // this many more stay in floats: the layers with weights that lose most
  PlanTarget target;   // device and threads of the runs
  RunMemory memory;    // for their weights
  std::function<void(const std::string&)> progress;  // may be empty
};

struct QuantizedLayer {
  std::string name, type;  // of the operator in floats; if fused, of the first one
  bool in_bytes = false;
  std::string reason;  // the reason why it computes in floats
  bool has_weights = false;
  // The output in 8 bits:
  ValueRange observed, range;
  float scale = 0;
  int32_t zero_point = 0;
  double clipped_share = 0;
  // The signal-to-noise ratio of its output in decibels, against floats; empty if its output cannot
  // be observed.
  std::optional<double> sqnr_db;
};

struct QuantizedModel {
  Graph graph;
  std::vector<QuantizedLayer> layers;  // in the order of the graph
  QuantizedOutputs outputs;
  int scaled_tensors = 0;    // see EqualisedGraph
  int corrected_biases = 0;  // see CorrectedGraph
};

// Quantises `graph`. Errors name the operator or the tensor. NotFound if `keep` names no operator;
// FailedPrecondition if no operator has 8 bits; InvalidArgument if values are not finite, or if
// bytes cannot replace the input.
absl::StatusOr<QuantizedModel> QuantizeModel(const Graph& graph, const CalibrationData& data,
                                             const QuantizeOptions& options);

// Returns the same graph in 8 bits with assumed ranges: for its memory, not for its values.
absl::StatusOr<Graph> EightBitTwin(const Graph& graph, const PlanTarget& target);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_QUANTIZE_MODEL_H_
