// A graph under construction from a TensorFlow Lite model.
#ifndef ASHLAR_SERIALIZATION_TFLITE_IMPORT_GRAPH_H_
#define ASHLAR_SERIALIZATION_TFLITE_IMPORT_GRAPH_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "serialization/recorded_graph.h"

namespace ashlar {

// A value by its number in the import; kNoTfliteVar is none.
enum class TfliteVar : int {};
inline constexpr TfliteVar kNoTfliteVar{-1};

// Inputs, constants and operators. Operators that depend only on constants are evaluated at once,
// by their reference functions. Values that no output needs never enter the graph.
class TfliteGraph {
 public:
  // Limits on evaluation: bytes of constants, and scalar operations.
  TfliteGraph(int64_t most_folded_bytes, int64_t most_folded_operations)
      : most_folded_bytes_(most_folded_bytes), most_folded_operations_(most_folded_operations) {}

  TfliteVar AddInput(const std::string& name, TensorType type);
  TfliteVar AddConstant(HostTensor value, const std::string& name = "");
  // Returns errors of inference and evaluation, and InvalidArgument beyond the limits.
  absl::StatusOr<std::vector<TfliteVar>> Add(OperatorPtr op, std::vector<TfliteVar> inputs);

  const TensorType& type(TfliteVar var) const { return graph_.at(var).type; }
  // Returns null if the value is not known before the run.
  const HostTensor* constant(TfliteVar var) const {
    const std::optional<HostTensor>& value = graph_.at(var).constant;
    return value ? &*value : nullptr;
  }
  // Operators added from now on have this name.
  void BeginOperator(std::string name) { operator_name_ = std::move(name); }
  // Sets the name of a var; an earlier name stays.
  void SetName(TfliteVar var, const std::string& name);
  // Counts the bytes of a constant that was copied from the file.
  absl::Status CountCopied(int64_t bytes);
  int64_t folded_bytes() const { return folded_bytes_; }

  // Builds the graph of the operators that the outputs need. Outputs are bound to their names.
  absl::StatusOr<Graph> Finish(const std::vector<RecordedOutput<TfliteVar>>& outputs) && {
    return std::move(graph_).Build(outputs);
  }

 private:
  absl::StatusOr<std::vector<TfliteVar>> Fold(const Operator& op,
                                              const std::vector<TfliteVar>& inputs,
                                              const Site& site);

  const int64_t most_folded_bytes_, most_folded_operations_;
  int64_t folded_bytes_ = 0, folded_operations_ = 0;
  std::string operator_name_;
  RecordedGraph<TfliteVar> graph_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_IMPORT_GRAPH_H_
