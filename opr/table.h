// The operator table: the only list of all operators. It is used by parsing, printing, `ashlar
// ops`, tests and benchmarks.
#ifndef ASHLAR_OPR_TABLE_H_
#define ASHLAR_OPR_TABLE_H_

#include "absl/types/span.h"
#include "graph/operator_table.h"

namespace ashlar {

struct OperatorRow {
  const char* type;     // "ConvolutionForward"
  const char* summary;  // one line for `ashlar ops`
  absl::StatusOr<OperatorPtr> (*make)(const ParamList& params);
};

absl::Span<const OperatorRow> OperatorRows();

// Returns the table as an OperatorTable. It is never destroyed.
const OperatorTable& Operators();

}  // namespace ashlar

#endif  // ASHLAR_OPR_TABLE_H_
