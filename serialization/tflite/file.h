// A TensorFlow Lite file whose structure is checked: indices are in range, and constants have the
// bytes that their shapes need.
#ifndef ASHLAR_SERIALIZATION_TFLITE_FILE_H_
#define ASHLAR_SERIALIZATION_TFLITE_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/tensor.h"
#include "serialization/tflite/schema_generated.h"

namespace ashlar {

class TfliteFile {
 public:
  // Checks the bytes. Constants share them with `owner`, or are copied if it is null.
  static absl::StatusOr<TfliteFile> Open(absl::Span<const uint8_t> bytes,
                                         std::shared_ptr<const void> owner);

  // The graph of the first subgraph. All vectors that it needs are present.
  const tflite::SubGraph& graph() const { return *model_->subgraphs()->Get(0); }
  const tflite::Tensor& tensor(int index) const { return *graph().tensors()->Get(index); }
  int num_tensors() const { return static_cast<int>(graph().tensors()->size()); }

  const tflite::Model& model() const { return *model_; }

  // Returns the code of an operator, and its name: "CONV_2D", or a custom operator's own.
  tflite::BuiltinOperator code(const tflite::Operator& op) const;
  std::string NameOf(const tflite::Operator& op) const;

  // Returns the dtype of a tensor's stored elements; Unimplemented if Ashlar has none.
  absl::StatusOr<DType> StoredDType(int tensor) const;
  // Returns the dtype with its quantisation: a quantised one for 8 bits with a single scale.
  absl::StatusOr<TensorType> TypeOf(int tensor) const;
  // Returns the value of a constant in this type. Unimplemented if it is sparse.
  absl::StatusOr<HostTensor> Constant(int tensor) const;
  // Returns a sparse constant with its zeros.
  absl::StatusOr<HostTensor> Densified(int tensor) const;
  // Whether constants share the file's bytes.
  bool borrows() const { return owner_ != nullptr; }
  bool is_sparse(int tensor) const { return this->tensor(tensor).sparsity() != nullptr; }
  bool is_constant(int tensor) const { return !BytesOf(tensor).empty(); }

 private:
  TfliteFile(absl::Span<const uint8_t> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  absl::Status Check();
  absl::Status CheckOperator(const tflite::Operator& op) const;
  absl::Span<const uint8_t> BytesOf(int tensor) const;

  absl::Span<const uint8_t> bytes_;
  std::shared_ptr<const void> owner_;
  const tflite::Model* model_ = nullptr;
};

// Returns the tensor's name for messages and nodes; "tensor 5" if it has none.
std::string NameOfTflite(const TfliteFile& file, int tensor);
// Returns the elements of a vector; none if it is absent.
std::vector<int64_t> IntsOf(const flatbuffers::Vector<int32_t>* vector);
// The same of longs, at any address: FlatBuffers' verifier does not align them.
std::vector<int64_t> LongsOf(const flatbuffers::Vector<int64_t>* vector);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_FILE_H_
