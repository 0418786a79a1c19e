// The loss and accuracy of a model on data that it does not learn from.
#ifndef ASHLAR_TOOLS_VALIDATION_H_
#define ASHLAR_TOOLS_VALIDATION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/training_data.h"
#include "training/training_session.h"

namespace ashlar {

struct Validation {
  static constexpr int64_t kTop = 5;
  int64_t images = 0, classes = 0, correct = 0;
  int64_t in_top = 0;  // of labels among the kTop most likely classes
  double loss = 0;     // mean
};

// Returns whether the labels are classes; otherwise they are tensors like the outputs.
bool LabelsAreClasses(const TrainingSession& session);

// Evaluates these images of the data in batches of `batch` images.
absl::StatusOr<Validation> Validate(TrainingSession& session, const TrainingData& data,
                                    absl::Span<const int64_t> images, int64_t batch);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_VALIDATION_H_
