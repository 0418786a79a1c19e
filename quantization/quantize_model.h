// Post-training static quantisation: a model of floats as one of 8 bits, by what its tensors hold
// when it runs on data.
//
// Constants and scales are folded, channels equalised (equalise.h), operators fused as far as they
// then have 8 bits; ranges of tensors are chosen by histograms (range.h), and weights rounded by
// output channel. The same model, data and options give the same bytes, on any number of threads.
#ifndef ASHLAR_QUANTIZATION_QUANTIZE_MODEL_H_
#define ASHLAR_QUANTIZATION_QUANTIZE_MODEL_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "quantization/calibration.h"
#include "quantization/layers.h"
#include "quantization/range.h"

namespace ashlar {

// An input of bytes: (byte - mean) * scale is the number that the model of floats takes.
struct ByteInput {
  int32_t mean = 0;  // 0 to 255
  float scale = 1;
};

struct QuantizeOptions {
  RangeMethod method = RangeMethod::kMse;
  double percentile = 99.99;  // of kPercentile
  bool equalise = true;
  bool weights_by_channel = true;
  bool bias_correction = false;    // bias_correction.h
  std::optional<ByteInput> input;  // in place of the only input, which is of floats
  std::vector<std::string> keep;   // operators that stay in floats, by name
  int keep_worst = 0;              // and as many more: those with weights that lose most
  Wishes wishes;                   // device and threads of runs
  std::function<void(const std::string&)> progress;  // may be empty
};

struct QuantizedLayer {
  std::string name, type;  // the operator's, in floats; after fusing, the first one's
  bool in_bytes = false;
  std::string reason;  // why it computes with floats
  bool has_weights = false;
  // Of the output, in 8 bits:
  ValueRange observed, range;
  float scale = 0;
  int32_t zero_point = 0;
  double clipped_share = 0;
  // Of what it makes against what it makes in floats, signal over noise in decibels; nothing where
  // nobody sees it.
  std::optional<double> sqnr_db;
};

// Of the first output, whose rows are those of the batch.
struct QuantizedOutputs {
  int64_t rows = 0;
  double sqnr_db = 0;
  std::optional<double> agreement;  // the share of rows whose largest element is the same one
  std::optional<double> accuracy_before, accuracy_after;  // where there are labels
};

struct QuantizedModel {
  Graph graph;
  std::vector<QuantizedLayer> layers;  // in the order of the graph
  QuantizedOutputs outputs;
  int scaled_tensors = 0;    // EqualisedGraph
  int corrected_biases = 0;  // CorrectedGraph
};

// Errors name the operator or the tensor: NotFound where `keep` names none, FailedPrecondition
// where nothing has 8 bits, InvalidArgument where values are not finite, or where bytes cannot take
// the place of the input.
absl::StatusOr<QuantizedModel> QuantizeModel(const Graph& graph, const CalibrationData& data,
                                             const QuantizeOptions& options);

// The same graph in 8 bits, with ranges that are assumed: what it would need, not what it would
// compute.
absl::StatusOr<Graph> EightBitTwin(const Graph& graph, const Wishes& wishes);

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_QUANTIZE_MODEL_H_
