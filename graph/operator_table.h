// Creates operators by name. The implementation is in opr/; passes and loaders create operators
// through this interface.
#ifndef ASHLAR_GRAPH_OPERATOR_TABLE_H_
#define ASHLAR_GRAPH_OPERATOR_TABLE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/operator.h"

namespace ashlar {

class OperatorTable {
 public:
  virtual ~OperatorTable() = default;
  // Errors: NotFound for an unknown type; InvalidArgument for parameters that do not parse.
  virtual absl::StatusOr<OperatorPtr> Make(absl::string_view type,
                                           const ParamList& params) const = 0;
  virtual OperatorPtr MakeConstant(HostTensor value) const = 0;
  // Makes a Role::kState operator with this first value.
  virtual OperatorPtr MakeState(HostTensor value) const = 0;
  // Makes the operator that copies its input into another storage format.
  virtual OperatorPtr MakeRelayout(Format format) const = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_OPERATOR_TABLE_H_
