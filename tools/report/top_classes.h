// The best classes of an image.
#ifndef ASHLAR_TOOLS_REPORT_TOP_CLASSES_H_
#define ASHLAR_TOOLS_REPORT_TOP_CLASSES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace ashlar {

struct ScoredClass {
  int64_t index = 0;
  double value = 0;
};

// Returns whether an output holds a row of scores for each image: {N,C}, or {N,C,1,1} of models
// that end in a pooling.
bool HoldsScores(const Shape& shape);

// Returns for each row of a tensor {N,C} or {N,C,1,...} its `count` largest elements, the largest
// first; of equal ones the first.
std::vector<std::vector<ScoredClass>> TopClasses(const HostTensor& scores, int64_t count);

// Reads the lines of a file of labels, without a byte order mark and empty lines at the end.
// InvalidArgument if there are none, or the file is no text.
absl::StatusOr<std::vector<std::string>> ReadLabels(const std::string& path);

// Checks that one of the graph's outputs has as many classes as there are labels. InvalidArgument,
// naming the file, otherwise.
absl::Status CheckLabels(const std::string& path, const std::vector<std::string>& labels,
                         const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_TOP_CLASSES_H_
