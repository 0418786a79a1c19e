#include "opr/non_max_suppression.h"

#include <algorithm>

#include "opr/base/comes_before.h"
#include "opr/counted.h"

namespace ashlar {
namespace {

struct Side {
  float low, high;
};

Side SideOf(const float* box, int axis, bool centers) {
  if (centers) return {box[axis] - box[axis + 2] / 2, box[axis] + box[axis + 2] / 2};
  return {std::min(box[axis], box[axis + 2]), std::max(box[axis], box[axis + 2])};
}

// Whether the common part is more than `overlap` of the union; never for boxes without an area.
bool Covers(const float* a, const float* b, bool centers, float overlap) {
  float common = 1, area_a = 1, area_b = 1;
  for (const int axis : {0, 1}) {
    const Side one = SideOf(a, axis, centers), other = SideOf(b, axis, centers);
    const float length = std::min(one.high, other.high) - std::max(one.low, other.low);
    if (!(length > 0)) return false;
    common *= length;
    area_a *= one.high - one.low;
    area_b *= other.high - other.low;
  }
  const float both = area_a + area_b - common;
  return common > 0 && area_a > 0 && area_b > 0 && both > 0 && common / both > overlap;
}

}  // namespace

ASHLAR_MAKE_FROM_PARAMS(NonMaxSuppression)

absl::StatusOr<std::vector<TensorType>> NonMaxSuppression::Infer(
    absl::Span<const InputInfo> inputs) const {
  if (inputs.size() != 3) ASHLAR_RETURN_IF_ERROR(CheckInputCount(inputs, 2));
  const TensorType& boxes = inputs[0].type;
  const TensorType& scores = inputs[1].type;
  const auto is_image = [](const TensorType& type) {
    return type.dtype == DType::kFloat32 && type.shape.rank() == 3;
  };
  if (!is_image(boxes) || !is_image(scores) || boxes.shape[2] != 4 ||
      boxes.shape[0] != scores.shape[0] || boxes.shape[1] != scores.shape[2]) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs are ", boxes.ToString(), " and ", scores.ToString(),
                     ", expected boxes {n,b,4} and scores {n,c,b} of Float32"));
  }
  if (inputs.size() == 3 &&
      (inputs[2].type.dtype != DType::kInt64 || inputs[2].type.shape != Shape{})) {
    return absl::InvalidArgumentError(
        absl::StrCat("input 2 is ", inputs[2].type.ToString(), ", expected a count, Int64{}"));
  }
  if (param().at_most < 0 || param().at_most > scores.shape.num_elements() ||
      param().most_per_class < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("at_most is ", param().at_most, " and most_per_class ", param().most_per_class,
                     ", expected 0 to ", scores.shape.num_elements(), " and at least 0"));
  }
  return std::vector<TensorType>{{DType::kInt64, {param().at_most, 3}}, {DType::kInt64, {}}};
}

absl::Status NonMaxSuppression::Take(const NonMaxSuppressionParam& param, const Boxes& from,
                                     int64_t* order, int64_t* taken, int64_t* count) {
  const auto overlap = static_cast<float>(param.overlap);
  const auto threshold = static_cast<float>(param.threshold);
  const int64_t boxes = std::clamp<int64_t>(from.count, 0, from.boxes);
  int64_t* const kept = order + from.boxes;
  int64_t found = 0;
  for (int64_t row = 0; row < from.images * from.classes; ++row) {
    const int64_t image = row / from.classes;
    const float* const scores = from.scores + row * from.boxes;
    const float* const corners = from.corners + image * from.boxes * 4;
    int64_t candidates = 0;
    for (int64_t i = 0; i < boxes; ++i) {
      if (param.as_any || scores[i] > threshold) order[candidates++] = i;
    }
    std::sort(order, order + candidates,
              [&](int64_t i, int64_t j) { return ComesBefore(true, scores[i], i, scores[j], j); });
    int64_t keeps = 0;
    for (int64_t i = 0; i < candidates && keeps < param.most_per_class; ++i) {
      const float* const box = corners + order[i] * 4;
      const bool covered = std::any_of(kept, kept + keeps, [&](int64_t better) {
        return Covers(box, corners + better * 4, param.centers, overlap);
      });
      if (covered) continue;
      if (found == param.at_most) return MoreThanPlanned(param.at_most);
      kept[keeps++] = order[i];
      taken[found * 3] = image;
      taken[found * 3 + 1] = row % from.classes;
      taken[found * 3 + 2] = order[i];
      ++found;
    }
  }
  std::fill(taken + found * 3, taken + param.at_most * 3, int64_t{-1});
  *count = found;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<HostTensor>> NonMaxSuppression::Evaluate(
    absl::Span<const HostTensor> inputs) const {
  const Shape& scores = inputs[1].shape();
  HostTensor taken = HostTensor::Zeros(DType::kInt64, {param().at_most, 3});
  HostTensor count = HostTensor::Zeros(DType::kInt64, {});
  std::vector<int64_t> order(static_cast<size_t>(2 * scores[2]));
  ASHLAR_RETURN_IF_ERROR(Take(
      param(),
      {scores[0], scores[1], scores[2], inputs[0].data<float>().data(),
       inputs[1].data<float>().data(), inputs.size() > 2 ? inputs[2].IntegerAt(0) : scores[2]},
      order.data(), taken.mutable_data<int64_t>().data(), count.mutable_data<int64_t>().data()));
  return std::vector<HostTensor>{std::move(taken), std::move(count)};
}

int64_t NonMaxSuppression::Computation(const Site& site) const {
  return site.inputs[1].type.shape.num_elements();
}

}  // namespace ashlar
