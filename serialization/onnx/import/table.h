// The ONNX operators that can be imported, one row each.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_TABLE_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_TABLE_H_

#include <limits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serialization/onnx/import/node.h"
#include "serialization/onnx/import/ranges.h"

namespace ashlar {

// The same when sizes of inputs depend on data: calls `run`, on inputs that suit it, and says how
// the counts of the inputs pass to the outputs.
using OnnxCountedFunction = OnnxVars (*)(OnnxNode& node, OnnxImportFunction run);
// Builds the function that a node calls, for its attributes and inputs; errors as in OnnxNode.
using OnnxBodyFunction = absl::StatusOr<onnx::FunctionProto> (*)(const onnx::NodeProto& call);

struct OnnxRow {
  static constexpr int kAny = std::numeric_limits<int>::max();

  const char* type;
  int min_inputs, max_inputs;
  OnnxImportFunction run;                 // null: constants only, or `body`
  OnnxImportFunction fold = nullptr;      // for constants; null: evaluates the operators of `run`
  int since = 1, until = kAny;            // versions of the operator set
  const char* domain = "";                // "" is ai.onnx
  bool of_sequence = false;               // input 0 is a sequence of tensors
  OnnxCountedFunction counted = nullptr;  // null: refuses inputs whose sizes depend on data
  bool two_counts = false;   // `counted` takes inputs with two sizes that depend on data
  bool takes_bound = false;  // `counted` also plans for a bound that is given
  OnnxRangeRule ranged = OnnxRangeRule::kUnknown;
  bool shape_only = false;          // reads only the shapes of its inputs
  bool doubles = false;             // takes Float64; otherwise it is converted to Float32
  const char* limits = "";          // the supported subset, for the table of operators
  OnnxBodyFunction body = nullptr;  // instead of `run`: a function to call

  constexpr OnnxRow(const char* name, int least, int most, OnnxImportFunction function)
      : type(name), min_inputs(least), max_inputs(most), run(function) {}

 private:
  // Defined before its callers: Clang requires this in constant expressions.
  template <typename T>
  constexpr OnnxRow With(T OnnxRow::*member, T value) const {
    OnnxRow row = *this;
    row.*member = value;
    return row;
  }

 public:
  constexpr OnnxRow Folded(OnnxImportFunction function) const {
    return With(&OnnxRow::fold, function);
  }
  constexpr OnnxRow MadeOf(OnnxBodyFunction function) const {
    return With(&OnnxRow::body, function);
  }
  constexpr OnnxRow Since(int version) const { return With(&OnnxRow::since, version); }
  constexpr OnnxRow Until(int version) const { return With(&OnnxRow::until, version); }
  constexpr OnnxRow Versions(int first, int last) const { return Since(first).Until(last); }
  constexpr OnnxRow In(const char* name) const { return With(&OnnxRow::domain, name); }
  constexpr OnnxRow OfSequence() const { return With(&OnnxRow::of_sequence, true); }
  constexpr OnnxRow Counted(OnnxCountedFunction function) const {
    return With(&OnnxRow::counted, function);
  }
  constexpr OnnxRow CountedTwice(OnnxCountedFunction function) const {
    return Counted(function).With(&OnnxRow::two_counts, true);
  }
  constexpr OnnxRow Bounded() const { return With(&OnnxRow::takes_bound, true); }
  constexpr OnnxRow Ranged(OnnxRangeRule rule) const { return With(&OnnxRow::ranged, rule); }
  constexpr OnnxRow Rising() const { return Ranged(OnnxRangeRule::kRising); }
  constexpr OnnxRow OfShapes() const { return With(&OnnxRow::shape_only, true); }
  constexpr OnnxRow OfDoubles() const { return With(&OnnxRow::doubles, true); }
  constexpr OnnxRow Limits(const char* text) const { return With(&OnnxRow::limits, text); }
};

inline constexpr char kMicrosoftDomain[] = "com.microsoft";  // ONNX Runtime's operators
inline constexpr int64_t kNewestOperatorSet = 28;

// Returns null if there is none.
const OnnxRow* FindOnnxRow(absl::string_view domain, absl::string_view type, int64_t version);
// Returns all rows, by domain and name, including scalar functions that are ONNX operators.
std::vector<OnnxRow> AllOnnxRows();

// The families, each in a file of its own.
absl::Span<const OnnxRow> OnnxActivationRows();
absl::Span<const OnnxRow> OnnxArithmeticRows();
absl::Span<const OnnxRow> OnnxAttentionRows();
absl::Span<const OnnxRow> OnnxBlockRows();
absl::Span<const OnnxRow> OnnxBoxRows();
absl::Span<const OnnxRow> OnnxConstantRows();
absl::Span<const OnnxRow> OnnxContribRows();
absl::Span<const OnnxRow> OnnxConvolutionRows();
absl::Span<const OnnxRow> OnnxEinsumRows();
absl::Span<const OnnxRow> OnnxFeatureRows();
absl::Span<const OnnxRow> OnnxFourierRows();
absl::Span<const OnnxRow> OnnxIndexRows();
absl::Span<const OnnxRow> OnnxLinearAttentionRows();
absl::Span<const OnnxRow> OnnxLogicRows();
absl::Span<const OnnxRow> OnnxLossRows();
absl::Span<const OnnxRow> OnnxNgramRows();
absl::Span<const OnnxRow> OnnxNormalisationRows();
absl::Span<const OnnxRow> OnnxOptimizerRows();
absl::Span<const OnnxRow> OnnxOrderRows();
absl::Span<const OnnxRow> OnnxPaddingRows();
absl::Span<const OnnxRow> OnnxPoolingRows();
absl::Span<const OnnxRow> OnnxProductRows();
absl::Span<const OnnxRow> OnnxQuantizationRows();
absl::Span<const OnnxRow> OnnxQuantizedFunctionRows();
absl::Span<const OnnxRow> OnnxRandomRows();
absl::Span<const OnnxRow> OnnxRecurrentRows();
absl::Span<const OnnxRow> OnnxReductionRows();
absl::Span<const OnnxRow> OnnxResizeRows();
absl::Span<const OnnxRow> OnnxRotaryRows();
absl::Span<const OnnxRow> OnnxSamplingRows();
absl::Span<const OnnxRow> OnnxSequenceRows();
absl::Span<const OnnxRow> OnnxShapeRows();
absl::Span<const OnnxRow> OnnxTensorSequenceRows();
absl::Span<const OnnxRow> OnnxTreeRows();
absl::Span<const OnnxRow> OnnxUniqueRows();

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_TABLE_H_
