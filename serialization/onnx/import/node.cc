#include "serialization/onnx/import/node.h"

#include <algorithm>
#include <cmath>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/dimshuffle.h"
#include "opr/expand.h"
#include "opr/pad.h"
#include "opr/reshape.h"
#include "opr/type_cvt.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

using onnx::AttributeProto;

// The type of a var that has none because of an error. Any axis of it may be read.
const TensorType& TypeAfterError() {
  static const TensorType* const type = new TensorType{DType::kFloat32, {1, 1, 1, 1, 1, 1, 1, 1}};
  return *type;
}

// Below IR version 3 attributes may lack a type.
AttributeProto::AttributeType TypeOf(const AttributeProto& attribute) {
  if (attribute.type() != AttributeProto::UNDEFINED) return attribute.type();
  if (attribute.has_f()) return AttributeProto::FLOAT;
  if (attribute.has_i()) return AttributeProto::INT;
  if (attribute.has_s()) return AttributeProto::STRING;
  if (attribute.has_t()) return AttributeProto::TENSOR;
  if (attribute.floats_size() > 0) return AttributeProto::FLOATS;
  if (attribute.ints_size() > 0) return AttributeProto::INTS;
  return AttributeProto::UNDEFINED;
}

// Returns the value of an attribute, or an error that names it.
std::optional<HostTensor> ValueOf(OnnxNode& node, absl::string_view name,
                                  absl::StatusOr<HostTensor> value) {
  if (value.ok()) return *std::move(value);
  node.Fail(Annotate(value.status(), absl::StrCat("attribute '", name, "'")));
  return std::nullopt;
}

}  // namespace

OnnxVar OnnxNode::input(int i) {
  if (has(i)) return inputs_[i];
  return Invalid(absl::StrCat("input ", i, " is missing"));
}

const TensorType& OnnxNode::type_of(OnnxVar var) const {
  return var == kNoOnnxVar ? TypeAfterError() : import_.type(var);
}

const HostTensor* OnnxNode::constant(OnnxVar var) const {
  return var == kNoOnnxVar ? nullptr : import_.constant(var);
}

bool OnnxNode::all_constant() const {
  return std::all_of(inputs_.begin(), inputs_.end(),
                     [&](OnnxVar var) { return var == kNoOnnxVar || constant(var) != nullptr; });
}

const HostTensor& OnnxNode::Known(int i, absl::string_view what) {
  static const HostTensor* const none = new HostTensor();
  const OnnxVar var = input(i);
  if (!ok()) return *none;
  if (const HostTensor* value = constant(var)) return *value;
  Unsupported(absl::StrCat(what, " is not known before the run"));
  return *none;
}

std::vector<int64_t> OnnxNode::KnownInts(int i, absl::string_view what) {
  const HostTensor& value = Known(i, what);
  if (!ok()) return {};
  const bool narrow = value.dtype() == DType::kInt32;
  if ((!narrow && value.dtype() != DType::kInt64) || value.shape().rank() > 1) {
    Invalid(absl::StrCat(what, " is ", type_of(inputs_[i]).ToString(),
                         ", expected a vector of Int32 or Int64"));
    return {};
  }
  std::vector<int64_t> values;
  for (int64_t e = 0; e < value.num_elements(); ++e) {
    values.push_back(narrow ? value.data<int32_t>()[e] : value.data<int64_t>()[e]);
  }
  return values;
}

double OnnxNode::KnownNumber(int i, absl::string_view what) {
  const HostTensor& value = Known(i, what);
  if (!ok()) return 0;
  if (value.num_elements() == 1) return value.At(0);
  Invalid(absl::StrCat(what, " has ", value.num_elements(), " elements, expected 1"));
  return 0;
}

int64_t OnnxNode::KnownInteger(int i, absl::string_view what) {
  const double number = KnownNumber(i, what);
  if (!ok()) return 0;
  const HostTensor& value = Known(i, what);
  if (IsInteger(value.dtype())) {  // a double loses the last digits
    const int64_t integer = value.IntegerAt(0);
    const bool wrapped = integer < 0 && IsUnsigned(value.dtype());
    if (!wrapped) return integer;
  } else if (std::trunc(number) == number && number >= -0x1p63 && number < 0x1p63) {  // no NaN
    return static_cast<int64_t>(number);
  }
  Invalid(absl::StrCat(what, " is ", number, ", expected an integer of 64 bits with sign"));
  return 0;
}

std::vector<OnnxVar> OnnxNode::Sequence(int i) {
  const OnnxVar var = input(i);
  if (!ok()) return {};
  if (const std::vector<OnnxVar>* elements = import_.sequence(var)) return *elements;
  Invalid(absl::StrCat("input ", i, " is a tensor, expected a sequence"));
  return {};
}

const AttributeProto* OnnxNode::Find(absl::string_view name) const {
  for (const AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

const AttributeProto* OnnxNode::Read(absl::string_view name, AttributeProto::AttributeType type) {
  asked_for_.insert(std::string(name));
  const AttributeProto* attribute = Find(name);
  if (attribute == nullptr || TypeOf(*attribute) == type) return attribute;
  const bool empty_list = type == AttributeProto::INTS || type == AttributeProto::FLOATS;
  if (empty_list && TypeOf(*attribute) == AttributeProto::UNDEFINED) return attribute;
  Invalid(absl::StrCat("attribute '", name, "' has the wrong type"));
  return nullptr;
}

int64_t OnnxNode::Int(absl::string_view name, int64_t fallback) {
  const AttributeProto* attribute = Read(name, AttributeProto::INT);
  return attribute != nullptr ? attribute->i() : fallback;
}

double OnnxNode::Float(absl::string_view name, double fallback) {
  const AttributeProto* attribute = Read(name, AttributeProto::FLOAT);
  // Defaults have the attribute's type, too: 0.01 is 0.01f, also for doubles.
  return attribute != nullptr ? attribute->f() : static_cast<float>(fallback);
}

std::string OnnxNode::Text(absl::string_view name, absl::string_view fallback) {
  const AttributeProto* attribute = Read(name, AttributeProto::STRING);
  return attribute != nullptr ? attribute->s() : std::string(fallback);
}

std::vector<int64_t> OnnxNode::Ints(absl::string_view name, std::vector<int64_t> fallback) {
  const AttributeProto* attribute = Read(name, AttributeProto::INTS);
  if (attribute == nullptr) return fallback;
  return {attribute->ints().begin(), attribute->ints().end()};
}

std::vector<float> OnnxNode::Floats(absl::string_view name) {
  const AttributeProto* attribute = Read(name, AttributeProto::FLOATS);
  if (attribute == nullptr) return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

std::vector<std::string> OnnxNode::Texts(absl::string_view name) {
  const AttributeProto* attribute = Read(name, AttributeProto::STRINGS);
  if (attribute == nullptr) return {};
  return {attribute->strings().begin(), attribute->strings().end()};
}

std::optional<HostTensor> OnnxNode::Tensor(absl::string_view name) {
  const AttributeProto* attribute = Read(name, AttributeProto::TENSOR);
  if (attribute == nullptr) return std::nullopt;
  return ValueOf(*this, name, ReadTensor(attribute->t(), external_));
}

std::optional<HostTensor> OnnxNode::SparseTensor(absl::string_view name) {
  const AttributeProto* attribute = Read(name, AttributeProto::SPARSE_TENSOR);
  if (attribute == nullptr) return std::nullopt;
  return ValueOf(
      *this, name,
      ReadSparseTensor(attribute->sparse_tensor(), external_, [&](const Shape& shape, DType dtype) {
        return import_.CountFolded(shape, dtype);
      }));
}

void OnnxNode::Ignore(std::initializer_list<absl::string_view> names) {
  for (const absl::string_view name : names) asked_for_.insert(std::string(name));
}

int OnnxNode::Axis(int64_t axis, int rank) {
  const absl::StatusOr<int> normal = NormalizeAxis(axis, rank);
  if (normal.ok()) return *normal;
  Fail(normal.status());
  return 0;
}

OnnxVars OnnxNode::AddOperator(OperatorPtr op, std::vector<OnnxVar> inputs) {
  if (!ok()) return kNoOnnxVar;
  absl::StatusOr<std::vector<OnnxVar>> outputs = import_.Add(op, inputs);
  if (outputs.ok()) return OnnxVars(outputs->begin(), outputs->end());
  // An operator may accept a Float32 tensor with elements but refuse other tensors. Then the model
  // is not invalid.
  absl::Status status = Annotate(outputs.status(), op->type());
  const bool empty = std::any_of(inputs.begin(), inputs.end(),
                                 [&](OnnxVar var) { return shape(var).num_elements() == 0; });
  const bool unusual = empty || (!inputs.empty() && dtype(inputs[0]) != DType::kFloat32);
  if (absl::IsInvalidArgument(status) && unusual) {
    status = absl::UnimplementedError(status.message());
  }
  return Fail(std::move(status));
}

OnnxVar OnnxNode::Scalar(double value, DType dtype) {
  HostTensor tensor = HostTensor::Zeros(dtype, {});
  tensor.Set(0, value);
  return Constant(std::move(tensor));
}

OnnxVar OnnxNode::Integer(int64_t value) {
  HostTensor tensor = HostTensor::Zeros(DType::kInt64, {});
  tensor.SetInteger(0, value);
  return Constant(std::move(tensor));
}

OnnxVar OnnxNode::Counted(OnnxVar var, const OnnxCount& count) {
  if (!ok()) return var;
  if (const HostTensor* const known = constant(count.count)) {
    return Resized(var, count.axis, known->IntegerAt(0));
  }
  const OnnxCount* const before = this->count(var);
  if (before != nullptr && before->count == count.count && before->axis == count.axis &&
      import_.second_count(var) == nullptr) {
    return var;
  }
  var = Unread(var);
  if (ok()) import_.SetCount(var, count);
  return var;
}

OnnxVar OnnxNode::Unread(OnnxVar var) {
  const bool read_elsewhere =
      count(var) != nullptr || std::find(inputs_.begin(), inputs_.end(), var) != inputs_.end();
  if (!read_elsewhere) return var;
  if (constant(var) != nullptr) return CopyConstant(var);
  return Add<Reshape>({}, {var, IntVector(shape(var).dims())});
}

std::vector<OnnxCount> OnnxNode::counts(OnnxVar var) const {
  std::vector<OnnxCount> counts;
  if (const OnnxCount* const first = count(var)) counts.push_back(*first);
  const OnnxCount* const second = counts.empty() ? nullptr : import_.second_count(var);
  if (second != nullptr) counts.push_back(*second);
  return counts;
}

OnnxVar OnnxNode::WithCounts(OnnxVar var, std::vector<OnnxCount> counts) {
  for (size_t i = 0; ok() && i < counts.size();) {
    const HostTensor* const known = constant(counts[i].count);
    if (known == nullptr) {
      ++i;
      continue;
    }
    var = Resized(var, counts[i].axis, known->IntegerAt(0));
    counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!ok() || counts.empty()) return var;
  if (counts.size() == 1) return Counted(var, counts[0]);
  if (counts.size() > 2) return Unsupported("sizes of three axes depend on data");
  if (counts[0].axis > counts[1].axis) std::swap(counts[0], counts[1]);
  var = Unread(var);
  if (!ok()) return var;
  import_.SetCount(var, counts[0]);
  import_.SetSecondCount(var, counts[1]);
  return var;
}

int64_t OnnxNode::Bound(int64_t all) {
  const int64_t* bound = import_.Bound(proto_.name());
  for (const std::string& output : proto_.output()) {
    if (bound == nullptr) bound = import_.Bound(output);
  }
  return bound != nullptr ? std::min(all, *bound) : all;
}

OnnxVar OnnxNode::IntVector(absl::Span<const int64_t> values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return Constant(HostTensor::FromValues<int64_t>(DType::kInt64, shape, values));
}

std::optional<HostTensor> OnnxNode::NewTensor(DType dtype, absl::Span<const int64_t> dims) {
  const absl::StatusOr<Shape> shape = Shape::Make(dims);
  absl::Status status = shape.status();
  if (status.ok()) status = import_.CountFolded(*shape, dtype);
  if (status.ok()) return HostTensor::Zeros(dtype, *shape);
  Fail(std::move(status));
  return std::nullopt;
}

OnnxVar OnnxNode::Function(ScalarFunction function, std::vector<OnnxVar> inputs,
                           ScalarParameters parameters) {
  return Add<Elemwise>({function, parameters}, std::move(inputs));
}

OnnxVar OnnxNode::Reshaped(OnnxVar var, const Shape& shape) {
  const Shape& from = this->shape(var);
  if (constant(var) != nullptr) return ReshapedTo(var, shape, -1);
  const bool follows =
      from.rank() > 0 && shape.rank() > 0 && from[0] == shape[0] && shape.num_elements() > 0;
  if (!follows || from == shape) return ReshapedTo(var, shape, -1);
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[0] = -1;
  return Add<Reshape>({.follows = true}, {var, IntVector(dims)});
}

OnnxVar OnnxNode::ReshapedTo(OnnxVar var, const Shape& shape, int deduced) {
  if (!ok() || this->shape(var) == shape) return var;
  const HostTensor* const value = constant(var);
  if (value != nullptr && value->num_elements() == shape.num_elements()) {
    const absl::StatusOr<OnnxVar> reshaped = import_.ReshapeConstant(var, shape);
    return reshaped.ok() ? *reshaped : Fail(reshaped.status());
  }
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  if (deduced >= 0 && shape.num_elements() > 0) dims[static_cast<size_t>(deduced)] = -1;
  return Add<Reshape>({}, {var, IntVector(dims)});
}

OnnxVar OnnxNode::Permuted(OnnxVar var, std::vector<int64_t> pattern) {
  bool same = static_cast<int>(pattern.size()) == rank(var);
  for (size_t i = 0; i < pattern.size(); ++i) {
    same = same && pattern[i] == static_cast<int64_t>(i);
  }
  if (same) return var;
  return Add<Dimshuffle>({std::move(pattern)}, {var});
}

OnnxVar OnnxNode::Converted(OnnxVar var, DType dtype) {
  if (!ok() || this->dtype(var) == dtype) return var;
  return Add<TypeCvt>({dtype}, {var});
}

OnnxVar OnnxNode::Padded(OnnxVar var, int axis, int64_t before, int64_t behind, double value) {
  if (!ok() || (before == 0 && behind == 0)) return var;
  PadParam param;
  param.begin.assign(rank(var), 0);
  param.end.assign(rank(var), 0);
  param.begin[axis] = before;
  param.end[axis] = behind;
  param.value = value;
  return Add<Pad>(std::move(param), {var});
}

OnnxVar OnnxNode::Resized(OnnxVar var, int axis, int64_t size) {
  return Padded(var, axis, 0, size - shape(var)[axis]);
}

OnnxVar OnnxNode::BroadcastTo(OnnxVar var, const Shape& shape) {
  if (!ok() || this->shape(var) == shape) return var;
  return Add<Expand>({}, {var, IntVector(shape.dims())});
}

OnnxVar OnnxNode::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return kNoOnnxVar;
}

absl::Status OnnxNode::Finish() const {
  if (!status_.ok()) return status_;
  for (const AttributeProto& attribute : proto_.attribute()) {
    if (asked_for_.contains(attribute.name())) continue;
    return absl::UnimplementedError(
        absl::StrCat("attribute '", attribute.name().substr(0, 200), "'"));
  }
  return absl::OkStatus();
}

}  // namespace ashlar
