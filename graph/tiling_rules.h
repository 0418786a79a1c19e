// How an operator is tiled, that is computed region by region: one of the groups of questions that
// an Operator answers.
#ifndef ASHLAR_GRAPH_TILING_RULES_H_
#define ASHLAR_GRAPH_TILING_RULES_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "graph/region.h"
#include "graph/rewrite_rules.h"
#include "graph/site.h"

namespace ashlar {

// Unless overridden, an operator is computed as a whole. Asked of operators with one output only:
// one with several ends a tiled segment.
class TilingRules {
 public:
  // By input, the region that a region of the output depends on, clipped to the input and never
  // empty; what it gives for inputs that are not device values has no meaning. nullopt where the
  // operator needs more than a part of a dimension that the region cuts: it then ends a tiled
  // segment.
  virtual std::optional<std::vector<Region>> InputRegions(const Region& /*output*/,
                                                          const Site& /*site*/) const {
    return std::nullopt;
  }
  // The reverse: the hull of the elements of the output that depend on a region of input `input`,
  // not clipped to the output and perhaps empty.
  virtual std::optional<Region> OutputRegion(int /*input*/, const Region& /*region*/,
                                             const Site& /*site*/) const {
    return std::nullopt;
  }
  // Whether AtRegion reads an image where it lies in one that is larger in dimensions 2 and 3.
  virtual bool CropsInput(int /*input*/) const { return false; }
  // The operator that makes `output` of the output out of the regions `given` of the inputs: those
  // that InputRegions names, or larger ones where CropsInput allows it. Operands of the replacement
  // come from `this` (Operand::From::kProducer) or are constants. nullopt: this operator does it.
  virtual std::optional<Replacement> AtRegion(const Region& /*output*/,
                                              absl::Span<const Region> /*given*/,
                                              const Site& /*site*/) const {
    return std::nullopt;
  }

 protected:
  ~TilingRules() = default;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_TILING_RULES_H_
