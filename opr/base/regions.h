// Macros that declare an operator's tiling rules (graph/tiling_rules.h).
#ifndef ASHLAR_OPR_BASE_REGIONS_H_
#define ASHLAR_OPR_BASE_REGIONS_H_

#include "opr/base/base.h"

// Declares InputRegions and AtRegion.
#define ASHLAR_CUTS_OUTPUT()                                                                \
  std::optional<std::vector<Region>> InputRegions(const Region& output, const Site& site)   \
      const override;                                                                       \
  std::optional<Replacement> AtRegion(const Region& output, absl::Span<const Region> given, \
                                      const Site& site) const override;

// Declares OutputRegion, too.
#define ASHLAR_CUTS_OUTPUT_AND_INPUT()                                                  \
  ASHLAR_CUTS_OUTPUT()                                                                  \
  std::optional<Region> OutputRegion(int input, const Region& region, const Site& site) \
      const override;

#endif  // ASHLAR_OPR_BASE_REGIONS_H_
