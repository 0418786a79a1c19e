#include "tools/report/box_difference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tools/format.h"

namespace ashlar {
namespace {

constexpr double kMatches = 0.5;  // of intersection over union
constexpr int kCorners = 4, kRow = 6;

bool HasLast(const HostTensor& tensor, int64_t size) {
  const Shape& shape = tensor.shape();
  return IsFloat(tensor.dtype()) && shape.rank() >= 2 && shape[shape.rank() - 1] == size;
}

// Returns whether a tensor has an element for each box.
bool IsOfBoxes(const HostTensor& tensor, const HostTensor& boxes) {
  const Shape &shape = tensor.shape(), &of = boxes.shape();
  return shape.rank() + 1 == of.rank() &&
         std::equal(shape.dims().begin(), shape.dims().end(), of.dims().begin());
}

double Overlap(const Detection& a, const Detection& b) {
  const auto area = [](double left, double top, double right, double bottom) {
    return std::max(0.0, right - left) * std::max(0.0, bottom - top);
  };
  const double both = area(std::max(a.box[0], b.box[0]), std::max(a.box[1], b.box[1]),
                           std::min(a.box[2], b.box[2]), std::min(a.box[3], b.box[3]));
  const double sum =
      area(a.box[0], a.box[1], a.box[2], a.box[3]) + area(b.box[0], b.box[1], b.box[2], b.box[3]);
  if (sum > both) return both / (sum - both);
  return std::equal(a.box, a.box + kCorners, b.box) ? 1 : 0;  // without an area
}

// Returns the detections by descending score; the first of equal ones first.
std::vector<size_t> BestFirst(const std::vector<Detection>& detections) {
  std::vector<size_t> order(detections.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return detections[a].score > detections[b].score; });
  return order;
}

}  // namespace

absl::StatusOr<std::vector<Detection>> DetectionsOf(const NamedTensors& outputs) {
  std::vector<Detection> found;
  for (const auto& [name, boxes] : outputs) {
    const bool rows = HasLast(boxes, kRow);
    if (!rows && !HasLast(boxes, kCorners)) continue;
    const HostTensor *scores = nullptr, *labels = nullptr;
    for (const auto& [other, tensor] : outputs) {
      if (!IsOfBoxes(tensor, boxes)) continue;
      (IsFloat(tensor.dtype()) ? scores : labels) = &tensor;
    }
    if (!rows && scores == nullptr) continue;
    const int64_t width = rows ? kRow : kCorners, count = boxes.num_elements() / width;
    for (int64_t i = 0; i < count; ++i) {
      Detection& detection = found.emplace_back();
      for (int k = 0; k < kCorners; ++k) detection.box[k] = boxes.At(i * width + k);
      detection.score = rows ? boxes.At(i * width + kCorners) : scores->At(i);
      if (rows) detection.label = std::llround(boxes.At(i * width + kCorners + 1));
      if (!rows && labels != nullptr) detection.label = labels->IntegerAt(i);
    }
    return found;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the outputs are no boxes {..,4} with scores, and no rows {..,6}: ",
                   absl::StrJoin(outputs, ", ", [](std::string* out, const auto& output) {
                     absl::StrAppend(out, FormatName(output.first), " ",
                                     Name(output.second.dtype()), output.second.shape().ToString());
                   })));
}

BoxDifference CompareBoxes(const std::vector<Detection>& actual,
                           const std::vector<Detection>& reference, double score) {
  BoxDifference difference;
  std::vector<bool> taken(reference.size(), false);
  for (const size_t i : BestFirst(actual)) {
    const Detection& mine = actual[i];
    double best = 0;
    size_t at = 0;
    for (size_t k = 0; k < reference.size(); ++k) {
      if (taken[k] || reference[k].label != mine.label) continue;
      const double overlap = Overlap(mine, reference[k]);
      if (overlap > best) best = overlap, at = k;
    }
    if (best < kMatches) {
      if (mine.score >= score) difference.only_actual.push_back(mine);
      continue;
    }
    taken[at] = true;
    if (std::max(mine.score, reference[at].score) < score) continue;
    ++difference.matched;
    difference.least_overlap = std::min(difference.least_overlap, best);
    difference.score_difference =
        std::max(difference.score_difference, std::abs(mine.score - reference[at].score));
  }
  for (const size_t k : BestFirst(reference)) {
    if (!taken[k] && reference[k].score >= score) difference.only_reference.push_back(reference[k]);
  }
  return difference;
}

std::string BoxLine(const BoxDifference& difference, double score) {
  std::string text = absl::StrFormat(
      "boxes of a score from %g on: %d match, overlap from %.4f on, scores within %.3g", score,
      difference.matched, difference.least_overlap, difference.score_difference);
  const auto append = [&](const char* what, const std::vector<Detection>& only) {
    if (only.empty()) return;
    absl::StrAppendFormat(&text, "; %s alone has %d, the best of class %d with %.4f", what,
                          only.size(), only[0].label, only[0].score);
  };
  append("the model", difference.only_actual);
  append("the reference", difference.only_reference);
  return text + "\n";
}

Json BoxDocument(const BoxDifference& difference, double score) {
  return {{"score", score},
          {"matched", difference.matched},
          {"only_actual", difference.only_actual.size()},
          {"only_reference", difference.only_reference.size()},
          {"least_overlap", difference.least_overlap},
          {"score_difference", difference.score_difference},
          {"ok", difference.ok()}};
}

}  // namespace ashlar
