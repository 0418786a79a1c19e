// Loop and Scan, unrolled: the body is read once for each iteration.
//
// The trip count is a constant, or it is known to be at most a number: then so many iterations are
// planned, each but the first ones under a condition of the run. An iteration that the run does not
// reach leaves the states as they are, and its results are after the count of the loop's results.
//
// A state that only grows, by a Concat after itself, is joined once, of all that is added to it.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_UNROLL_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_UNROLL_H_

#include <functional>
#include <string>
#include <vector>

#include "serialization/onnx/import/node_reader.h"

namespace ashlar {

inline constexpr int64_t kMostUnrolledNodes = 100'000;

struct OnnxNodeReader::Unrolled {
  const onnx::NodeProto& node;
  const onnx::GraphProto& body;
  OnnxNode at;
  int64_t most = 0;            // iterations that are planned; -1: until the condition ends the loop
  OnnxVar count = kNoOnnxVar;  // iterations of the run; kNoOnnxVar: `most`
  OnnxVar condition = kNoOnnxVar;  // to start; kNoOnnxVar: none
  bool takes_counter = false;      // the body takes the iteration and the condition, and returns it
  // The inputs of the body in an iteration, after the states.
  std::function<std::vector<OnnxVar>(int64_t)> elements = {};
  std::vector<int> axes = {};         // of the results of iterations, in the loop's results
  std::vector<bool> backwards = {};   // the first iteration comes last
  std::vector<OnnxVar> states = {};   // at the end
  std::vector<OnnxVar> results = {};  // of all iterations
  OnnxOrder order = {};
  std::vector<std::string> outputs = {};  // of the body
};

// Joins tensors along an axis.
OnnxVar JoinedAlong(OnnxNode& at, const std::vector<OnnxVar>& parts, int axis);
// Returns the var with a dimension of size 1 more, at an axis that may count from the end.
OnnxVar WithAxis(OnnxNode& at, OnnxVar var, int& axis);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_UNROLL_H_
