// Declarations of an operator's answers about parts of its tensors (graph/operator.h).
#ifndef ASHLAR_OPR_REGIONS_H_
#define ASHLAR_OPR_REGIONS_H_

#include "opr/base.h"

// The parts of the inputs that a part of the output needs, and the operator that makes it of them.
#define ASHLAR_CUTS_OUTPUT()                                                                \
  std::optional<std::vector<Region>> InputRegions(const Region& output, const Site& site)   \
      const override;                                                                       \
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given, \
                                      const Site& site) const override;

// The same, and the part of the output that a part of an input reaches.
#define ASHLAR_CUTS_OUTPUT_AND_INPUT()                                                  \
  ASHLAR_CUTS_OUTPUT()                                                                  \
  std::optional<Region> OutputRegion(int input, const Region& region, const Site& site) \
      const override;

#endif  // ASHLAR_OPR_REGIONS_H_
