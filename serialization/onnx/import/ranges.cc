#include "serialization/onnx/import/ranges.h"

#include <algorithm>

#include "serialization/onnx/import/values.h"

namespace ashlar {
namespace {

constexpr int64_t kMostElements = 4096;  // of a range: shapes, not data

bool IsNegative(const HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (tensor.At(i) < 0) return true;
  }
  return false;
}

bool IsPositive(const HostTensor& tensor) {
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (!(tensor.At(i) > 0)) return false;
  }
  return true;
}

// The element that meets element i of `count` in all, without broadcasting but of one element;
// nullopt if it is not that simple.
std::optional<int64_t> Meeting(const HostTensor& tensor, int64_t i, int64_t count) {
  if (tensor.num_elements() == 1) return 0;
  return tensor.num_elements() == count ? std::optional<int64_t>(i) : std::nullopt;
}

using Ranges = std::vector<OnnxRange>;

// Calls `each` for every element of the output and the elements of the inputs that it is made of.
template <typename Each>
std::vector<OnnxRange> ElementByElement(const Ranges& inputs, HostTensor shaped, const Each& each) {
  OnnxRange range = {HostTensor::Zeros(shaped.dtype(), shaped.shape()),
                     HostTensor::Zeros(shaped.dtype(), shaped.shape())};
  const int64_t count = shaped.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> at;
    for (const OnnxRange& input : inputs) {
      const std::optional<int64_t> meets = Meeting(input.least, i, count);
      if (!meets) return {};
      at.push_back(*meets);
    }
    each(i, at, range);
  }
  return {std::move(range)};
}

std::vector<OnnxRange> Equal(const Ranges& in, HostTensor shaped) {
  return ElementByElement(
      in, std::move(shaped), [&](int64_t i, const std::vector<int64_t>& at, OnnxRange& range) {
        const double a_least = in[0].least.At(at[0]), a_most = in[0].most.At(at[0]);
        const double b_least = in[1].least.At(at[1]), b_most = in[1].most.At(at[1]);
        range.least.Set(i, a_least == a_most && b_least == b_most && a_least == b_least);
        range.most.Set(i, a_least <= b_most && b_least <= a_most);
      });
}

std::vector<OnnxRange> Where(const Ranges& in, HostTensor shaped) {
  return ElementByElement(
      in, std::move(shaped), [&](int64_t i, const std::vector<int64_t>& at, OnnxRange& range) {
        const bool never = in[0].most.At(at[0]) == 0, always = in[0].least.At(at[0]) != 0;
        const size_t first = never ? 2 : 1, last = always ? 1 : 2;
        CopyElement(in[first].least, at[first], range.least, i);
        CopyElement(in[first].most, at[first], range.most, i);
        if (first == last) return;
        if (in[last].least.At(at[last]) < range.least.At(i)) {
          CopyElement(in[last].least, at[last], range.least, i);
        }
        if (in[last].most.At(at[last]) > range.most.At(i)) {
          CopyElement(in[last].most, at[last], range.most, i);
        }
      });
}

}  // namespace

std::vector<OnnxRange> OnnxRangesOf(OnnxRangeRule rule, const std::vector<OnnxVar>& inputs,
                                    const OnnxImport& import, const OnnxAtInputs& evaluate) {
  if (rule == OnnxRangeRule::kUnknown) return {};
  Ranges ranges;
  std::vector<HostTensor> least, most;
  for (const OnnxVar input : inputs) {
    if (input == kNoOnnxVar) return {};
    const HostTensor* const value = import.constant(input);
    const OnnxRange* const range = import.range(input);
    if (import.count(input) != nullptr || (value == nullptr && range == nullptr)) return {};
    ranges.push_back(value != nullptr ? OnnxRange{*value, *value} : *range);
    if (ranges.back().least.num_elements() > kMostElements) return {};
    least.push_back(ranges.back().least);
    most.push_back(ranges.back().most);
  }
  const bool negative = std::any_of(least.begin(), least.end(), IsNegative);
  const bool binary = inputs.size() == 2;
  if (rule == OnnxRangeRule::kProduct && negative) return {};
  if (rule == OnnxRangeRule::kQuotient &&
      (!binary || negative || import.constant(inputs[1]) == nullptr || !IsPositive(least[1]))) {
    return {};
  }
  if (rule == OnnxRangeRule::kDifference) {
    if (!binary) return {};
    std::swap(least[1], most[1]);
  }
  const std::vector<HostTensor> low = evaluate(least), high = evaluate(most);
  if (low.empty() || low.size() != high.size()) return {};
  if (rule == OnnxRangeRule::kEqual) return Equal(ranges, low[0]);
  if (rule == OnnxRangeRule::kWhere) return Where(ranges, low[0]);
  Ranges result;
  for (size_t i = 0; i < low.size(); ++i) {
    if (low[i].shape() != high[i].shape()) return {};
    result.push_back({low[i], high[i]});
  }
  return result;
}

}  // namespace ashlar
