// Measures the difference between a tensor and its reference.
#ifndef ASHLAR_TOOLS_DIFFERENCE_H_
#define ASHLAR_TOOLS_DIFFERENCE_H_

#include <cstdint>
#include <limits>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor.h"
#include "tools/json_output.h"

namespace ashlar {

enum class Metric {
  kElementwise,  // |a - r| <= atol + rtol * |r| for every element
  kMax,          // max |a - r| <= atol + rtol * max |r|
  kNmse,         // sqrt(sum (a - r)^2 / sum r^2) <= rtol
  kCosine,       // 1 - cosine of the angle between a and r <= rtol
};

// Parses "elemwise", "max", "nmse" or "cosine".
absl::StatusOr<Metric> ParseMetric(absl::string_view name);

struct Tolerance {
  Metric metric = Metric::kMax;
  double atol = 1e-6;
  // Scale `atol` by max |r| if that is below 1: then small tensors are compared, too.
  bool atol_of_largest = false;
  // In single precision, logits of 50 layers are off by up to 5e-4. So, relatively, are the
  // probabilities computed from them.
  double rtol = 1e-3;
  // Limits sqrt(mean (a - r)^2), in addition to the metric.
  double rms = std::numeric_limits<double>::infinity();
  bool exact_integers = false;  // integers must be equal, whatever the metric
  bool check_finite = false;    // NaN and infinity are errors even if both sides have them
};

struct Difference {
  double max_abs = 0;  // max |a - r|
  double max_rel = 0;  // max |a - r| / max |r|
  double nmse = 0;     // sum (a - r)^2 / sum r^2
  double cosine = 1;   // sum a r / sqrt(sum a^2 sum r^2); of finite elements. 1 if both are zeros
  int64_t worst = -1;  // the element with the largest |a - r|
  bool ok = true;
};

// Returns an object with the keys name, max_abs, max_rel, nmse, cosine and ok.
Json DifferenceDocument(absl::string_view name, const Difference& difference);

// Compares tensors of equal shape. The difference is infinite if only one side has NaN or infinity,
// and 0 if both sides have the same.
Difference Compare(const HostTensor& actual, const HostTensor& reference,
                   const Tolerance& tolerance);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_DIFFERENCE_H_
