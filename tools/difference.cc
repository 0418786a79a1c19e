#include "tools/difference.h"

#include <algorithm>
#include <cmath>

#include "tools/parse.h"

namespace ashlar {
namespace {

// Returns the difference of two elements; exact for integers, even if doubles would round.
double Distance(const HostTensor& actual, const HostTensor& reference, int64_t i) {
  const auto integers = [](const HostTensor& tensor) { return !IsFloat(tensor.dtype()); };
  if (integers(actual) && integers(reference)) {
    const __int128 distance = __int128{actual.IntegerAt(i)} - reference.IntegerAt(i);
    return std::abs(static_cast<double>(distance));
  }
  const double a = actual.At(i), r = reference.At(i);
  if (a == r || (std::isnan(a) && std::isnan(r))) return 0;
  const double distance = std::abs(a - r);
  return std::isnan(distance) ? INFINITY : distance;
}

double Ratio(double difference, double scale) {
  if (difference == 0) return 0;
  return scale == 0 ? INFINITY : difference / scale;
}

}  // namespace

absl::StatusOr<Metric> ParseMetric(absl::string_view name) {
  return ParseName<Metric>(
      name, {{"elemwise", Metric::kElementwise}, {"max", Metric::kMax}, {"nmse", Metric::kNmse}});
}

Json DifferenceDocument(absl::string_view name, const Difference& difference) {
  return {{"name", name},
          {"max_abs", difference.max_abs},
          {"max_rel", difference.max_rel},
          {"nmse", difference.nmse},
          {"ok", difference.ok}};
}

Difference Compare(const HostTensor& actual, const HostTensor& reference,
                   const Tolerance& tolerance) {
  Difference result;
  double largest = 0, square_error = 0, square_sum = 0;
  bool elements_ok = true, finite = true;
  for (int64_t i = 0; i < reference.num_elements(); ++i) {
    const double a = actual.At(i), r = reference.At(i);
    const double distance = Distance(actual, reference, i);
    if (distance > result.max_abs || result.worst < 0) {
      result.max_abs = distance;
      result.worst = i;
    }
    finite = finite && std::isfinite(a) && std::isfinite(r);
    elements_ok = elements_ok && std::isfinite(distance) &&
                  (distance == 0 || distance <= tolerance.atol + tolerance.rtol * std::abs(r));
    square_error += distance * distance;
    if (std::isfinite(r)) {
      largest = std::max(largest, std::abs(r));
      square_sum += r * r;
    }
  }
  result.max_rel = Ratio(result.max_abs, largest);
  result.nmse = Ratio(square_error, square_sum);
  switch (tolerance.metric) {
    case Metric::kElementwise:
      result.ok = elements_ok;
      break;
    case Metric::kMax:
      result.ok = result.max_abs <= tolerance.atol + tolerance.rtol * largest;
      break;
    case Metric::kNmse:
      result.ok = std::sqrt(result.nmse) <= tolerance.rtol;
      break;
  }
  if (tolerance.check_finite && !finite) result.ok = false;
  return result;
}

}  // namespace ashlar
