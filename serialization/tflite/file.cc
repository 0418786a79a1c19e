#include "serialization/tflite/file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/graph.h"
#include "graph/status.h"
#include "serialization/reject.h"
#include "serialization/tflite/sparse.h"

namespace ashlar {
namespace {

using tflite::BuiltinOperator;

// The deepest nesting in the schema is: Model, subgraphs, SubGraph, tensors, Tensor, quantization.
constexpr size_t kMaxDepth = 12;
constexpr uint64_t kMostInline = 1;  // offsets of data after the FlatBuffer are larger
constexpr int kFirstLargeCode = 127;

struct DTypeRow {
  tflite::TensorType type;
  DType dtype;
};
constexpr DTypeRow kDTypeRows[] = {
    {tflite::TensorType::FLOAT32, DType::kFloat32},
    {tflite::TensorType::FLOAT16, DType::kFloat16},
    {tflite::TensorType::INT32, DType::kInt32},
    {tflite::TensorType::UINT8, DType::kUint8},
    {tflite::TensorType::INT64, DType::kInt64},
    {tflite::TensorType::BOOL, DType::kBool},
    {tflite::TensorType::INT16, DType::kInt16},
    {tflite::TensorType::INT8, DType::kInt8},
    {tflite::TensorType::FLOAT64, DType::kFloat64},
    {tflite::TensorType::UINT64, DType::kUint64},
    {tflite::TensorType::UINT32, DType::kUint32},
    {tflite::TensorType::UINT16, DType::kUint16},
    {tflite::TensorType::BFLOAT16, DType::kBFloat16},
};

template <typename T>
size_t Count(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// Returns InvalidArgument unless the indices are of tensors; -1 is allowed if `optional`.
absl::Status CheckTensors(const char* what, const flatbuffers::Vector<int32_t>* indices,
                          int64_t tensors, bool optional) {
  for (size_t i = 0; i < Count(indices); ++i) {
    const int32_t index = indices->Get(static_cast<flatbuffers::uoffset_t>(i));
    if (index < (optional ? -1 : 0) || index >= tensors) {
      return Reject(what, " ", i, " is tensor ", index, ", expected 0 to ", tensors - 1);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int64_t> IntsOf(const flatbuffers::Vector<int32_t>* vector) {
  std::vector<int64_t> values(Count(vector));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = vector->Get(static_cast<flatbuffers::uoffset_t>(i));
  }
  return values;
}

std::vector<int64_t> LongsOf(const flatbuffers::Vector<int64_t>* vector) {
  std::vector<int64_t> values(Count(vector));
  if (!values.empty()) {
    std::memcpy(values.data(), vector->Data(), values.size() * sizeof(int64_t));
  }
  return values;
}

std::string NameOfTflite(const TfliteFile& file, int tensor) {
  const flatbuffers::String* const name = file.tensor(tensor).name();
  if (name == nullptr || name->size() == 0) return absl::StrCat("tensor ", tensor);
  return name->str().substr(0, kLongestUncheckedName);
}

absl::StatusOr<TfliteFile> TfliteFile::Open(absl::Span<const uint8_t> bytes,
                                            std::shared_ptr<const void> owner) {
  TfliteFile file(bytes, std::move(owner));
  ASHLAR_RETURN_IF_ERROR(file.Check());
  return file;
}

absl::Status TfliteFile::Check() {
  // A verifier takes at most 2 GiB; data after them is not part of the FlatBuffer.
  const size_t size = std::min<size_t>(bytes_.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  flatbuffers::Verifier verifier(bytes_.data(), size, kMaxDepth,
                                 static_cast<flatbuffers::uoffset_t>(size / 4));
  if (size < 8 || !tflite::VerifyModelBuffer(verifier)) {
    return Reject("no TensorFlow Lite model, or a damaged one (", bytes_.size(), " bytes)");
  }
  model_ = tflite::GetModel(bytes_.data());
  if (model_->version() != 3) return Reject("version ", model_->version(), ", expected 3");
  if (Count(model_->subgraphs()) == 0) return Reject("no graph");
  if (graph().tensors() == nullptr || graph().operators() == nullptr) {
    return Reject("a graph without tensors or operators");
  }
  ASHLAR_RETURN_IF_ERROR(CheckTensors("input", graph().inputs(), num_tensors(), false));
  ASHLAR_RETURN_IF_ERROR(CheckTensors("output", graph().outputs(), num_tensors(), false));
  if (Count(graph().outputs()) == 0) return Reject("a graph without outputs");
  for (int i = 0; i < num_tensors(); ++i) {
    const uint32_t buffer = tensor(i).buffer();
    if (buffer == 0 || buffer < Count(model_->buffers())) continue;
    return Reject("tensor ", i, " '", NameOfTflite(*this, i), "' has buffer ", buffer,
                  ", expected less than ", Count(model_->buffers()));
  }
  const auto& operators = *graph().operators();
  // Many operators can refer to one vector; the vectors of a tree are no longer than the file.
  size_t left = bytes_.size();
  for (size_t i = 0; i < operators.size(); ++i) {
    const tflite::Operator& op = *operators.Get(static_cast<flatbuffers::uoffset_t>(i));
    const size_t used = Count(op.inputs()) + Count(op.outputs());
    if (used > left)
      return Reject("operators with more inputs and outputs than the file has bytes");
    left -= used;
    const absl::Status status = CheckOperator(op);
    if (!status.ok()) return Annotate(status, absl::StrCat("operator ", i));
  }
  return absl::OkStatus();
}

absl::Status TfliteFile::CheckOperator(const tflite::Operator& op) const {
  if (op.opcode_index() >= Count(model_->operator_codes())) {
    return Reject("operator code ", op.opcode_index(), ", expected less than ",
                  Count(model_->operator_codes()));
  }
  ASHLAR_RETURN_IF_ERROR(CheckTensors("input", op.inputs(), num_tensors(), true));
  return CheckTensors("output", op.outputs(), num_tensors(), false);
}

BuiltinOperator TfliteFile::code(const tflite::Operator& op) const {
  const tflite::OperatorCode& code = *model_->operator_codes()->Get(op.opcode_index());
  const int old = code.deprecated_builtin_code();
  return old < kFirstLargeCode ? std::max(static_cast<BuiltinOperator>(old), code.builtin_code())
                               : code.builtin_code();
}

std::string TfliteFile::NameOf(const tflite::Operator& op) const {
  const BuiltinOperator builtin = code(op);
  if (builtin == BuiltinOperator::CUSTOM) {
    const auto* const name = model_->operator_codes()->Get(op.opcode_index())->custom_code();
    return absl::StrCat("custom operator '",
                        name == nullptr ? "" : name->str().substr(0, kLongestUncheckedName), "'");
  }
  const std::string name = tflite::EnumNameBuiltinOperator(builtin);
  return name.empty() ? absl::StrCat("operator code ", static_cast<int>(builtin)) : name;
}

absl::StatusOr<DType> TfliteFile::StoredDType(int index) const {
  const tflite::TensorType type = tensor(index).type();
  for (const DTypeRow& row : kDTypeRows) {
    if (row.type == type) return row.dtype;
  }
  const std::string name = tflite::EnumNameTensorType(type);
  return absl::UnimplementedError(
      absl::StrCat("tensor '", NameOfTflite(*this, index), "' is of type ",
                   name.empty() ? absl::StrCat(static_cast<int>(type)) : name));
}

absl::StatusOr<TensorType> TfliteFile::TypeOf(int index) const {
  ASHLAR_ASSIGN_OR_RETURN(const DType dtype, StoredDType(index));
  absl::StatusOr<Shape> shape = Shape::Make(IntsOf(tensor(index).shape()));
  const auto annotated = [&](const absl::Status& status) {
    return Annotate(status, absl::StrCat("tensor '", NameOfTflite(*this, index), "'"));
  };
  if (!shape.ok()) return annotated(shape.status());
  TensorType type = {dtype, *std::move(shape)};
  const tflite::Quantization* const given = tensor(index).quantization();
  if (given == nullptr || Count(given->scale()) != 1 || SizeOf(dtype) != 1) return type;
  if (dtype != DType::kInt8 && dtype != DType::kUint8) return type;
  type.dtype = dtype == DType::kInt8 ? DType::kQuantizedS8 : DType::kQuantized8Asymm;
  const std::vector<int64_t> zeros = LongsOf(given->zero_point());
  const int64_t zero = zeros.empty() ? 0 : zeros[0];
  if (zero < LeastOf(type.dtype) || zero > MostOf(type.dtype)) {
    return annotated(Reject("zero point ", zero, ", expected ", LeastOf(type.dtype), " to ",
                            MostOf(type.dtype)));
  }
  absl::StatusOr<Quantization> quantization =
      Quantization::Make(type.dtype, {given->scale()->Get(0)}, static_cast<int32_t>(zero));
  if (!quantization.ok()) return annotated(quantization.status());
  type.quantization = *std::move(quantization);
  return type;
}

absl::Span<const uint8_t> TfliteFile::BytesOf(int index) const {
  const uint32_t number = tensor(index).buffer();
  if (number == 0) return {};
  const tflite::Buffer& buffer = *model_->buffers()->Get(number);
  if (buffer.offset() > kMostInline) {
    const bool inside =
        buffer.offset() <= bytes_.size() && buffer.size() <= bytes_.size() - buffer.offset();
    // A constant that is not in the file has no bytes, which its shape then shows.
    return inside ? bytes_.subspan(buffer.offset(), buffer.size()) : bytes_.first(1);
  }
  if (buffer.data() == nullptr) return {};
  return {buffer.data()->Data(), buffer.data()->size()};
}

absl::StatusOr<HostTensor> TfliteFile::Constant(int index) const {
  if (is_sparse(index)) {
    return absl::UnimplementedError(absl::StrCat("tensor '", NameOfTflite(*this, index),
                                                 "' is sparse, which only DENSIFY reads"));
  }
  ASHLAR_ASSIGN_OR_RETURN(const TensorType type, TypeOf(index));
  const absl::Span<const uint8_t> bytes = BytesOf(index);
  const int64_t expected = type.shape.num_elements() * SizeOf(type.dtype);
  if (static_cast<int64_t>(bytes.size()) != expected) {
    return Reject("tensor '", NameOfTflite(*this, index), "' has ", bytes.size(), " bytes, ",
                  type.ToString(), " needs ", expected);
  }
  const DType stored = StoredAs(type.dtype);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % SizeOf(stored) == 0;
  if (owner_ != nullptr && aligned && stored != DType::kBool) {
    return HostTensor::Borrow(stored, type.shape, owner_, bytes.data())
        .As(type.dtype, type.quantization);
  }
  HostTensor tensor = HostTensor::Zeros(stored, type.shape);
  if (!bytes.empty()) std::memcpy(tensor.mutable_raw(), bytes.data(), bytes.size());
  if (stored == DType::kBool) {
    for (uint8_t& value : tensor.mutable_data<uint8_t>()) value = value != 0;
  }
  return tensor.As(type.dtype, type.quantization);
}

absl::StatusOr<HostTensor> TfliteFile::Densified(int index) const {
  ASHLAR_ASSIGN_OR_RETURN(const TensorType type, TypeOf(index));
  absl::StatusOr<HostTensor> dense =
      DensifyTflite(*tensor(index).sparsity(), StoredAs(type.dtype), type.shape, BytesOf(index));
  if (dense.ok()) return dense->As(type.dtype, type.quantization);
  return Annotate(dense.status(), absl::StrCat("tensor '", NameOfTflite(*this, index), "'"));
}

}  // namespace ashlar
