#include "runtime/plan/tiling/tiling_moves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace ashlar {
namespace {

// A norm of high order weighs the largest steps most.
constexpr double kNormOrder = 8;

double NormOf(const TilingPath& path) {
  double sum = 0;
  for (const TilingWay* way : path) sum += std::pow(static_cast<double>(way->bytes), kNormOrder);
  return sum;
}

// The segments that moves change: all of a tiling, or the inner ones of a split batch.
class Moves {
 public:
  Moves(const FoundTilings& found, const Tiling& tiling) : tiling_(tiling) {
    const std::vector<TileSegment>& list = tiling.spec.segments;
    in_batch_ = !list.empty() && list[0].kind == TileKind::kBatch;
    const std::vector<TileSegment>& segments = in_batch_ ? list[0].inner : list;
    int64_t images = 0;  // of the whole
    for (const TilingWay& way : found.ways) images = std::max(images, way.images);
    parts_ = in_batch_ ? list[0].count : 1;
    for (const TilingWay& way : found.ways) {
      if (way.images == images / parts_) ways_.push_back(&way);
    }
    size_t end = 0;
    for (const TilingWay& way : found.ways) end = std::max(end, way.end);
    if (in_batch_) {
      const auto last = std::find(found.cuts.begin(), found.cuts.end(), list[0].to);
      end = last == found.cuts.end() ? 0 : static_cast<size_t>(last - found.cuts.begin());
    }
    size_t at = 0;
    for (const TileSegment& segment : segments) {
      const auto way = std::find_if(ways_.begin(), ways_.end(),
                                    [&](const TilingWay* w) { return w->segment == segment; });
      if (way == ways_.end() || (*way)->begin < at || !Whole(at, (*way)->begin, path_)) return;
      path_.push_back(*way);
      at = (*way)->end;
    }
    valid_ = at <= end && Whole(at, end, path_);
  }

  std::vector<Tiling> Within(int64_t bytes, double max_extra_flops) const {
    std::vector<std::tuple<size_t, double, Tiling>> ranked;  // rank in its range, norm
    if (!valid_ || path_.empty()) return {};
    std::set<std::string> known = {tiling_.spec.ToString()};  // some ways were tried twice
    std::map<std::pair<size_t, size_t>, std::vector<std::pair<double, Tiling>>> by_range;
    for (const TilingWay* way : ways_) {
      if (way->bytes >= bytes || way->end > path_.back()->end) continue;
      if (std::find(path_.begin(), path_.end(), way) != path_.end()) continue;
      const TilingPath path = With(*way);
      if (path.empty()) continue;
      Tiling tiling = Made(path);
      if (tiling.arena_bytes >= bytes || tiling.extra_flops > max_extra_flops) continue;
      if (!known.insert(tiling.spec.ToString()).second) continue;
      by_range[{way->begin, way->end}].emplace_back(NormOf(path), std::move(tiling));
    }
    for (auto& [range, list] : by_range) {
      std::stable_sort(list.begin(), list.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      for (size_t i = 0; i < list.size(); ++i) {
        ranked.emplace_back(i, list[i].first, std::move(list[i].second));
      }
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
    std::vector<Tiling> tilings;
    for (auto& [rank, norm, tiling] : ranked) tilings.push_back(std::move(tiling));
    return tilings;
  }

 private:
  // Appends the untiled options between two cuts; returns false if one is not known.
  bool Whole(size_t begin, size_t end, TilingPath& path) const {
    for (size_t i = begin; i < end; ++i) {
      const auto way = std::find_if(ways_.begin(), ways_.end(), [&](const TilingWay* w) {
        return w->begin == i && w->end == i + 1 && !w->segment;
      });
      if (way == ways_.end()) return false;
      path.push_back(*way);
    }
    return true;
  }

  // Appends the options that need the least between two cuts, the fastest of equals; returns false
  // if there are none.
  bool Least(size_t begin, size_t end, TilingPath& path) const {
    struct Step {
      int64_t bytes = std::numeric_limits<int64_t>::max();
      double ms = 0;
      const TilingWay* way = nullptr;
    };
    std::vector<Step> steps(end - begin + 1);
    steps[0].bytes = 0;
    for (size_t j = begin + 1; j <= end; ++j) {
      Step& step = steps[j - begin];
      for (const TilingWay* way : ways_) {
        if (way->end != j || way->begin < begin) continue;
        const Step& before = steps[way->begin - begin];
        if (way->begin > begin && before.way == nullptr) continue;
        const int64_t bytes = std::max(before.bytes, way->bytes);
        const double ms = before.ms + way->ms;
        if (std::pair(bytes, ms) < std::pair(step.bytes, step.ms)) step = {bytes, ms, way};
      }
    }
    TilingPath back;
    for (size_t j = end; j > begin; j = back.back()->begin) {
      if (steps[j - begin].way == nullptr) return false;
      back.push_back(steps[j - begin].way);
    }
    path.insert(path.end(), back.rbegin(), back.rend());
    return true;
  }

  // Returns the path with this option in it; empty if there is none.
  TilingPath With(const TilingWay& way) const {
    TilingPath path;
    size_t begin = way.begin, end = way.end;  // of the range that is replaced
    for (const TilingWay* old : path_) {
      if (old->end <= way.begin) path.push_back(old);
      if (old->begin >= way.end || old->end <= way.begin) continue;
      begin = std::min(begin, old->begin);
      end = std::max(end, old->end);
    }
    if (!Least(begin, way.begin, path)) return {};
    path.push_back(&way);
    if (!Least(way.end, end, path)) return {};
    for (const TilingWay* old : path_) {
      if (old->begin >= way.end) path.push_back(old);
    }
    return path;
  }

  // Returns the tiling with this path.
  Tiling Made(const TilingPath& path) const {
    Tiling tiling = tiling_;
    std::vector<TileSegment>& list =
        in_batch_ ? tiling.spec.segments[0].inner : tiling.spec.segments;
    list.clear();
    for (const TilingWay* way : path) {
      if (way->segment) list.push_back(*way->segment);
    }
    const auto parts = static_cast<double>(parts_);
    for (const TilingWay* way : path) {
      tiling.ms += parts * way->ms;
      tiling.extra_flops += parts * way->extra_flops;
    }
    for (const TilingWay* way : path_) {
      tiling.ms -= parts * way->ms;
      tiling.extra_flops -= parts * way->extra_flops;
    }
    tiling.arena_bytes += PeakOf(path) - PeakOf(path_);
    return tiling;
  }

  const Tiling& tiling_;
  bool in_batch_ = false, valid_ = false;
  int64_t parts_ = 1;
  std::vector<const TilingWay*> ways_;  // for the number of images executed together
  TilingPath path_;                     // of `tiling_`
};

}  // namespace

std::vector<Tiling> TilingsNear(const FoundTilings& found, const Tiling& tiling, int64_t bytes,
                                double max_extra_flops) {
  return Moves(found, tiling).Within(bytes, max_extra_flops);
}

}  // namespace ashlar
