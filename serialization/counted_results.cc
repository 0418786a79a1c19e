#include "serialization/counted_results.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

// Returns the first `size` places along an axis.
HostTensor FirstOf(const HostTensor& whole, int axis, int64_t size) {
  Shape shape = whole.shape();
  shape[axis] = size;
  HostTensor cut = HostTensor::Zeros(whole.dtype(), shape);
  int64_t outer = 1, inner = SizeOf(whole.dtype());
  for (int i = 0; i < shape.rank(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : shape[i];
  const auto* const from = static_cast<const char*>(whole.raw());
  auto* const to = static_cast<char*>(cut.mutable_raw());
  for (int64_t i = 0; i < outer; ++i) {
    std::memcpy(to + i * size * inner, from + i * whole.shape()[axis] * inner,
                static_cast<size_t>(size * inner));
  }
  return cut;
}

}  // namespace

NamedTensors CutToCounts(NamedTensors outputs) {
  std::map<std::string, int64_t> counts;
  for (const auto& [name, tensor] : outputs) {
    if (tensor.dtype() == DType::kInt64 && tensor.shape().rank() == 0) {
      counts[name] = tensor.IntegerAt(0);
    }
  }
  for (auto& [name, tensor] : outputs) {
    for (int axis = 0; axis < tensor.shape().rank(); ++axis) {
      const auto count =
          counts.find(absl::StrCat(name, ".count", axis == 0 ? "" : absl::StrCat(axis)));
      if (count == counts.end() || count->second < 0 || count->second >= tensor.shape()[axis]) {
        continue;
      }
      tensor = FirstOf(tensor, axis, count->second);
    }
  }
  return outputs;
}

}  // namespace ashlar
