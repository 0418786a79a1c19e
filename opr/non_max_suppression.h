// NonMaxSuppression: the boxes of each class that no better box covers.
#ifndef ASHLAR_OPR_NON_MAX_SUPPRESSION_H_
#define ASHLAR_OPR_NON_MAX_SUPPRESSION_H_

#include <limits>

#include "opr/base/base.h"

namespace ashlar {

struct NonMaxSuppressionParam {
  int64_t most_per_class = 0;  // boxes taken of each class of an image
  int64_t at_most = 0;         // boxes planned for in all; more are an error of the run
  double overlap = 0;          // a box that covers more of the union with a better one is dropped
  // Only boxes with a greater score are taken; as_any: all.
  double threshold = 0;
  bool as_any = false;
  bool centers = false;  // boxes are x, y of the centre, width, height, not y, x, y, x of corners

  template <typename V>
  void Visit(V& v) {
    v("most_per_class", most_per_class);
    v("at_most", at_most);
    v("overlap", overlap);
    v.Optional("threshold", threshold, 0.0);
    v.Optional("as_any", as_any, false);
    v.Optional("centers", centers, false);
  }
};

// Inputs: boxes [images, boxes, 4] and scores [images, classes, boxes], Float32; the count of
// boxes, Int64, may follow. Outputs: image, class and box of each box taken, by image, class and
// falling score, Int64 [at_most, 3], -1 after the count; and the count.
class NonMaxSuppression final : public OperatorWithParam<NonMaxSuppressionParam> {
 public:
  ASHLAR_OPERATOR("NonMaxSuppression", "nms")
  int64_t Computation(const Site& site) const override;

  struct Boxes {
    int64_t images, classes, boxes;
    const float* corners;
    const float* scores;
    int64_t count;  // of `boxes`
  };
  // Writes both outputs; `order` holds 2 integers for each box.
  static absl::Status Take(const NonMaxSuppressionParam& param, const Boxes& from, int64_t* order,
                           int64_t* taken, int64_t* count);
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_NON_MAX_SUPPRESSION_H_
