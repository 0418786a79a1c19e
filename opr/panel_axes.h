// Products and convolutions in panels: each computes a part of the output from a part of the
// weights.
#ifndef ASHLAR_OPR_PANEL_AXES_H_
#define ASHLAR_OPR_PANEL_AXES_H_

#include <cstdint>
#include <memory>
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

// The same for operators whose channels are computed in several groups, of which each reads a group
// of channels of input 0. That is then cut, too: grouped and depthwise convolutions. Every input
// has an equal part of its extent for each group.
struct GroupAxes : PanelAxes {
  int64_t groups = 0;
};
std::optional<GroupAxes> GroupAxesOf(const Operator& op, const Site& site);

// A convolution of one group as a sum over groups of its input's channels. Each operator reads a
// part of the image, the same part of the filter, and a bias; all but the first also the sum of the
// operator before. Sums of 8-bit integers are QuantizedS32 until the last operator rounds them.
struct ChannelSums {
  std::shared_ptr<const Operator> first, next, last;
};
// Returns nullopt for other operators, and if sums that are not finished would be rounded.
std::optional<ChannelSums> ChannelSumsOf(const Operator& op, const Site& site);

}  // namespace ashlar

#endif  // ASHLAR_OPR_PANEL_AXES_H_
