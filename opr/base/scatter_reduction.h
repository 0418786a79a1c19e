// Combines an element with an update, for every device.
#ifndef ASHLAR_OPR_BASE_SCATTER_REDUCTION_H_
#define ASHLAR_OPR_BASE_SCATTER_REDUCTION_H_

#include "opr/base/anywhere.h"

namespace ashlar {

// How an element is combined with an update. With kNone, the last of several updates wins.
enum class ScatterReduction { kNone, kAdd, kMul, kMax, kMin };

// Returns the element after an update; Number is double, or WrappingInt for integers.
template <typename Number>
ASHLAR_ANYWHERE_CONSTEXPR Number Updated(ScatterReduction reduction, Number element,
                                         Number update) {
  switch (reduction) {
    case ScatterReduction::kNone:
      return update;
    case ScatterReduction::kAdd:
      return element + update;
    case ScatterReduction::kMul:
      return element * update;
    case ScatterReduction::kMax:
      return element < update || update != update ? update : element;
    case ScatterReduction::kMin:
      break;
  }
  return update < element || update != update ? update : element;
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_SCATTER_REDUCTION_H_
