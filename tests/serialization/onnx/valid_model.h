// Checks that other programs can read a written model.
#ifndef ASHLAR_TESTS_SERIALIZATION_ONNX_VALID_MODEL_H_
#define ASHLAR_TESTS_SERIALIZATION_ONNX_VALID_MODEL_H_

#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <string>

#include "tests/serialization/files.h"

namespace ashlar::testing {

inline onnx::ModelProto ParseOnnx(const std::string& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(ReadWholeFile(path)));
  return model;
}

// Expects ONNX's own checker to find nothing, types and shapes included.
inline void ExpectValid(onnx::ModelProto model) {
  try {
    onnx::checker::check_model(model);
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       {/*check_type=*/true, /*error_mode=*/1});
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_ONNX_VALID_MODEL_H_
