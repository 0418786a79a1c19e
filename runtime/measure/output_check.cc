#include "runtime/measure/output_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ashlar {
namespace {

constexpr double kRounded = 0.5, kUnrounded = 0.01;

bool Agree(const HostTensor& expected, const HostTensor& got, double tolerance) {
  double largest = 0;
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    const double value = std::abs(expected.At(i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    const double value = expected.At(i);
    if (!std::isfinite(value)) continue;
    if (!(std::abs(got.At(i) - value) <= tolerance * largest)) return false;  // also if it is NaN
  }
  return true;
}

}  // namespace

OutputCheck::OutputCheck(std::vector<HostTensor> expected, bool rounds)
    : expected_(std::move(expected)), tolerance_(rounds ? kRounded : kUnrounded) {}

bool OutputCheck::Agrees(const std::vector<HostTensor>& outputs) const {
  for (size_t i = 0; i < expected_.size(); ++i) {
    if (!Agree(expected_[i], outputs[i], tolerance_)) return false;
  }
  return true;
}

}  // namespace ashlar
