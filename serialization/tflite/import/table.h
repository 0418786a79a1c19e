// The table of TensorFlow Lite operators: one row an operator.
#ifndef ASHLAR_SERIALIZATION_TFLITE_IMPORT_TABLE_H_
#define ASHLAR_SERIALIZATION_TFLITE_IMPORT_TABLE_H_

#include "absl/types/span.h"
#include "serialization/tflite/import/node.h"

namespace ashlar {

// Adds the operators that the node becomes, and sets its outputs.
using TfliteImportFunction = void (*)(TfliteNode& node);

struct TfliteRow {
  static constexpr int kAny = 1 << 20;

  tflite::BuiltinOperator code;
  int min_inputs, max_inputs;
  TfliteImportFunction run;
};

// Returns null if there is none.
const TfliteRow* FindTfliteRow(tflite::BuiltinOperator code);

// The families, each in a file of its own.
absl::Span<const TfliteRow> TfliteArithmeticRows();
absl::Span<const TfliteRow> TfliteConvolutionRows();
absl::Span<const TfliteRow> TflitePoolingRows();
absl::Span<const TfliteRow> TfliteProductRows();
absl::Span<const TfliteRow> TfliteReductionRows();
absl::Span<const TfliteRow> TfliteResizeRows();
absl::Span<const TfliteRow> TfliteShapeRows();
absl::Span<const TfliteRow> TfliteSliceRows();

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_IMPORT_TABLE_H_
