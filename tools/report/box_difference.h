// Compares the detections of two runs: boxes that belong together by class and overlap, whatever
// their order.
#ifndef ASHLAR_TOOLS_REPORT_BOX_DIFFERENCE_H_
#define ASHLAR_TOOLS_REPORT_BOX_DIFFERENCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "serialization/npz.h"
#include "tools/json_output.h"

namespace ashlar {

struct Detection {
  double box[4] = {};  // x and y of two corners
  double score = 0;
  int64_t label = 0;
};

// Returns the detections of a model's outputs: {.., 4} boxes with scores and perhaps integer labels
// of the same leading dimensions, or one output {.., 6} of boxes, score and label.
// InvalidArgument lists the outputs if they hold no detections.
absl::StatusOr<std::vector<Detection>> DetectionsOf(const NamedTensors& outputs);

struct BoxDifference {
  int64_t matched = 0;
  std::vector<Detection> only_actual, only_reference;  // above the score
  double least_overlap = 1;                            // intersection over union of matched boxes
  double score_difference = 0;                         // the largest of matched boxes
  bool ok() const { return only_actual.empty() && only_reference.empty(); }
};

// Two boxes match if they have one label and overlap by half or more; the best scores choose first.
// Boxes above `score` need a match among all boxes of the other side.
BoxDifference CompareBoxes(const std::vector<Detection>& actual,
                           const std::vector<Detection>& reference, double score);

std::string BoxLine(const BoxDifference& difference, double score);
Json BoxDocument(const BoxDifference& difference, double score);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_BOX_DIFFERENCE_H_
