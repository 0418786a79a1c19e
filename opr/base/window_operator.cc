#include "opr/base/window_operator.h"

#include <utility>

#include "opr/base/operands.h"

namespace ashlar {

StorageRules WindowOperator::storage_rules(const Site& /*site*/) const {
  return {.format = FormatRule::kBlocked, .precision = PrecisionRule::kLow};
}

std::optional<std::vector<Region>> WindowOperator::InputRegions(const Region& output,
                                                                const Site& site) const {
  const absl::StatusOr<WindowAxes> windows = WindowsOf(site.inputs);
  if (!windows.ok() || output[1] != Range{0, site.outputs[0].shape[1]}) return std::nullopt;
  std::vector<Region> regions;
  for (const InputInfo& input : site.inputs) regions.push_back(WholeRegion(input.type.shape));
  regions[0][0] = output[0];
  regions[0][2] = windows->h.Needed(output[2]);
  regions[0][3] = windows->w.Needed(output[3]);
  return regions;
}

std::optional<Region> WindowOperator::OutputRegion(int input, const Region& region,
                                                   const Site& site) const {
  const absl::StatusOr<WindowAxes> windows = WindowsOf(site.inputs);
  if (!windows.ok() || input != 0) return std::nullopt;
  return Region{region[0],
                {0, site.outputs[0].shape[1]},
                windows->h.Touching(region[2]),
                windows->w.Touching(region[3])};
}

std::optional<Replacement> WindowOperator::AtRegion(const Region& output,
                                                    absl::Span<const Region> given,
                                                    const Site& site) const {
  const absl::StatusOr<WindowAxes> windows = WindowsOf(site.inputs);
  if (!windows.ok()) return std::nullopt;
  const Region& image = given[0];
  const WindowPadding padding = {
      windows->h.PadBefore(output[2], image[2]), windows->h.PadBehind(output[2], image[2]),
      windows->w.PadBefore(output[3], image[3]), windows->w.PadBehind(output[3], image[3])};
  return Replacement{WithPadding(padding), OwnOperands(site.inputs.size())};
}

}  // namespace ashlar
