#include "runtime/plan/tiling/tiling_trials.h"

#include <algorithm>
#include <set>
#include <utility>

namespace ashlar {
namespace {

constexpr int64_t kFirstStrips = 32;  // at most

}  // namespace

int IdOf(const Graph& graph, const GraphCut& cut) {
  return graph.node(graph.var(cut.var).producer).id;
}

int64_t RowsOf(const TensorType& type) { return type.shape.rank() == 4 ? type.shape[2] : 0; }

int64_t RowsOf(const Graph& graph, absl::Span<const GraphCut> cuts, size_t cut, size_t other) {
  const std::vector<int> passing = cuts[other].vars();
  int64_t rows = 0, most = 0;
  for (const int var : cuts[cut].vars()) {
    const int64_t of_var = RowsOf(graph.var(var).type);
    most = std::max(most, of_var);
    if (std::find(passing.begin(), passing.end(), var) == passing.end()) {
      rows = std::max(rows, of_var);
    }
  }
  return rows > 0 ? rows : most;
}

TilingTrial FirstTrial(const Graph& graph, absl::Span<const GraphCut> cuts, size_t i, size_t j,
                       int64_t images) {
  const int64_t strips =
      std::min({2 * RowsOf(graph, cuts, j, i), RowsOf(graph, cuts, i, j), kFirstStrips});
  return {i, j, TileKind::kLines, strips, 1, images};
}

std::vector<TilingTrial> FirstTrials(const Graph& graph, absl::Span<const GraphCut> cuts, size_t i,
                                     size_t j, int64_t images, bool recompute, bool lines) {
  std::vector<TilingTrial> trials;
  const TensorType& made = graph.var(cuts[j].var).type;
  const int64_t rows = RowsOf(graph, cuts, j, i), read = RowsOf(graph, cuts, i, j);
  if (recompute) {
    const int64_t columns = RowsOf(made) > 0 ? made.shape[3] : 0;
    for (const int64_t strips : std::set<int64_t>{2, 4, 8}) {
      if (strips > rows) break;
      if (strips < 8) trials.push_back({i, j, TileKind::kRows, strips, 1, images});
      trials.push_back({i, j, TileKind::kGrid, strips, std::min(columns, strips), images});
    }
    return trials;
  }
  // Strips of one row of the input or of the output, or few rows of a large input.
  const int64_t few = read / 2 > kMostStrips ? kMostStrips : read / 2;
  for (const int64_t strips : std::set<int64_t>{rows, few, read}) {
    if (strips < 2 || strips > read) continue;
    trials.push_back({i, j, TileKind::kRolling, strips, 1, images});
    if (lines) trials.push_back({i, j, TileKind::kLines, strips, 1, images});
  }
  return trials;
}

std::vector<TilingTrial> RefinedTrials(const Graph& graph, absl::Span<const GraphCut> cuts,
                                       size_t i, size_t j, int64_t images, bool rolling) {
  std::vector<TilingTrial> trials;
  // Rows of the output and of the input: a mean has one row, but may read many.
  const int64_t rows = RowsOf(graph, cuts, j, i), read = RowsOf(graph, cuts, i, j);
  for (const int64_t strips : std::set<int64_t>{rows / 4, rows / 2, rows, 2 * rows, 4 * rows,
                                                8 * rows, read / 4, read / 2, read}) {
    trials.push_back({i, j, TileKind::kLines, strips, 1, images});
    if (rolling) trials.push_back({i, j, TileKind::kRolling, strips, 1, images});
  }
  for (const int64_t strips : {2, 3, 4}) {
    trials.push_back({i, j, TileKind::kRows, strips, 1, images});
    trials.push_back({i, j, TileKind::kGrid, strips, strips, images});
  }
  return trials;
}

std::vector<TilingTrial> TrialsOfAllKinds(const Graph& graph, absl::Span<const GraphCut> cuts,
                                          int64_t images, bool rolling) {
  std::vector<TilingTrial> trials;
  for (const int64_t some : std::set<int64_t>{1, images}) {
    for (size_t j = 1; j < cuts.size(); ++j) {
      const TensorType& made = graph.var(cuts[j].var).type;
      const int64_t columns = made.shape.rank() == 4 ? made.shape[3] : 0;
      for (size_t i = 0; i < j; ++i) {
        const int64_t rows = RowsOf(graph, cuts, i, j);
        for (const int64_t strips : std::set<int64_t>{2, rows / 2, rows}) {
          trials.push_back({i, j, TileKind::kLines, strips, 1, some});
          if (rolling) trials.push_back({i, j, TileKind::kRolling, strips, 1, some});
        }
        for (const int64_t strips : std::set<int64_t>{2, 3, 4, RowsOf(made)}) {
          trials.push_back({i, j, TileKind::kRows, strips, 1, some});
          trials.push_back({i, j, TileKind::kGrid, strips, std::min(columns, strips), some});
        }
      }
    }
  }
  return trials;
}

std::vector<TilingTrial> TrialsOfBranches(const Graph& graph, absl::Span<const GraphCut> cuts,
                                          int64_t images) {
  std::vector<TilingTrial> trials;
  const size_t end = cuts.size() - 1;
  for (size_t i = 0; i < end; ++i) {
    if (!cuts[i].also.empty()) continue;
    for (const Binding& output : graph.outputs()) {
      const int from = IdOf(graph, cuts[i]);
      const int to = graph.node(graph.var(output.var).producer).id;
      const auto add = [&](TileKind kind, int64_t count, int64_t count_width) {
        if (count < 2) return;
        const TileSegment segment{from, to, kind, count, count_width, {}};
        trials.push_back({i, end, kind, count, count_width, images, segment});
        if (kind == TileKind::kBatch || images == 1) return;
        const TileSegment batch{from, to, TileKind::kBatch, images, 1, {segment}};
        trials.push_back({i, end, TileKind::kBatch, images, 1, images, batch});
      };
      add(TileKind::kBatch, images, 1);
      const int64_t rows = RowsOf(graph.var(cuts[i].var).type);
      for (const int64_t strips : std::set<int64_t>{2, rows / 2, rows}) {
        add(TileKind::kLines, strips, 1);
      }
      for (const int64_t strips : {2, 3, 4}) {
        add(TileKind::kRows, strips, 1);
        add(TileKind::kGrid, strips, strips);
      }
    }
  }
  return trials;
}

}  // namespace ashlar
