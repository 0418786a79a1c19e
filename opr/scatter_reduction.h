// What becomes of an element that an update meets, on every device.
#ifndef ASHLAR_OPR_SCATTER_REDUCTION_H_
#define ASHLAR_OPR_SCATTER_REDUCTION_H_

#include "opr/anywhere.h"

namespace ashlar {

// The value of an element that an update meets. With kNone, of several updates of one element
// the last stays.
enum class ScatterReduction { kNone, kAdd, kMul, kMax, kMin };

// The element after an update; Number is double, or WrappingInt for integers.
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

#endif  // ASHLAR_OPR_SCATTER_REDUCTION_H_
