#include "serialization/onnx/import/table.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "serialization/onnx/import/counted.h"

namespace ashlar {
namespace {

using Family = absl::Span<const OnnxRow> (*)();
// Their rows say themselves whether they take Float64.
constexpr Family kFamilies[] = {OnnxBoxRows, OnnxConvolutionRows, OnnxQuantizationRows,
                                OnnxQuantizedFunctionRows, OnnxSamplingRows};
// All rows of these families become operators that have kernels of Float64.
constexpr Family kFamiliesOfDoubles[] = {
    OnnxAttentionRows,       OnnxBlockRows,   OnnxConstantRows,  OnnxContribRows,
    OnnxEinsumRows,          OnnxFeatureRows, OnnxFourierRows,   OnnxIndexRows,
    OnnxLinearAttentionRows, OnnxLossRows,    OnnxNgramRows,     OnnxNormalisationRows,
    OnnxOptimizerRows,       OnnxOrderRows,   OnnxPaddingRows,   OnnxPoolingRows,
    OnnxProductRows,         OnnxRandomRows,  OnnxRecurrentRows, OnnxReductionRows,
    OnnxResizeRows,          OnnxRotaryRows,  OnnxSequenceRows,  OnnxShapeRows,
    OnnxTensorSequenceRows,  OnnxTreeRows,    OnnxUniqueRows,
};
// The same of elements alone, with broadcasting.
constexpr Family kFamiliesOfElements[] = {OnnxActivationRows, OnnxArithmeticRows, OnnxLogicRows};

// Imports a function of opr/base/scalar_functions.h whose parameters are the attributes.
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
    for (const Family family : kFamilies) {
      for (const OnnxRow& row : family()) all->push_back(row);
    }
    for (const Family family : kFamiliesOfDoubles) {
      for (const OnnxRow& row : family()) all->push_back(row.OfDoubles());
    }
    for (const Family family : kFamiliesOfElements) {
      for (const OnnxRow& row : family())
        all->push_back(row.OfDoubles().CountedTwice(CountedElements));
    }
    const size_t explicit_rows = all->size();
    for (const ScalarRow& row : scalar_rows::kRows) {
      if (row.onnx == nullptr) continue;
      const bool listed =
          std::any_of(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(explicit_rows),
                      [&](const OnnxRow& other) {
                        return other.run != nullptr && std::strcmp(other.type, row.onnx) == 0;
                      });
      if (listed) continue;
      all->push_back(OnnxRow(row.onnx, row.arity, row.arity, ScalarFunctionOf)
                         .OfDoubles()
                         .CountedTwice(CountedElements));
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
    // Prefers a row that runs to one that only folds.
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
