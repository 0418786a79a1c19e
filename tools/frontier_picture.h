// The curve of peak against time as a picture.
#ifndef ASHLAR_TOOLS_FRONTIER_PICTURE_H_
#define ASHLAR_TOOLS_FRONTIER_PICTURE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tools/frontier.h"

namespace ashlar {

// Indices of the points that no other beats in arena and measured time, the largest arena first; of
// equal ones the first.
std::vector<size_t> ParetoPoints(absl::Span<const FrontierPoint> points);

// One SVG: arena across (each mark twice the one before), time up from zero, a numbered point for
// each Pareto point and a hollow one for the model without tiles where it is none, and below their
// tiles. The line is the time that so much memory buys.
std::string FrontierSvg(const std::string& title, absl::Span<const FrontierPoint> points);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_FRONTIER_PICTURE_H_
