// Builds native model files field by field, with arbitrary contents.
#ifndef ASHLAR_TESTS_SERIALIZATION_NATIVE_RAW_MODEL_H_
#define ASHLAR_TESTS_SERIALIZATION_NATIVE_RAW_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/params.h"
#include "serialization/native/format.h"

namespace ashlar::testing {

struct RawVar {
  int id = 0;
  std::string name;
  std::vector<int64_t> shape;
  int dtype = 0;
  int format = 0;
};

struct RawExtent {
  uint64_t offset = 0, bytes = 0;
};

struct RawNode {
  int id = 0;
  std::string name;
  std::string type;
  ParamList params;
  std::vector<uint32_t> inputs;
  std::vector<RawVar> outputs;
  std::string binding = "";
  std::optional<RawExtent> value = std::nullopt;
};

struct RawModel {
  std::string comp_node = "cpu0:0";
  int next_id = 100;
  std::vector<RawNode> nodes;
  std::string weights;

  // Returns y = conv_bias(data, filter, bias) of a 4 x 4 image with 2 channels, one 3 x 3 filter.
  static RawModel Convolution();
  // Returns the operator on Float32 inputs of these shapes; its output is declared with shape
  // `output`.
  static RawModel OneOperator(const std::string& type, const ParamList& params,
                              const std::vector<std::vector<int64_t>>& inputs,
                              std::vector<int64_t> output);
};

// Return the graph section, and a whole file with it.
std::string EncodeGraph(const RawModel& model);
std::string EncodeFile(const std::string& graph, const std::string& weights);
inline std::string EncodeFile(const RawModel& model) {
  return EncodeFile(EncodeGraph(model), model.weights);
}

// Reads a file from a block of exactly its size, aligned like a mapping.
absl::StatusOr<Graph> ReadFile(const std::string& file);

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_NATIVE_RAW_MODEL_H_
