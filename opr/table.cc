#include "opr/table.h"

#include "opr/immutable_tensor.h"
#include "opr/relayout_format.h"
#include "opr/shared_device_tensor.h"

namespace ashlar {
// Each operator's file defines how it is made.
#define ASHLAR_OPERATOR_ROW(Type, summary) \
  class Type;                              \
  template <>                              \
  absl::StatusOr<OperatorPtr> MakeOperator<Type>(const ParamList& params);
#include "opr/operators.inc"
#undef ASHLAR_OPERATOR_ROW

namespace {

constexpr OperatorRow kOperators[] = {
#define ASHLAR_OPERATOR_ROW(Type, summary) {#Type, summary, MakeOperator<Type>},
#include "opr/operators.inc"
#undef ASHLAR_OPERATOR_ROW
};

class Table final : public OperatorTable {
 public:
  absl::StatusOr<OperatorPtr> Make(absl::string_view type, const ParamList& params) const override {
    for (const OperatorRow& row : kOperators) {
      if (type == row.type) return row.make(params);
    }
    return absl::NotFoundError(
        absl::StrCat("unknown operator type '", type.substr(0, 64), "' (`ashlar ops` lists them)"));
  }
  OperatorPtr MakeConstant(HostTensor value) const override {
    return std::make_shared<const ImmutableTensor>(std::move(value));
  }
  OperatorPtr MakeState(HostTensor value) const override {
    return std::make_shared<const SharedDeviceTensor>(std::move(value));
  }
  OperatorPtr MakeRelayout(Format format) const override {
    return std::make_shared<const RelayoutFormat>(RelayoutFormatParam{format});
  }
};

}  // namespace

absl::Span<const OperatorRow> OperatorRows() { return kOperators; }

const OperatorTable& Operators() {
  static const Table* const table = new Table();
  return *table;
}

}  // namespace ashlar
