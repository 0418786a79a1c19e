// Estimates the memory of segments between cuts without rewriting them into tiles, so that a search
// evaluates the promising ones first.
#ifndef ASHLAR_RUNTIME_PLAN_TILING_SEGMENT_ESTIMATES_H_
#define ASHLAR_RUNTIME_PLAN_TILING_SEGMENT_ESTIMATES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/plan/tiling/graph_cuts.h"

namespace ashlar {

// Bytes of one image of a segment between cuts `i` < `j`: its ends, the rows that are kept from one
// row of its end to the next, and the rows that one operator reads and makes. nullopt if an
// operator inside needs a whole image, so there are no such tiles.
//
// Kept are the rows that were made and that a later row still reads. Both positions follow from the
// windows of the readers, from the end of the segment to its beginning: beside a chain of windows,
// a skip keeps as many rows as the chain is ahead. Without `skips` the rows of skips are left out,
// since tiles may compute some of them later or again: the estimate is nearer to the least bytes of
// any tiles, and with `skips` nearer to the bytes of usual tiles.
class SegmentEstimates {
 public:
  // All arguments must outlive this.
  SegmentEstimates(const Graph& graph, absl::Span<const int> order,
                   absl::Span<const GraphCut> cuts);

  // In lines, both ends whole; with `rolling`, one end makes room for the other.
  std::optional<int64_t> OfLines(size_t i, size_t j, bool rolling, bool skips);
  // In tiles that recompute, so many beside each other: both ends whole, nothing kept.
  std::optional<int64_t> OfTiles(size_t i, size_t j, int64_t columns = 1) const;
  // In strips that take so many bytes beside the larger end, which makes room for the other.
  int64_t OfAgain(size_t i, size_t j, int64_t bytes) const;
  // The same in tiles that divide the columns. Rows of a tile are stored in their place if images
  // are stored pixel by pixel; otherwise they are tensors until all are joined.
  int64_t OfColumns(size_t i, size_t j, int64_t bytes) const;
  // Returns the number of operators of the segment.
  int64_t Operators(size_t i, size_t j) const { return cuts_[j].position - cuts_[i].position; }

 private:
  // How an operator reads an input: for row `row` of its output it starts at row
  // `begin` + `stride` * `row` of the input and reads `size` rows.
  struct Read {
    int var = -1;
    double begin = 0, stride = 0, size = 0;
  };
  // Rows and bytes that the operator at a position of the order reads and makes for one row of its
  // output.
  struct Step {
    bool has_rows = false;
    int made = -1;    // the var
    int64_t row = 0;  // bytes read anew and made
    std::vector<Read> reads;
  };
  Step StepOf(int node) const;
  // Bytes of the tensors at both ends, and of tensors that pass the segment; 0 for the caller's.
  struct Bytes {
    int64_t read = 0, made = 0, passing = 0;
  };
  Bytes EndsOf(size_t i, size_t j) const;
  int64_t KeptBytes(size_t i, size_t j, bool skips);
  bool HasRows(size_t i, size_t j) const { return whole_before_[j] == whole_before_[i]; }

  const Graph& graph_;
  const absl::Span<const GraphCut> cuts_;
  int64_t images_ = 1;
  std::vector<Step> steps_;        // by position in the order
  std::vector<int> whole_before_;  // by cut: operators that need a whole image, up to it
  std::map<std::tuple<size_t, size_t, bool>, int64_t> kept_;  // KeptBytes that are known
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_TILING_SEGMENT_ESTIMATES_H_
