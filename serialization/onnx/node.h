// A node of an ONNX model on its way in: its attributes and inputs, and the operators it becomes.
#ifndef ASHLAR_SERIALIZATION_ONNX_NODE_H_
#define ASHLAR_SERIALIZATION_ONNX_NODE_H_

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
#include "serialization/onnx/import.h"

namespace ashlar {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The values of a node's outputs, in their order: most often one.
struct OnnxVars : std::vector<OnnxVar> {
  using vector::vector;
  OnnxVars(OnnxVar var) { push_back(var); }
};

// After an error nothing more is done and Finish reports the first one: InvalidArgument where the
// model is wrong, Unimplemented where Ashlar lacks something. Vars made after it have a type that
// may be looked at.
class OnnxNode {
 public:
  // `outputs` are those that something reads.
  OnnxNode(const onnx::NodeProto& proto, int64_t version, std::vector<OnnxVar> inputs,
           std::vector<bool> outputs, OnnxImport& import, ExternalData& external)
      : proto_(proto),
        version_(version),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        import_(import),
        external_(external) {}

  // The same node with other inputs and output 0 alone. Sums of its products stay sums of these
  // Float32 products: no pass and no kernel changes them.
  OnnxNode Exactly(std::vector<OnnxVar> inputs) const { return OnnxNode(*this, std::move(inputs)); }
  bool exact() const { return exact_; }

  const std::string& type() const { return proto_.op_type(); }
  int64_t version() const { return version_; }  // of the operator set that the model imports

  // Inputs and outputs, up to the last that is there. Outputs that nothing reads need not be made.
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  bool has_output(int i) const { return i < num_outputs() && outputs_[i]; }
  bool has(int i) const { return i < num_inputs() && inputs_[i] != kNoOnnxVar; }
  // An error where it is not there.
  OnnxVar input(int i);
  const std::vector<OnnxVar>& inputs() const { return inputs_; }

  const TensorType& type_of(OnnxVar var) const;
  const Shape& shape(OnnxVar var) const { return type_of(var).shape; }
  DType dtype(OnnxVar var) const { return type_of(var).dtype; }
  int rank(OnnxVar var) const { return shape(var).rank(); }
  // The type of input i in the file; 0 where that is not known.
  int onnx_type(int i) { return ok() ? import_.onnx_type(input(i)) : 0; }
  // Null where the value is not known before the run.
  const HostTensor* constant(OnnxVar var) const;
  bool all_constant() const;
  // The value of input i, which must be known; `what` names it. ShapeOnly after an error.
  const HostTensor& Known(int i, absl::string_view what);
  // The same as integers (Int32 or Int64, rank 0 or 1) and as one number.
  std::vector<int64_t> KnownInts(int i, absl::string_view what);
  double KnownNumber(int i, absl::string_view what);

  // The tensors of input i, which must be a sequence; none after an error.
  std::vector<OnnxVar> Sequence(int i);

  // Attributes. One that nobody asks for is an error in the end.
  bool has_attribute(absl::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(absl::string_view name, int64_t fallback);
  double Float(absl::string_view name, double fallback);
  std::string Text(absl::string_view name, absl::string_view fallback);
  std::vector<int64_t> Ints(absl::string_view name, std::vector<int64_t> fallback = {});
  std::vector<float> Floats(absl::string_view name);
  std::vector<std::string> Texts(absl::string_view name);
  std::optional<HostTensor> Tensor(absl::string_view name);
  std::optional<HostTensor> SparseTensor(absl::string_view name);
  // These do not matter here.
  void Ignore(std::initializer_list<absl::string_view> names);
  // An axis in [0, rank), from one in [-rank, rank).
  int Axis(int64_t axis, int rank);

  // The operators, by type and parameters or by class.
  OnnxVars AddOperator(OperatorPtr op, std::vector<OnnxVar> inputs);
  template <typename Op>
  OnnxVar Add(typename Op::Param param, std::vector<OnnxVar> inputs) {
    return AddOperator(std::make_shared<const Op>(std::move(param)), std::move(inputs))[0];
  }
  OnnxVar Constant(HostTensor value) { return import_.AddConstant(std::move(value)); }
  OnnxVar AddSequence(std::vector<OnnxVar> elements) {
    return import_.AddSequence(std::move(elements));
  }
  OnnxVar Scalar(double value, DType dtype);
  OnnxVar IntVector(absl::Span<const int64_t> values);
  // A tensor to be filled; null where it would be too large.
  std::optional<HostTensor> NewTensor(DType dtype, absl::Span<const int64_t> dims);

  // Scalar functions; a number has the dtype of the tensor beside it.
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
  // The same elements under another shape; nothing where it is the same. A first dimension that is
  // the var's follows it when the model gets inputs of other shapes.
  OnnxVar Reshaped(OnnxVar var, const Shape& shape);
  // The same, but dimension `deduced` is what the others leave; -1: all stay as they are.
  OnnxVar ReshapedTo(OnnxVar var, const Shape& shape, int deduced);
  OnnxVar Permuted(OnnxVar var, std::vector<int64_t> pattern);  // Dimshuffle
  OnnxVar Converted(OnnxVar var, DType dtype);
  // So many elements more before axis `axis` and behind it; negative: fewer.
  OnnxVar Padded(OnnxVar var, int axis, int64_t before, int64_t behind, double value = 0);
  // Repeated along dimensions of size 1.
  OnnxVar BroadcastTo(OnnxVar var, const Shape& shape);

  OnnxVar Fail(absl::Status status);
  OnnxVar Invalid(absl::string_view message) { return Fail(absl::InvalidArgumentError(message)); }
  OnnxVar Unsupported(absl::string_view message) { return Fail(absl::UnimplementedError(message)); }
  bool ok() const { return status_.ok(); }
  // The first error, or that of an attribute that nobody asked for.
  absl::Status Finish() const;

  // What made the var, with its inputs; null where no operator did.
  const Operator* producer(OnnxVar var) const { return import_.producer(var); }
  absl::Span<const OnnxVar> operands(OnnxVar var) const { return import_.operands(var); }
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

  const onnx::AttributeProto* Find(absl::string_view name) const;
  // The attribute, if it is there and of this type.
  const onnx::AttributeProto* Read(absl::string_view name,
                                   onnx::AttributeProto::AttributeType type);

  const onnx::NodeProto& proto_;
  const int64_t version_;
  const std::vector<OnnxVar> inputs_;
  const std::vector<bool> outputs_;
  OnnxImport& import_;
  ExternalData& external_;
  const bool exact_ = false;
  absl::flat_hash_set<std::string> asked_for_;
  absl::Status status_;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_NODE_H_
