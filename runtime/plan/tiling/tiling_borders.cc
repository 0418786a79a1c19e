// Local search: takes the largest step of the smallest tiling and moves its boundaries, splits it,
// and merges it with its neighbours, at any cut. Repeats with the tiling that is then smallest.
#include "runtime/plan/tiling/tiling_borders.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "runtime/plan/tiling/tiling_paths.h"

namespace ashlar {
namespace {

constexpr int kRounds = 24;
constexpr int64_t kOperators = 20000;  // limit on the operators of all tiled graphs that are
                                       // evaluated

// Returns ends of segments near a step of `path` and its neighbours: boundaries moved to the
// previous or next cut, the step split at any cut, or merged.
std::set<std::pair<size_t, size_t>> BordersNear(const TilingPath& path, size_t step, size_t last) {
  const size_t i = path[step]->begin, j = path[step]->end;
  const size_t h = step > 0 ? path[step - 1]->begin : i;
  const size_t k = step + 1 < path.size() ? path[step + 1]->end : j;
  std::set<std::pair<size_t, size_t>> ends;
  const auto add = [&](size_t begin, size_t end) {
    if (begin < end && end <= last) ends.insert({begin, end});
  };
  for (const size_t begin : {i - std::min<size_t>(i, 1), i, i + 1}) {
    add(h, begin);
    for (const size_t end : {j - 1, j, j + 1}) add(begin, end);
  }
  for (const size_t begin : {j - 1, j, j + 1}) add(begin, k);
  add(h, j);
  add(i, k);
  add(h, k);
  for (size_t m = i + 1; m < j; ++m) {
    add(i, m);
    add(m, j);
  }
  return ends;
}

}  // namespace

bool MoveBorders(TilingWays& ways, const TileSpec& smallest) {
  const std::vector<TileSegment>& segments = smallest.segments;
  const bool batch = !segments.empty() && segments[0].kind == TileKind::kBatch;
  const int64_t images = batch ? ways.images() / segments[0].count : ways.images();
  size_t last = ways.cuts().size() - 1;
  while (batch && last > 1 && ways.IdOf(last) != segments[0].to) --last;
  int64_t operators = 0;
  bool any = false;
  for (int round = 0; round < kRounds && operators < kOperators; ++round) {
    const TilingPath path =
        TilingPaths(0, last, ways.Between(0, last, images), ways.MostExtraFlops(images)).Smallest();
    const size_t worst = static_cast<size_t>(
        std::max_element(path.begin(), path.end(),
                         [](const auto* a, const auto* b) { return a->bytes < b->bytes; }) -
        path.begin());
    if (worst == path.size()) break;
    std::vector<TilingTrial> trials;
    for (const auto& [i, j] : BordersNear(path, worst, last)) {
      for (TilingTrial& trial : ways.Refinements({i, j, images})) {
        trials.push_back(std::move(trial));
      }
    }
    if (trials.empty()) break;
    for (const TilingTrial& trial : trials) {
      if (trial.kind == TileKind::kRolling) continue;  // has the same operators as lines
      operators += trial.count * trial.count_width *
                   (ways.cuts()[trial.j].position - ways.cuts()[trial.i].position);
    }
    ways.Try(trials);
    any = true;
  }
  return any;
}

}  // namespace ashlar
