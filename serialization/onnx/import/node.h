// An ONNX node being imported: its attributes and inputs, and the operators it becomes.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_NODE_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_NODE_H_

#include <onnx/onnx_pb.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "opr/elemwise.h"
#include "opr/table.h"
#include "serialization/onnx/external_data.h"
#include "serialization/onnx/import/import.h"

namespace ashlar {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The values of a node's outputs, in order; usually one.
struct OnnxVars : std::vector<OnnxVar> {
  using vector::vector;
  OnnxVars(OnnxVar var) { push_back(var); }
};

// A node being imported. After an error, calls do nothing and Finish returns the first error:
// InvalidArgument if the model is wrong, Unimplemented if Ashlar lacks something. Vars made after
// an error still have a type.
class OnnxNode {
 public:
  // `outputs` says which outputs have readers.
  OnnxNode(const onnx::NodeProto& proto, int64_t version, std::vector<OnnxVar> inputs,
           std::vector<bool> outputs, OnnxImport& import, ExternalData& external)
      : proto_(proto),
        version_(version),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        import_(import),
        external_(external) {}

  // Returns the same node with other inputs and only output 0. No pass or kernel may change its
  // sums of Float32 products.
  OnnxNode Exactly(std::vector<OnnxVar> inputs) const { return OnnxNode(*this, std::move(inputs)); }
  bool exact() const { return exact_; }

  const std::string& type() const { return proto_.op_type(); }
  int64_t version() const { return version_; }  // of the operator set that the model imports

  // The calls and iterations that the node is in; the name of its first output there.
  const std::string& scope() const { return import_.scope(); }
  std::string first_output() const { return proto_.output_size() > 0 ? proto_.output(0) : ""; }

  // Inputs and outputs up to the last one present. Outputs without readers may be omitted.
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_output(int i) const { return i < num_outputs() && outputs_[i]; }
  bool has(int i) const { return i < num_inputs() && inputs_[i] != kNoOnnxVar; }
  // Reports an error if the input is absent.
  OnnxVar input(int i);
  const std::vector<OnnxVar>& inputs() const { return inputs_; }

  const TensorType& type_of(OnnxVar var) const;
  const Shape& shape(OnnxVar var) const { return type_of(var).shape; }
  DType dtype(OnnxVar var) const { return type_of(var).dtype; }
  int rank(OnnxVar var) const { return shape(var).rank(); }
  // Returns the type of input i in the file; 0 if unknown.
  int onnx_type(int i) { return ok() ? import_.onnx_type(input(i)) : 0; }
  // Returns null if the value is not known before the run.
  const HostTensor* constant(OnnxVar var) const;
  bool all_constant() const;
  // Returns the value of input i, which must be known; `what` names it in errors. After an error,
  // only the result's shape is valid.
  const HostTensor& Known(int i, absl::string_view what);
  // The same as integers (Int32 or Int64, rank 0 or 1), as one number, or as one integer. The
  // integer may be stored as a float if it is whole; any int64_t may come back, so callers limit
  // it.
  std::vector<int64_t> KnownInts(int i, absl::string_view what);
  double KnownNumber(int i, absl::string_view what);
  int64_t KnownInteger(int i, absl::string_view what);

  // Returns the tensors of input i, which must be a sequence; none after an error.
  std::vector<OnnxVar> Sequence(int i);

  // Attributes. An attribute that is never read causes an error in Finish.
  bool has_attribute(absl::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(absl::string_view name, int64_t fallback);
  double Float(absl::string_view name, double fallback);
  std::string Text(absl::string_view name, absl::string_view fallback);
  std::vector<int64_t> Ints(absl::string_view name, std::vector<int64_t> fallback = {});
  std::vector<float> Floats(absl::string_view name);
  std::vector<std::string> Texts(absl::string_view name);
  std::optional<HostTensor> Tensor(absl::string_view name);
  std::optional<HostTensor> SparseTensor(absl::string_view name);
  // Marks attributes as read that do not matter here.
  void Ignore(std::initializer_list<absl::string_view> names);
  // Converts an axis in [-rank, rank) to one in [0, rank).
  int Axis(int64_t axis, int rank);

  // Add an operator, by type and parameters or by class.
  OnnxVars AddOperator(OperatorPtr op, std::vector<OnnxVar> inputs);
  template <typename Op>
  OnnxVar Add(typename Op::Param param, std::vector<OnnxVar> inputs) {
    return AddOperator(std::make_shared<const Op>(std::move(param)), std::move(inputs))[0];
  }
  OnnxVar Constant(HostTensor value) { return import_.AddConstant(std::move(value)); }
  OnnxVar CopyConstant(OnnxVar constant) { return import_.CopyConstant(constant); }
  OnnxVar AddSequence(std::vector<OnnxVar> elements) {
    return import_.AddSequence(std::move(elements));
  }
  OnnxVar Scalar(double value, DType dtype);
  OnnxVar Integer(int64_t value);  // Int64, rank 0
  OnnxVar IntVector(absl::Span<const int64_t> values);
  // Returns a tensor to fill in, or nullopt if it would be too large.
  std::optional<HostTensor> NewTensor(DType dtype, absl::Span<const int64_t> dims);

  // Adds a scalar function. Numbers take the dtype of the other operand.
  OnnxVar Function(ScalarFunction function, std::vector<OnnxVar> inputs,
                   ScalarParameters parameters = {});
  OnnxVar Sum(OnnxVar a, OnnxVar b) { return Function(ScalarFunction::kAdd, {a, b}); }
  OnnxVar Difference(OnnxVar a, OnnxVar b) { return Function(ScalarFunction::kSub, {a, b}); }
  OnnxVar Product(OnnxVar a, OnnxVar b) { return Function(ScalarFunction::kMul, {a, b}); }
  OnnxVar Quotient(OnnxVar a, OnnxVar b) { return Function(ScalarFunction::kTrueDiv, {a, b}); }
  OnnxVar Sum(OnnxVar a, double b) { return b == 0 ? a : Sum(a, Scalar(b, dtype(a))); }
  OnnxVar Product(OnnxVar a, double b) { return b == 1 ? a : Product(a, Scalar(b, dtype(a))); }
  OnnxVar Greatest(OnnxVar a, double b) {
    return Function(ScalarFunction::kMax, {a, Scalar(b, dtype(a))});
  }
  OnnxVar Least(OnnxVar a, double b) {
    return Function(ScalarFunction::kMin, {a, Scalar(b, dtype(a))});
  }
  // Reshapes the var; does nothing if the shape is the same. If the first dimension is the var's
  // own, it will follow changes of the model's input shapes.
  OnnxVar Reshaped(OnnxVar var, const Shape& shape);
  // The same, but dimension `deduced` is inferred from the others; -1: none is.
  OnnxVar ReshapedTo(OnnxVar var, const Shape& shape, int deduced);
  OnnxVar Permuted(OnnxVar var, std::vector<int64_t> pattern);  // Dimshuffle
  OnnxVar Converted(OnnxVar var, DType dtype);
  // Adds elements before and after axis `axis`; negative numbers remove elements.
  OnnxVar Padded(OnnxVar var, int axis, int64_t before, int64_t behind, double value = 0);
  OnnxVar Resized(OnnxVar var, int axis, int64_t size);  // the same, at the end
  // Repeats the var along dimensions of size 1.
  OnnxVar BroadcastTo(OnnxVar var, const Shape& shape);

  OnnxVar Fail(absl::Status status);
  OnnxVar Invalid(absl::string_view message) { return Fail(absl::InvalidArgumentError(message)); }
  OnnxVar Unsupported(absl::string_view message) { return Fail(absl::UnimplementedError(message)); }
  bool ok() const { return status_.ok(); }
  // Returns the first error, or an error for an attribute that was never read.
  absl::Status Finish() const;

  // Returns the operator that produces the var, and its inputs; null if there is none.
  const Operator* producer(OnnxVar var) const { return import_.producer(var); }
  absl::Span<const OnnxVar> operands(OnnxVar var) const { return import_.operands(var); }
  // The size of a var that depends on data; null if there is none. The range of its elements; null
  // if it does not depend on counts alone, or the var is a constant.
  const OnnxCount* count(OnnxVar var) const {
    return var == kNoOnnxVar ? nullptr : import_.count(var);
  }
  const OnnxRange* range(OnnxVar var) const {
    return var == kNoOnnxVar || constant(var) != nullptr ? nullptr : import_.range(var);
  }
  // Returns the var with a count, or of that size if it is known before the run; another var if
  // readers of this one must not see it.
  OnnxVar Counted(OnnxVar var, const OnnxCount& count);
  // The same for up to two counts.
  std::vector<OnnxCount> counts(OnnxVar var) const;
  OnnxVar WithCounts(OnnxVar var, std::vector<OnnxCount> counts);
  void SetRange(OnnxVar var, OnnxRange range) {
    if (ok()) import_.SetRange(var, std::move(range));
  }
  OnnxVar guard() const { return import_.guard(); }
  // Computes with another var instead of the input.
  void SetInput(int i, OnnxVar var) { inputs_[static_cast<size_t>(i)] = var; }
  // Whether the option --bound names this node or an output of it.
  bool has_bound() { return Bound(kNoBound) != kNoBound; }
  // Returns how many places to plan for: the option --bound for an output of this node, or all.
  int64_t Bound(int64_t all);
  static constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();
  const OnnxQuantity* quantity(OnnxVar var) const { return import_.quantity(var); }
  void SetQuantity(OnnxVar var, const OnnxQuantity& quantity) {
    if (ok()) import_.SetQuantity(var, quantity);
  }

 private:
  OnnxNode(const OnnxNode& other, std::vector<OnnxVar> inputs)
      : proto_(other.proto_),
        version_(other.version_),
        inputs_(std::move(inputs)),
        outputs_{true},
        import_(other.import_),
        external_(other.external_),
        exact_(true) {}

  // Returns the var, or another one with its value if this one is read elsewhere.
  OnnxVar Unread(OnnxVar var);
  const onnx::AttributeProto* Find(absl::string_view name) const;
  // Returns the attribute if it exists with this type.
  const onnx::AttributeProto* Read(absl::string_view name,
                                   onnx::AttributeProto::AttributeType type);

  const onnx::NodeProto& proto_;
  const int64_t version_;
  std::vector<OnnxVar> inputs_;
  const std::vector<bool> outputs_;
  OnnxImport& import_;
  ExternalData& external_;
  const bool exact_ = false;
  absl::flat_hash_set<std::string> asked_for_;
  absl::Status status_;
};

// Adds operators that compute the node's outputs, and returns the outputs, or as many as exist.
using OnnxImportFunction = OnnxVars (*)(OnnxNode& node);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_NODE_H_
