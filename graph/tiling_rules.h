// How an operator is computed region by region. Part of the Operator interface.
#ifndef ASHLAR_GRAPH_TILING_RULES_H_
#define ASHLAR_GRAPH_TILING_RULES_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/region.h"
#include "graph/rewrite_rules.h"
#include "graph/site.h"

namespace ashlar {

// By default, an operator is computed as a whole. Called for operators with one output only: an
// operator with several outputs ends a tiled segment.
class TilingRules {
 public:
  // Returns for each input the region that a region of the output depends on, clipped to the input
  // and never empty. Entries of inputs that are no device values have no meaning. nullopt if the
  // region cuts a dimension that the operator needs as a whole; the operator then ends a tiled
  // segment.
  virtual std::optional<std::vector<Region>> InputRegions(const Region& /*output*/,
                                                          const Site& /*site*/) const {
    return std::nullopt;
  }
  // The reverse: returns the hull of the output elements that depend on a region of input `input`.
  // It is not clipped to the output and may be empty.
  virtual std::optional<Region> OutputRegion(int /*input*/, const Region& /*region*/,
                                             const Site& /*site*/) const {
    return std::nullopt;
  }
  // Returns whether AtRegion can read an image inside a larger one (larger in dimensions 2 and 3).
  virtual bool CropsInput(int /*input*/) const { return false; }
  // Returns the operator that computes region `output` from the input regions `given`. These are
  // the regions from InputRegions, or larger ones if CropsInput allows it. Operands of the
  // replacement are inputs of `this` (Operand::From::kProducer) or constants. nullopt: use this
  // operator unchanged.
  virtual std::optional<Replacement> AtRegion(const Region& /*output*/,
                                              absl::Span<const Region> /*given*/,
                                              const Site& /*site*/) const {
    return std::nullopt;
  }
  // For operators whose output, of one row, depends on all rows of input 0: returns an operator
  // that computes the output strip by strip. Its operands are the rows `rows` in place of input 0,
  // other inputs, constants, and, if the rows are not the first, its own output for the rows before
  // (Operand::From::kBefore). For the last rows that is the output. nullopt if the operator cannot
  // be computed like this.
  virtual std::optional<Replacement> JoinRows(const Range& /*rows*/, const Site& /*site*/) const {
    return std::nullopt;
  }

 protected:
  ~TilingRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_RULES_H_
