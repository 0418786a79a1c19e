#include "tools/validation.h"

#include <algorithm>
#include <cmath>

#include "graph/status.h"

namespace ashlar {
namespace {

// Returns whether the label is one of the most likely classes; equal logits count in order.
bool InTop(const float* logits, int64_t classes, int32_t label) {
  int64_t before = 0;
  for (int64_t k = 0; k < classes; ++k) {
    before += logits[k] > logits[label] || (logits[k] == logits[label] && k < label);
  }
  return before < Validation::kTop;
}

// Returns the mean squared error of one image, in double.
double SquaredErrorOf(const float* values, const float* expected, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double difference = static_cast<double>(values[i]) - static_cast<double>(expected[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(count);
}

// Returns the cross entropy of one image, in double.
double CrossEntropyOf(const float* logits, int64_t classes, int32_t label) {
  const double most = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (int64_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(logits[k]) - most);
  return std::log(sum) + most - static_cast<double>(logits[label]);
}

}  // namespace

bool LabelsAreClasses(const TrainingSession& session) {
  return session.graph().labels_type.dtype == DType::kInt32;
}

absl::StatusOr<Validation> Validate(TrainingSession& session, const TrainingData& data,
                                    absl::Span<const int64_t> images, int64_t batch_size) {
  Validation found;
  found.images = static_cast<int64_t>(images.size());
  for (size_t first = 0; first < images.size(); first += static_cast<size_t>(batch_size)) {
    const absl::Span<const int64_t> batch = images.subspan(first, static_cast<size_t>(batch_size));
    data.Fill(batch, session.images(), session.labels());
    ASHLAR_ASSIGN_OR_RETURN(const HostTensor* const logits, session.Evaluate());
    const int64_t classes = found.classes = logits->num_elements() / batch_size;
    for (size_t n = 0; n < batch.size(); ++n) {
      const float* const row = logits->data<float>().data() + static_cast<int64_t>(n) * classes;
      if (!LabelsAreClasses(session)) {
        found.loss += SquaredErrorOf(
            row, static_cast<const float*>(session.labels()) + static_cast<int64_t>(n) * classes,
            classes);
        continue;
      }
      const int32_t label = data.label(batch[n]);
      found.correct += std::max_element(row, row + classes) - row == label;
      found.in_top += InTop(row, classes, label);
      found.loss += CrossEntropyOf(row, classes, label);
    }
  }
  found.loss /= static_cast<double>(found.images);
  return found;
}

}  // namespace ashlar
