#include "tools/difference.h"

#include <algorithm>
#include <cmath>

#include "graph/parse.h"

namespace ashlar {
namespace {

// An integer exactly.
__int128 IntegerOf(const HostTensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kUint64) return tensor.data<uint64_t>()[i];
  return tensor.IntegerAt(i);
}

// Returns the difference of two elements; exact for integers, even if doubles would round.
double Distance(const HostTensor& actual, const HostTensor& reference, int64_t i) {
  if (!IsFloat(actual.dtype()) && !IsFloat(reference.dtype())) {
    return std::abs(static_cast<double>(IntegerOf(actual, i) - IntegerOf(reference, i)));
  }
  // Beside a float, an integer keeps its digits.
  const auto element = [i](const HostTensor& tensor) -> long double {
    return IsFloat(tensor.dtype()) ? tensor.At(i) : static_cast<long double>(IntegerOf(tensor, i));
  };
  const long double a = element(actual), r = element(reference);
  if (a == r || (std::isnan(a) && std::isnan(r))) return 0;
  const auto distance = static_cast<double>(std::abs(a - r));
  return std::isnan(distance) ? INFINITY : distance;
}

double Ratio(double difference, double scale) {
  if (difference == 0) return 0;
  return scale == 0 ? INFINITY : difference / scale;
}

}  // namespace

absl::StatusOr<Metric> ParseMetric(absl::string_view name) {
  return ParseName<Metric>(name, {{"elemwise", Metric::kElementwise},
                                  {"max", Metric::kMax},
                                  {"nmse", Metric::kNmse},
                                  {"cosine", Metric::kCosine}});
}

Json DifferenceDocument(absl::string_view name, const Difference& difference) {
  return {{"name", name},
          {"max_abs", difference.max_abs},
          {"max_rel", difference.max_rel},
          {"nmse", difference.nmse},
          {"cosine", difference.cosine},
          {"ok", difference.ok}};
}

Difference Compare(const HostTensor& actual, const HostTensor& reference,
                   const Tolerance& tolerance) {
  Difference result;
  double largest = 0, square_error = 0, square_sum = 0, actual_sum = 0, product_sum = 0;
  for (int64_t i = 0; i < reference.num_elements(); ++i) {
    if (std::isfinite(reference.At(i))) largest = std::max(largest, std::abs(reference.At(i)));
  }
  const bool scaled = tolerance.atol_of_largest && largest > 0;
  const double atol = tolerance.atol * (scaled ? std::min(1.0, largest) : 1.0);
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
                  (distance == 0 || distance <= atol + tolerance.rtol * std::abs(r));
    square_error += distance * distance;
    if (std::isfinite(r)) square_sum += r * r;
    if (std::isfinite(a)) actual_sum += a * a;
    if (std::isfinite(a) && std::isfinite(r)) product_sum += a * r;
  }
  const double lengths = std::sqrt(actual_sum) * std::sqrt(square_sum);
  if (actual_sum > 0 || square_sum > 0) result.cosine = lengths > 0 ? product_sum / lengths : 0;
  result.max_rel = Ratio(result.max_abs, largest);
  result.nmse = Ratio(square_error, square_sum);
  switch (tolerance.metric) {
    case Metric::kElementwise:
      result.ok = elements_ok;
      break;
    case Metric::kMax:
      result.ok = result.max_abs <= atol + tolerance.rtol * largest;
      break;
    case Metric::kNmse:
      result.ok = std::sqrt(result.nmse) <= tolerance.rtol;
      break;
    case Metric::kCosine:
      result.ok = std::isfinite(result.max_abs) && 1 - result.cosine <= tolerance.rtol;
      break;
  }
  if (tolerance.exact_integers && !IsFloat(actual.dtype())) result.ok = result.max_abs == 0;
  const double count = static_cast<double>(std::max<int64_t>(1, reference.num_elements()));
  if (std::sqrt(square_error / count) > tolerance.rms) result.ok = false;
  if (tolerance.check_finite && !finite) result.ok = false;
  return result;
}

}  // namespace ashlar
