// ONNX models for tests, in protobuf's text format.
#ifndef ASHLAR_TESTS_SERIALIZATION_ONNX_MODEL_TEXT_H_
#define ASHLAR_TESTS_SERIALIZATION_ONNX_MODEL_TEXT_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/shape.h"

namespace ashlar::testing {

inline std::string ValueText(const std::string& name, const Shape& shape, int type = 1) {
  std::string dims;
  for (const int64_t dim : shape.dims()) absl::StrAppend(&dims, "dim { dim_value: ", dim, " } ");
  return absl::StrCat("{ name: '", name, "' type { tensor_type { elem_type: ", type, " shape { ",
                      dims, "} } } }\n");
}

// Returns an Int64 vector.
inline std::string IntsText(const std::string& name, const std::vector<int64_t>& values) {
  return absl::StrCat("initializer { name: '", name, "' data_type: 7 dims: ", values.size(),
                      " int64_data: [", absl::StrJoin(values, ","), "] }\n");
}

// Returns an attribute of a node.
inline std::string IntAttribute(const std::string& name, int64_t value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}
// The same of a float; an integer is written with all digits.
template <typename Number>
std::string FloatAttribute(const char* name, Number value) {
  return absl::StrCat("attribute { name: '", name, "' type: FLOAT f: ", value, " } ");
}
inline std::string IntsAttribute(const char* name, const std::vector<int64_t>& values) {
  return absl::StrCat("attribute { name: '", name, "' type: INTS ints: [",
                      absl::StrJoin(values, ","), "] } ");
}

// Returns a model from input x, Float32 {1,2,4,4}, to output y. `graph` has the nodes and
// initializers; the text of `model` comes after the graph.
inline std::string ModelText(const std::string& graph, int version = 17,
                             const std::string& model = "") {
  return absl::StrCat("ir_version: 8 opset_import { version: ", version, " } graph { name: 'g' ",
                      graph, "\ninput ", ValueText("x", {1, 2, 4, 4}), "output { name: 'y' } }\n",
                      model);
}

inline std::string Serialized(const std::string& text) {
  onnx::ModelProto model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model)) << text;
  return model.SerializeAsString();
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_ONNX_MODEL_TEXT_H_
