// Draws the curve of arena against time.
#ifndef ASHLAR_TOOLS_REPORT_FRONTIER_PICTURE_H_
#define ASHLAR_TOOLS_REPORT_FRONTIER_PICTURE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tools/report/frontier.h"

namespace ashlar {

// Returns the indices of the Pareto-optimal points in arena and measured time, the largest arena
// first. Of equal points only the first is returned.
std::vector<size_t> ParetoPoints(absl::Span<const FrontierPoint> points);

// Returns an SVG. Across: the arena (each mark twice the one before). Up: the time from zero.
// Points are numbered, with their time, operations done again and tiles listed below. The line
// shows the least time for each amount of memory. Hollow points are off the line: points that do
// fewer operations than those on it, and the untiled model.
std::string FrontierSvg(const std::string& title, absl::Span<const FrontierPoint> points);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_FRONTIER_PICTURE_H_
