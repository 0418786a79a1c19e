// BitCast: the same bits as elements of another dtype of the same size.
#ifndef ASHLAR_OPR_BIT_CAST_H_
#define ASHLAR_OPR_BIT_CAST_H_

#include "opr/base/aliasing.h"
#include "opr/base/base.h"

namespace ashlar {

struct BitCastParam {
  DType dtype = DType::kInt32;

  template <typename V>
  void Visit(V& v) {
    v("dtype", dtype, DTypeNames());
  }
};

// Input: a tensor of a dtype that is not quantised. To Bool only from Bool, whose elements are 0 or
// 1.
class BitCast final : public OperatorWithParam<BitCastParam> {
 public:
  ASHLAR_OPERATOR("BitCast", "bit_cast")
  Aliasing aliasing(const Site&) const override { return ViewOfInput(); }
};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BIT_CAST_H_
