// Products and convolutions in panels: each computes a part of the output from a part of the
// weights.
#ifndef ASHLAR_OPR_PANEL_AXES_H_
#define ASHLAR_OPR_PANEL_AXES_H_

#include <optional>
#include <vector>

#include "graph/operator.h"

namespace ashlar {

// The axes along which an output, and the inputs that make it, are cut into panels.
struct PanelAxes {
  int output = 0;
  std::vector<int> inputs;  // -1: each panel reads the whole input
};

// Returns the axes along which `op`, unchanged, computes its output panel by panel: channels of a
// convolution of one group, columns of a product. nullopt: it cannot.
std::optional<PanelAxes> PanelAxesOf(const Operator& op, const Site& site);

// The same for operators whose output channels depend on the same channel of input 0 alone, which
// is then cut, too: depthwise convolutions.
std::optional<PanelAxes> ChannelAxesOf(const Operator& op, const Site& site);

}  // namespace ashlar

#endif  // ASHLAR_OPR_PANEL_AXES_H_
