#include "serialization/tflite/import/table.h"

namespace ashlar {

const TfliteRow* FindTfliteRow(tflite::BuiltinOperator code) {
  using Family = absl::Span<const TfliteRow> (*)();
  constexpr Family kFamilies[] = {TfliteArithmeticRows, TfliteConvolutionRows, TflitePoolingRows,
                                  TfliteProductRows,    TfliteReductionRows,   TfliteResizeRows,
                                  TfliteShapeRows,      TfliteSliceRows};
  for (const Family family : kFamilies) {
    for (const TfliteRow& row : family()) {
      if (row.code == code) return &row;
    }
  }
  return nullptr;
}

}  // namespace ashlar
