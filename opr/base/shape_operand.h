// Tiling of operators whose input 1 is their target shape.
#ifndef ASHLAR_OPR_BASE_SHAPE_OPERAND_H_
#define ASHLAR_OPR_BASE_SHAPE_OPERAND_H_

#include <memory>

#include "graph/region.h"
#include "opr/base/operands.h"

namespace ashlar {

// Returns the operator with default parameters, on its input 0 and the shape of an output region.
template <typename Op>
Replacement WithShapeOf(const Region& output) {
  const Shape shape = ShapeOf(output);
  HostTensor target = HostTensor::FromValues<int64_t>(DType::kInt64, {shape.rank()}, shape.dims());
  return {std::make_shared<const Op>(typename Op::Param()),
          {FromProducer(0), ConstantOperand(std::move(target))}};
}

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_SHAPE_OPERAND_H_
