// Operators by name. The table itself is in opr/; passes and loaders make operators through it.
#ifndef ASHLAR_GRAPH_OPERATOR_TABLE_H_
#define ASHLAR_GRAPH_OPERATOR_TABLE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/operator.h"

namespace ashlar {

class OperatorTable {
 public:
  virtual ~OperatorTable() = default;
  // NotFound for an unknown type; InvalidArgument for parameters that do not parse.
  virtual absl::StatusOr<OperatorPtr> Make(absl::string_view type,
                                           const ParamList& params) const = 0;
  virtual OperatorPtr MakeConstant(HostTensor value) const = 0;
  // A Role::kState operator, from its first value.
  virtual OperatorPtr MakeState(HostTensor value) const = 0;
  // The copy of its input in another storage format.
  virtual OperatorPtr MakeRelayout(Format format) const = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_OPERATOR_TABLE_H_
