// A TensorFlow Lite operator being imported: its inputs and options, and the operators it becomes.
#ifndef ASHLAR_SERIALIZATION_TFLITE_IMPORT_NODE_H_
#define ASHLAR_SERIALIZATION_TFLITE_IMPORT_NODE_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "opr/base/output_type.h"
#include "opr/elemwise.h"
#include "serialization/tflite/file.h"
#include "serialization/tflite/import/graph.h"

namespace ashlar {

// The order of a value's dimensions: the file's, or {N,C,H,W} for {N,H,W,C} in the file.
enum class TfliteLayout { kFile, kImage };

// A tensor of the file as vars in either layout. The second one is added when it is asked for, so
// that operators on images follow one another without permutations.
struct TfliteTensor {
  TfliteVar file = kNoTfliteVar, image = kNoTfliteVar;
  // If the tensor is an image with zeros around it: the image {N,C,H,W} without, and the rows above
  // and below, the columns before and after. A convolution takes them as its padding.
  TfliteVar inner = kNoTfliteVar;
  std::array<int64_t, 4> zeros = {};
  TfliteVar& in(TfliteLayout layout) { return layout == TfliteLayout::kFile ? file : image; }
  bool empty() const { return file == kNoTfliteVar && image == kNoTfliteVar; }
};

// 8-bit weights with zero point 0, and their scales: one, or one for each index of `axis`.
struct TfliteWeights {
  HostTensor bytes;
  std::vector<float> scales;
};

// After an error, calls do nothing and status() is the first error: InvalidArgument if the model is
// wrong, Unimplemented if Ashlar lacks something. Vars made after an error still have a type.
class TfliteNode {
 public:
  TfliteNode(const TfliteFile& file, const tflite::Operator& op, std::vector<TfliteTensor>& tensors,
             TfliteGraph& graph)
      : file_(file), op_(op), tensors_(tensors), graph_(graph) {}

  tflite::BuiltinOperator code() const { return file_.code(op_); }
  std::string name() const { return file_.NameOf(op_); }
  // Returns the options of the operator's kind; null, with an error, if the file has none.
  template <typename Table>
  const Table* Options() {
    const Table* const options = op_.builtin_options_as<Table>();
    if (options == nullptr && ok()) Invalid("has no options of its kind");
    return options;
  }

  int num_inputs() const { return op_.inputs() == nullptr ? 0 : op_.inputs()->size(); }
  int num_outputs() const { return op_.outputs() == nullptr ? 0 : op_.outputs()->size(); }
  bool has(int i) const { return i < num_inputs() && op_.inputs()->Get(i) >= 0; }

  // Returns input i, quantised if the file says so. Reports an error if it is absent.
  TfliteVar Input(int i, TfliteLayout layout = TfliteLayout::kFile);
  // Returns a sparse constant with its zeros.
  TfliteVar Densified(int i);
  TfliteVar Image(int i) { return Input(i, TfliteLayout::kImage); }
  // Returns the layout in which the inputs are at hand: kImage if one exists only so.
  TfliteLayout LayoutOf(absl::Span<const int> inputs);
  TfliteLayout LayoutOf(int input) { return LayoutOf(absl::Span<const int>(&input, 1)); }
  // Returns input i to be broadcast with others in a layout.
  TfliteVar Operand(int i, TfliteLayout layout);
  // Returns the axis of the layout for an axis in [-rank, rank) of the file.
  int Axis(int64_t axis, int rank, TfliteLayout layout = TfliteLayout::kFile);
  // Sets output o. Converts it to the dtype and quantisation that the file declares.
  void Result(int o, TfliteVar var, TfliteLayout layout = TfliteLayout::kFile);
  // Notes that output o is an image with zeros around it, by dimension of the layout.
  void NoteZeros(int o, TfliteVar inner, TfliteLayout layout, absl::Span<const int64_t> before,
                 absl::Span<const int64_t> after);
  TfliteTensor& TensorOf(int input) { return tensors_[static_cast<size_t>(InputIndex(input))]; }

  const TensorType& type(TfliteVar var) const;
  const Shape& shape(TfliteVar var) const { return type(var).shape; }
  int rank(TfliteVar var) const { return shape(var).rank(); }
  const HostTensor* constant(TfliteVar var) const;
  // Returns input i as integers known before the run (Int32 or Int64); `what` names it in errors.
  std::vector<int64_t> Ints(int i, absl::string_view what);
  int64_t Int(int i, absl::string_view what);

  // Returns whether the input or output has a quantised type of 8 bits.
  bool IsQuantizedInput(int i) { return ok() && IsQuantized(type(Input(i)).dtype); }
  std::optional<OutputType> QuantizedOutput(int o);
  // Returns the quantised weights of a constant input; nullopt if there are none. `channels` is the
  // axis of several scales.
  std::optional<TfliteWeights> Weights(int i, int channels);
  // Returns the real numbers of input i as Float32.
  TfliteVar Floats(int i, TfliteLayout layout = TfliteLayout::kFile);
  // Returns input i as it is if it has a quantised type of 8 bits, otherwise its real numbers.
  TfliteVar Numbers(int i, TfliteLayout layout = TfliteLayout::kFile) {
    return IsQuantizedInput(i) ? Input(i, layout) : Floats(i, layout);
  }
  // Returns the quantised integers minus their zero point, as Float32.
  TfliteVar Centred(TfliteVar quantized);
  // Returns round(steps) + zero point in the type of output o.
  TfliteVar FromSteps(TfliteVar steps, const OutputType& output);
  // Returns the tensor in another quantised type.
  TfliteVar Requantized(TfliteVar quantized, const OutputType& output);
  // Applies a table of integers by the input's (byte_tables.h).
  TfliteVar Looked(TfliteVar quantized, const OutputType& output, std::vector<int64_t> table);
  // Returns the same integers as the dtype that stores them, and back as a quantised type.
  TfliteVar Stored(TfliteVar quantized);
  TfliteVar Reinterpreted(TfliteVar stored, const TensorType& like);

  // Add operators.
  std::vector<TfliteVar> AddOperator(OperatorPtr op, std::vector<TfliteVar> inputs);
  template <typename Op>
  TfliteVar Add(typename Op::Param param, std::vector<TfliteVar> inputs) {
    return AddOperator(std::make_shared<const Op>(std::move(param)), std::move(inputs))[0];
  }
  TfliteVar Function(ScalarFunction function, std::vector<TfliteVar> inputs,
                     ScalarParameters parameters = {});
  TfliteVar Constant(HostTensor value) { return graph_.AddConstant(std::move(value)); }
  TfliteVar Scalar(double value, DType dtype = DType::kFloat32);
  TfliteVar IntVector(absl::Span<const int64_t> values);
  TfliteVar Reshaped(TfliteVar var, const Shape& shape);
  TfliteVar Permuted(TfliteVar var, std::vector<int64_t> pattern);
  TfliteVar Converted(TfliteVar var, DType dtype);
  // Applies a fused activation.
  TfliteVar Activated(TfliteVar var, tflite::Activation activation);

  TfliteVar Fail(absl::Status status);
  template <typename... Parts>
  TfliteVar Invalid(const Parts&... parts) {
    return Fail(absl::InvalidArgumentError(absl::StrCat(parts...)));
  }
  template <typename... Parts>
  TfliteVar Unsupported(const Parts&... parts) {
    return Fail(absl::UnimplementedError(absl::StrCat(parts...)));
  }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  int InputIndex(int i) const { return op_.inputs()->Get(i); }
  size_t OutputIndex(int o) const { return static_cast<size_t>(op_.outputs()->Get(o)); }
  TfliteVar DeclaredAs(int tensor, TfliteVar var);

  const TfliteFile& file_;
  const tflite::Operator& op_;
  std::vector<TfliteTensor>& tensors_;
  TfliteGraph& graph_;
  absl::Status status_;
};

// Returns the patterns of Dimshuffle from one layout to the other.
std::vector<int64_t> TflitePattern(TfliteLayout to);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_IMPORT_NODE_H_
