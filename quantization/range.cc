// Entropy: the Kullback-Leibler divergence between the values and their 8-bit quantisation, as in
// Migacz, "8-bit inference with TensorRT" (2017), here for ranges with two ends.
#include "quantization/range.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"

namespace ashlar {
namespace {

constexpr int kLevels = 256;

// A loss of a range, to be minimized.
using Loss = double (*)(const Histogram& histogram, const ValueRange& range);

double SquaredErrors(const Histogram& histogram, const ValueRange& range) {
  const double step = (range.most - range.least) / (kLevels - 1);
  const double inside = step * step / 12;
  double sum = 0;
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    const double value = histogram.CentreOf(i);
    const double clipped = std::clamp(value, range.least, range.most) - value;
    sum += static_cast<double>(histogram.counts()[i]) * (clipped * clipped + inside);
  }
  return sum;
}

// Bins outside the range are added to the outermost bins. Each level spreads its count evenly over
// its non-empty bins.
double Divergence(const Histogram& histogram, const ValueRange& range) {
  const double step = (range.most - range.least) / (kLevels - 1);
  std::vector<double> clipped(histogram.counts().size(), 0);
  std::vector<double> held(kLevels, 0), bins(kLevels, 0);
  const auto level_of = [&](size_t bin) {
    const double value = std::clamp(histogram.CentreOf(bin), range.least, range.most);
    return static_cast<size_t>(std::clamp(std::round((value - range.least) / step), 0.0, 255.0));
  };
  const double width = (histogram.most() - histogram.least()) / Histogram::kBins;
  double total = 0, inside = 0;
  for (size_t i = 0; i < clipped.size(); ++i) {
    const double value = std::clamp(histogram.CentreOf(i), range.least, range.most);
    const double at = std::floor((value - histogram.least()) / width);
    const double count = static_cast<double>(histogram.counts()[i]);
    clipped[static_cast<size_t>(std::clamp(at, 0.0, Histogram::kBins - 1.0))] += count;
    total += count;
    const bool is_inside = value == histogram.CentreOf(i);
    if (is_inside && count > 0) {
      held[level_of(i)] += count;
      bins[level_of(i)] += 1;
      inside += count;
    }
  }
  if (inside == 0) return std::numeric_limits<double>::infinity();
  constexpr double kNothing = 1e-6;  // for a bin that has values but no share
  double sum = 0;
  for (size_t i = 0; i < clipped.size(); ++i) {
    if (clipped[i] == 0) continue;
    const size_t level = level_of(i);
    const bool has = histogram.counts()[i] > 0 && bins[level] > 0;
    const double q = has ? held[level] / bins[level] / inside : kNothing;
    const double p = clipped[i] / total;
    sum += p * std::log(p / q);
  }
  return sum;
}

// Shrinks both ends towards zero together, then each end alone.
ValueRange LeastLoss(const Histogram& histogram, const ValueRange& whole, Loss loss) {
  constexpr int kSteps = 64;
  ValueRange best = whole;
  double least = loss(histogram, whole);
  const auto offer = [&](const ValueRange& range) {
    if (!(range.most > range.least)) return;
    const double found = loss(histogram, range);
    if (found < least) least = found, best = range;
  };
  for (int i = 1; i < kSteps; ++i) {
    const double share = 1 - static_cast<double>(i) / kSteps;
    offer({whole.least * share, whole.most * share});
  }
  for (const bool low : {true, false}) {
    const ValueRange from = best;
    for (int i = 1; i <= kSteps; ++i) {
      const double share = static_cast<double>(i) / kSteps;
      offer(low ? ValueRange{whole.least * share, from.most}
                : ValueRange{from.least, whole.most * share});
    }
  }
  return best;
}

ValueRange WithoutTails(const Histogram& histogram, const ValueRange& whole, double percentile) {
  const int ends = (whole.least < 0) + (whole.most > 0);
  const double share = (100 - percentile) / 100 / std::max(ends, 1);
  const double most_outside = share * static_cast<double>(histogram.total());
  const std::vector<int64_t>& counts = histogram.counts();
  ValueRange range = whole;
  int64_t below = 0, above = 0;
  for (size_t i = 0; i < counts.size() && range.least < 0; ++i) {
    below += counts[i];
    if (static_cast<double>(below) > most_outside) break;
    range.least = std::min(histogram.CentreOf(i), 0.0);
  }
  for (size_t i = counts.size(); i-- > 0 && range.most > 0;) {
    above += counts[i];
    if (static_cast<double>(above) > most_outside) break;
    range.most = std::max(histogram.CentreOf(i), 0.0);
  }
  return range;
}

}  // namespace

absl::StatusOr<RangeMethod> ParseRangeMethod(absl::string_view name) {
  for (size_t i = 0; i < std::size(kRangeMethodNames); ++i) {
    if (name == kRangeMethodNames[i]) return static_cast<RangeMethod>(i);
  }
  return absl::InvalidArgumentError(absl::StrCat("'", name.substr(0, 64), "', expected one of ",
                                                 absl::StrJoin(kRangeMethodNames, ", ")));
}

Histogram::Histogram(double least, double most) : least_(least), most_(most) {
  if (most > least) counts_.assign(kBins, 0);
}

void Histogram::Add(absl::Span<const float> values) {
  const double bins_per_unit = counts_.empty() ? 0 : kBins / (most_ - least_);
  for (const float value : values) {
    if (value == 0 || counts_.empty()) {
      ++zeros_;
      continue;
    }
    const double bin = (value - least_) * bins_per_unit;
    ++counts_[static_cast<size_t>(std::clamp(bin, 0.0, kBins - 1.0))];
  }
}

int64_t Histogram::total() const {
  int64_t total = zeros_;
  for (const int64_t count : counts_) total += count;
  return total;
}

ValueRange ChooseRange(const Histogram& histogram, RangeMethod method, double percentile) {
  const ValueRange whole = {std::min(histogram.least(), 0.0), std::max(histogram.most(), 0.0)};
  if (histogram.counts().empty()) return whole;
  switch (method) {
    case RangeMethod::kPercentile:
      return WithoutTails(histogram, whole, percentile);
    case RangeMethod::kMse:
      return LeastLoss(histogram, whole, SquaredErrors);
    case RangeMethod::kEntropy:
      return LeastLoss(histogram, whole, Divergence);
    case RangeMethod::kMinMax:
      break;
  }
  return whole;
}

double ClippedShare(const Histogram& histogram, const ValueRange& range) {
  // A range with the bounds of the values clips nothing, whatever the rounding of the last step.
  const double slack = (range.most - range.least) / (kLevels - 1) / 2;
  int64_t outside = 0;
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    const double value = histogram.CentreOf(i);
    if (value < range.least - slack || value > range.most + slack) {
      outside += histogram.counts()[i];
    }
  }
  const int64_t total = histogram.total();
  return total == 0 ? 0 : static_cast<double>(outside) / static_cast<double>(total);
}

absl::StatusOr<TensorType> TypeOfRange(const ValueRange& range, const Shape& shape) {
  constexpr double kLeastScale = 1e-20;
  const double least = std::min(range.least, 0.0), most = std::max(range.most, 0.0);
  const auto scale = static_cast<float>(
      most > least ? std::max((most - least) / (kLevels - 1), kLeastScale) : 1.0);
  const auto zero_point =
      static_cast<int32_t>(std::clamp(std::nearbyint(-least / scale), 0.0, 255.0));
  ASHLAR_ASSIGN_OR_RETURN(Quantization quantization,
                          Quantization::Make(DType::kQuantized8Asymm, {scale}, zero_point));
  return TensorType{DType::kQuantized8Asymm, shape, Format::kDefault, std::move(quantization)};
}

ValueRange RangeOfType(const TensorType& type) {
  const double scale = type.quantization.scale();
  const int32_t zero = type.quantization.zero_point();
  return {(LeastOf(type.dtype) - zero) * scale, (MostOf(type.dtype) - zero) * scale};
}

}  // namespace ashlar
