#include "serialization/onnx/import_table.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace ashlar {
namespace {

constexpr absl::Span<const OnnxRow> (*kFamilies[])() = {
    OnnxActivationRows,     OnnxArithmeticRows,    OnnxAttentionRows,
    OnnxConstantRows,       OnnxContribRows,       OnnxConvolutionRows,
    OnnxIndexRows,          OnnxLogicRows,         OnnxLossRows,
    OnnxEinsumRows,         OnnxRotaryRows,        OnnxSequenceRows,
    OnnxTensorSequenceRows, OnnxNormalisationRows, OnnxOrderRows,
    OnnxPaddingRows,        OnnxPoolingRows,       OnnxProductRows,
    OnnxQuantizationRows,   OnnxRecurrentRows,     OnnxReductionRows,
    OnnxResizeRows,         OnnxSamplingRows,      OnnxShapeRows,
    OnnxBlockRows,          OnnxFourierRows,       OnnxQuantizedFunctionRows,
};

// A function of opr/scalar_functions.h whose parameters are the attributes.
OnnxVars ScalarFunctionOf(OnnxNode& node) {
  node.Ignore({"consumed_inputs"});
  for (size_t i = 0; i < kNumScalarFunctions; ++i) {
    const ScalarFunction function = static_cast<ScalarFunction>(i);
    const ScalarRow& row = RowOf(function);
    if (row.onnx == nullptr || node.type() != row.onnx) continue;
    ScalarParameters parameters = {};
    for (int p = 0; p < row.num_parameters; ++p) {
      parameters[p] = node.Float(row.parameters[p], row.defaults[p]);
    }
    return node.Function(function, node.inputs(), parameters);
  }
  return node.Unsupported("no scalar function");
}

const std::vector<OnnxRow>& Rows() {
  static const std::vector<OnnxRow>* const rows = [] {
    auto* all = new std::vector<OnnxRow>();
    for (const auto& family : kFamilies) {
      for (const OnnxRow& row : family()) all->push_back(row);
    }
    const size_t explicit_rows = all->size();
    for (const ScalarRow& row : scalar_rows::kRows) {
      if (row.onnx == nullptr) continue;
      const bool listed =
          std::any_of(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(explicit_rows),
                      [&](const OnnxRow& other) {
                        return other.run != nullptr && std::strcmp(other.type, row.onnx) == 0;
                      });
      if (!listed) all->emplace_back(row.onnx, row.arity, row.arity, ScalarFunctionOf);
    }
    return all;
  }();
  return *rows;
}

}  // namespace

const OnnxRow* FindOnnxRow(absl::string_view domain, absl::string_view type, int64_t version) {
  const OnnxRow* found = nullptr;
  for (const OnnxRow& row : Rows()) {
    if (type != row.type || domain != row.domain) continue;
    if (version < row.since || version > row.until) continue;
    // A row that only folds gives way to one that runs.
    if (found == nullptr || found->run == nullptr) found = &row;
  }
  return found;
}

std::vector<OnnxRow> AllOnnxRows() {
  std::vector<OnnxRow> rows = Rows();
  std::stable_sort(rows.begin(), rows.end(), [](const OnnxRow& a, const OnnxRow& b) {
    return std::make_tuple(absl::string_view(a.domain), absl::string_view(a.type), a.since) <
           std::make_tuple(absl::string_view(b.domain), absl::string_view(b.type), b.since);
  });
  return rows;
}

}  // namespace ashlar
