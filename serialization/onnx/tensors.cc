#include "serialization/onnx/tensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "graph/stored_tensor.h"

namespace ashlar {
namespace {

using onnx::TensorProto;
static_assert(std::endian::native == std::endian::little, "ONNX stores tensors little endian");

// The field of a TensorProto that holds the elements if raw_data does not.
enum class Field { kFloats, kInt32s, kInt64s, kUint64s, kDoubles };

// Indexed by type number; the names are ONNX's.
constexpr const char* kNames[] = {
    "undefined",      "float",      "uint8",          "int8",       "uint16",     "int16",
    "int32",          "int64",      "string",         "bool",       "float16",    "double",
    "uint32",         "uint64",     "complex64",      "complex128", "bfloat16",   "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",       "float4e2m1",
    "float8e8m0",     "uint2",      "int2",           "float6e2m3", "float6e3m2",
};

// The types that have a dtype.
struct TypeRow {
  TensorProto::DataType type;
  DType declared;
  DType dtype;  // in which it is computed
  Field field;
};

constexpr TypeRow kTypes[] = {
    {TensorProto::FLOAT, DType::kFloat32, DType::kFloat32, Field::kFloats},
    {TensorProto::UINT8, DType::kUint8, DType::kUint8, Field::kInt32s},
    {TensorProto::INT8, DType::kInt8, DType::kInt8, Field::kInt32s},
    {TensorProto::INT32, DType::kInt32, DType::kInt32, Field::kInt32s},
    {TensorProto::INT64, DType::kInt64, DType::kInt64, Field::kInt64s},
    {TensorProto::BOOL, DType::kBool, DType::kBool, Field::kInt32s},
    {TensorProto::FLOAT16, DType::kFloat16, DType::kFloat32, Field::kInt32s},
    {TensorProto::DOUBLE, DType::kFloat64, DType::kFloat64, Field::kDoubles},
    {TensorProto::BFLOAT16, DType::kBFloat16, DType::kFloat32, Field::kInt32s},
    {TensorProto::UINT16, DType::kUint16, DType::kUint16, Field::kInt32s},
    {TensorProto::INT16, DType::kInt16, DType::kInt16, Field::kInt32s},
    {TensorProto::UINT32, DType::kUint32, DType::kUint32, Field::kUint64s},
    {TensorProto::UINT64, DType::kUint64, DType::kUint64, Field::kUint64s},
};

// Returns null if there is no dtype.
const TypeRow* RowOf(int64_t onnx_type) {
  const TypeRow* const row =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](const TypeRow& candidate) { return candidate.type == onnx_type; });
  return row != std::end(kTypes) ? row : nullptr;
}

float FromBits(int onnx_type, uint16_t bits) {
  return onnx_type == TensorProto::FLOAT16 ? HalfToFloat(bits) : BFloat16ToFloat(bits);
}

// Returns a tensor of bytes from a file or a message; shares them with `owner`, or copies them if
// it is null.
HostTensor FromBytes(int onnx_type, const Shape& shape, std::shared_ptr<const void> owner,
                     const void* data) {
  const HostTensor stored = StoredTensor(RowOf(onnx_type)->declared, shape, owner, data);
  if (owner != nullptr) return stored;
  const HostTensor computed = stored.Computed();
  if (computed.raw() != data) return computed;
  HostTensor copy = HostTensor::ZerosLike(stored, shape);
  if (copy.bytes() > 0) std::memcpy(copy.mutable_raw(), data, static_cast<size_t>(copy.bytes()));
  return copy;
}

// Reads elements from a typed field. 8- and 16-bit ones are in int32_data, as numbers or bits.
HostTensor FromField(const TensorProto& tensor, const TypeRow& row, const Shape& shape) {
  HostTensor result = HostTensor::Zeros(row.dtype, shape);
  const auto copy = [&](const auto& field, auto to) {
    for (int i = 0; i < field.size(); ++i) to[i] = field[i];
  };
  switch (row.field) {
    case Field::kFloats:
      copy(tensor.float_data(), result.mutable_data<float>());
      break;
    case Field::kInt64s:
      copy(tensor.int64_data(), result.mutable_data<int64_t>());
      break;
    case Field::kUint64s:
      for (int i = 0; i < tensor.uint64_data_size(); ++i) {
        result.SetInteger(i, static_cast<int64_t>(tensor.uint64_data(i)));
      }
      break;
    case Field::kDoubles:
      copy(tensor.double_data(), result.mutable_data<double>());
      break;
    case Field::kInt32s:
      if (row.dtype == DType::kInt32) {
        copy(tensor.int32_data(), result.mutable_data<int32_t>());
        break;
      }
      for (int i = 0; i < tensor.int32_data_size(); ++i) {
        if (row.dtype == DType::kFloat32) {
          result.mutable_data<float>()[i] =
              FromBits(tensor.data_type(), static_cast<uint16_t>(tensor.int32_data(i)));
        } else {
          result.Set(i, tensor.int32_data(i));
        }
      }
      break;
  }
  return result;
}

int FieldSize(const TensorProto& tensor, Field field) {
  switch (field) {
    case Field::kFloats:
      return tensor.float_data_size();
    case Field::kInt32s:
      return tensor.int32_data_size();
    case Field::kInt64s:
      return tensor.int64_data_size();
    case Field::kUint64s:
      return tensor.uint64_data_size();
    case Field::kDoubles:
      return tensor.double_data_size();
  }
  return 0;
}

int AllFieldsSize(const TensorProto& tensor) {
  return tensor.float_data_size() + tensor.int32_data_size() + tensor.int64_data_size() +
         tensor.double_data_size() + tensor.uint64_data_size() + tensor.string_data_size();
}

// `taken` is the same tensor if its bytes may be moved out, otherwise null.
absl::StatusOr<HostTensor> Read(const TensorProto& tensor, TensorProto* taken,
                                ExternalData& external) {
  ASHLAR_RETURN_IF_ERROR(ComputedAs(tensor.data_type()).status());
  const TypeRow& row = *RowOf(tensor.data_type());
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(absl::MakeConstSpan(
                                                 tensor.dims().data(), tensor.dims().size())));
  if (tensor.has_segment()) return absl::UnimplementedError("is stored in segments");
  const int64_t bytes = shape.num_elements() * SizeOf(row.declared);
  const std::string type = OnnxTypeName(tensor.data_type());
  const ExternalData::Apart* const apart = external.FindApart(tensor);
  const bool raw_apart = apart != nullptr && !apart->tensor.is_float_data;
  const bool floats_apart = apart != nullptr && apart->tensor.is_float_data;
  const absl::string_view raw_data = raw_apart ? apart->tensor.bytes : tensor.raw_data();
  const int64_t more = floats_apart ? apart->tensor.bytes.size() / sizeof(float) : 0;
  const int64_t in_fields = AllFieldsSize(tensor) + more;
  const bool raw = !raw_data.empty();
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (raw || in_fields > 0) {
      return absl::InvalidArgumentError("has data in the model and in a file beside it");
    }
    ASHLAR_ASSIGN_OR_RETURN(ExternalData::Bytes found, external.Find(tensor, bytes));
    return FromBytes(tensor.data_type(), shape, found.owner, found.data);
  }
  const int64_t elements = FieldSize(tensor, row.field) + (row.field == Field::kFloats ? more : 0);
  if (raw && in_fields > 0) {
    return absl::InvalidArgumentError("has raw_data and a typed field");
  }
  if (in_fields != elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("is ", type, ", but its elements are in another type's field"));
  }
  if (raw || shape.num_elements() == 0) {
    if (static_cast<int64_t>(raw_data.size()) != bytes || elements != 0) {
      return absl::InvalidArgumentError(absl::StrCat(type, shape.ToString(), " needs ", bytes,
                                                     " bytes, raw_data has ", raw_data.size()));
    }
    std::shared_ptr<const void> owner = raw_apart ? apart->owner : nullptr;
    const void* data = raw_data.data();
    if (taken != nullptr && raw && !raw_apart) {
      const std::shared_ptr<const std::string> string(taken->release_raw_data());
      data = string->data();
      owner = string;
    }
    const HostTensor value = FromBytes(tensor.data_type(), shape, std::move(owner), data);
    return raw_apart ? value : value.Computed();
  }
  if (elements != shape.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        type, shape.ToString(), " needs ", shape.num_elements(), " elements, it has ", elements));
  }
  if (floats_apart) {
    return FromBytes(TensorProto::FLOAT, shape, apart->owner, apart->tensor.bytes.data());
  }
  if (taken != nullptr && row.field == Field::kFloats) {
    auto owner = std::make_shared<google::protobuf::RepeatedField<float>>();
    owner->Swap(taken->mutable_float_data());
    const float* data = owner->data();
    return HostTensor::Borrow(row.dtype, shape, std::move(owner), data);
  }
  return FromField(tensor, row, shape);
}

absl::StatusOr<HostTensor> Named(absl::StatusOr<HostTensor> value, const TensorProto& tensor) {
  if (value.ok()) return value;
  return Annotate(value.status(), absl::StrCat("tensor '", tensor.name().substr(0, 200), "'"));
}

}  // namespace

absl::StatusOr<DType> ComputedAs(int64_t onnx_type) {
  if (const TypeRow* row = RowOf(onnx_type)) return row->dtype;
  return absl::UnimplementedError(
      absl::StrCat("elements of ", OnnxTypeName(onnx_type), " are not supported"));
}

DType DeclaredAs(int64_t onnx_type, DType fallback) {
  const TypeRow* const row = RowOf(onnx_type);
  return row != nullptr ? row->declared : fallback;
}

std::string OnnxTypeName(int64_t onnx_type) {
  const bool known = onnx_type >= 0 && onnx_type < static_cast<int64_t>(std::size(kNames));
  return known ? kNames[onnx_type] : absl::StrCat("type ", onnx_type);
}

bool IsConverted(int64_t onnx_type) {
  const TypeRow* const row = RowOf(onnx_type);
  return row != nullptr && row->declared != row->dtype;
}

absl::StatusOr<HostTensor> ReadTensor(const TensorProto& tensor, ExternalData& external) {
  return Named(Read(tensor, nullptr, external), tensor);
}

absl::StatusOr<HostTensor> TakeTensor(TensorProto& tensor, ExternalData& external) {
  return Named(Read(tensor, &tensor, external), tensor);
}

absl::StatusOr<HostTensor> ReadSparseTensor(
    const onnx::SparseTensorProto& tensor, ExternalData& external,
    absl::FunctionRef<absl::Status(const Shape& shape, DType dtype)> allow) {
  ASHLAR_ASSIGN_OR_RETURN(const HostTensor values, ReadTensor(tensor.values(), external));
  ASHLAR_ASSIGN_OR_RETURN(const HostTensor indices, ReadTensor(tensor.indices(), external));
  const std::string name =
      absl::StrCat("sparse tensor '", tensor.values().name().substr(0, 200), "'");
  ASHLAR_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(absl::MakeConstSpan(
                                                 tensor.dims().data(), tensor.dims().size())));
  const int64_t count = values.num_elements();
  const bool linear = indices.shape() == Shape{count};
  if (indices.dtype() != DType::kInt64 || values.shape().rank() != 1 ||
      (!linear && indices.shape() != Shape{count, shape.rank()})) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": values ", values.shape().ToString(),
                                                   " and indices ", indices.shape().ToString(),
                                                   " do not go together"));
  }
  if (absl::Status status = allow(shape, values.dtype()); !status.ok()) {
    return Annotate(status, name);
  }
  HostTensor dense = HostTensor::Zeros(values.dtype(), shape);
  const auto strides = ContiguousStrides(shape);
  const absl::Span<const int64_t> places = indices.data<int64_t>();
  const size_t size = static_cast<size_t>(SizeOf(values.dtype()));
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = 0;
    bool inside = true;
    if (linear) {
      at = places[i];
      inside = at >= 0 && at < shape.num_elements();
    } else {
      for (int axis = 0; inside && axis < shape.rank(); ++axis) {
        const int64_t place = places[i * shape.rank() + axis];
        inside = place >= 0 && place < shape[axis];
        at += place * strides[axis];
      }
    }
    if (!inside) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": index ", i, " lies outside of ", shape.ToString()));
    }
    std::memcpy(static_cast<char*>(dense.mutable_raw()) + at * size,
                static_cast<const char*>(values.raw()) + i * size, size);
  }
  return dense;
}

}  // namespace ashlar
