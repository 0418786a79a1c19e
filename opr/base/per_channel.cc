#include "opr/base/per_channel.h"

namespace ashlar {

std::optional<std::vector<double>> PerChannel(const InputInfo& info, int64_t channels) {
  if (info.value == nullptr || !info.value->has_data()) return std::nullopt;
  const Shape& shape = info.type.shape;
  const int64_t elements = shape.num_elements();
  const int channel_axis = shape.rank() - 3;  // dimensions are aligned at the end
  const bool one_each =
      elements == channels && channel_axis >= 0 && shape[channel_axis] == channels;
  if (shape.rank() > 4 || (elements != 1 && !one_each)) return std::nullopt;
  std::vector<double> values(channels);
  for (int64_t c = 0; c < channels; ++c) values[c] = info.value->At(elements == 1 ? 0 : c);
  return values;
}

}  // namespace ashlar
