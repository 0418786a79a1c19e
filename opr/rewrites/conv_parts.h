// Convolutions that are computed in parts, and products as convolutions.
#ifndef ASHLAR_OPR_REWRITES_CONV_PARTS_H_
#define ASHLAR_OPR_REWRITES_CONV_PARTS_H_

#include <optional>

#include "graph/region.h"
#include "graph/rewrite_rules.h"
#include "graph/site.h"
#include "opr/conv_param.h"

namespace ashlar {

// Implements TilingRules::JoinRows for a convolution with these parameters.
std::optional<Replacement> JoinRowsOf(const ConvBiasParam& param, const Range& rows,
                                      const Site& site);

// Returns the parameters of a convolution whose sums are not finished: no activation, and integers
// of 32 bits.
ConvBiasParam Unfinished(ConvBiasParam param);

// Returns the bias of a convolution whose sums have one already.
HostTensor NoBias(const Site& site);

// Returns the filter [outputs, depth, 1, 1] of a known matrix [depth, outputs], or transposed.
HostTensor FilterOfMatrix(const HostTensor& matrix, bool transposed);

// Returns a filter [outputs, depth, 1, 1] as [outputs, channels, rows, columns], for an image of as
// many elements. `axes`: as in RewriteRules::ReadingImage.
HostTensor FilterOfImage(const HostTensor& filter, const Shape& image,
                         absl::Span<const int64_t> axes);

}  // namespace ashlar

#endif  // ASHLAR_OPR_REWRITES_CONV_PARTS_H_
