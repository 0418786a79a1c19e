// Coverage by two-dimensional differences: the work does not depend on the size of a buffer.
#include "memory/svg_raster.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace ashlar::memory {
namespace {

constexpr int kStride = kRasterColumns + 2;

// An interval in units of cells, as the differences of its coverage.
struct Difference {
  int cell[4];
  double change[4];
};

Difference DifferenceOf(double begin, double end, int cells) {
  const int first = std::clamp(static_cast<int>(begin), 0, cells - 1);
  const int last = std::clamp(static_cast<int>(end), 0, cells - 1);
  const double head = begin - first;
  const double tail = end - last;
  return {{first, first + 1, last, last + 1}, {1 - head, head, tail - 1, -tail}};
}

// Returns how much of each cell is occupied; a row has kStride cells.
std::vector<double> Coverage(const Problem& problem, const Plan& plan, const RasterFrame& frame) {
  const double first = static_cast<double>(frame.first);
  const double across = kRasterColumns / (static_cast<double>(frame.last) - first);
  const double up = kRasterRows / static_cast<double>(frame.highest);
  std::vector<double> cover((kRasterRows + 2) * kStride, 0);
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& b = problem.buffers[i];
    const double y = static_cast<double>(plan.offsets[i]) * up;
    const Difference steps =
        DifferenceOf((static_cast<double>(b.lower) - first) * across,
                     (static_cast<double>(b.upper) - first) * across, kRasterColumns);
    const Difference addresses = DifferenceOf(y, y + static_cast<double>(b.size) * up, kRasterRows);
    for (int r = 0; r < 4; ++r) {
      for (int c = 0; c < 4; ++c) {
        cover[addresses.cell[r] * kStride + steps.cell[c]] += addresses.change[r] * steps.change[c];
      }
    }
  }
  for (int r = 0; r < kRasterRows; ++r) {
    for (int c = 1; c < kRasterColumns; ++c) cover[r * kStride + c] += cover[r * kStride + c - 1];
  }
  for (int r = 1; r < kRasterRows; ++r) {
    for (int c = 0; c < kRasterColumns; ++c) cover[r * kStride + c] += cover[(r - 1) * kStride + c];
  }
  return cover;
}

// Adjacent cells of one shade in a row.
struct ShadedRange {
  int begin = 0, end = 0, shade = 0;
  friend auto operator<=>(const ShadedRange&, const ShadedRange&) = default;
};

std::vector<ShadedRange> RangesOf(const double* row) {
  const auto shade = [&](int c) {
    return static_cast<int>(std::lround(std::min(1.0, row[c]) * kRasterShades));
  };
  std::vector<ShadedRange> ranges;
  for (int c = 0; c < kRasterColumns;) {
    int end = c + 1;
    while (end < kRasterColumns && shade(end) == shade(c)) ++end;
    if (shade(c) > 0) ranges.push_back({c, end, shade(c)});
    c = end;
  }
  return ranges;
}

}  // namespace

std::string RasterPaths(const Problem& problem, const Plan& plan, const RasterFrame& frame) {
  const std::vector<double> cover = Coverage(problem, plan, frame);
  std::array<std::string, kRasterShades + 1> paths;
  std::map<ShadedRange, int> open;  // to its first row
  for (int r = 0; r <= kRasterRows; ++r) {
    std::map<ShadedRange, int> next;
    if (r < kRasterRows) {
      for (const ShadedRange& range : RangesOf(&cover[r * kStride])) {
        const auto before = open.find(range);
        next[range] = before == open.end() ? r : before->second;
      }
    }
    for (const auto& [range, row] : open) {
      if (next.count(range) != 0) continue;
      const int width = range.end - range.begin;
      absl::StrAppend(&paths[range.shade], "M", range.begin, " ", row, "h", width, "v", r - row,
                      "h", -width, "z");
    }
    open = std::move(next);
  }
  std::string text;
  for (int shade = 1; shade <= kRasterShades; ++shade) {
    if (paths[shade].empty()) continue;
    absl::StrAppendFormat(&text, "<path opacity=\"%.3f\" d=\"%s\"/>\n",
                          static_cast<double>(shade) / kRasterShades, paths[shade]);
  }
  return text;
}

}  // namespace ashlar::memory
