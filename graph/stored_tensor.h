// Tensors whose bytes lie in a file: at any address, and of dtypes that are not computed with. They
// are converted on demand, element by element, so that a file larger than memory can be read.
#ifndef ASHLAR_GRAPH_STORED_TENSOR_H_
#define ASHLAR_GRAPH_STORED_TENSOR_H_

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace ashlar {

// Returns a tensor of bytes that `owner` keeps alive. Float16 and BFloat16 are read as Float32, and
// each byte of a Bool as 0 or 1. The tensor shares the bytes if they can be read in place, and a
// Bool is copied; otherwise it is deferred.
HostTensor StoredTensor(DType stored, const Shape& shape, std::shared_ptr<const void> owner,
                        const void* data);

// Returns elements [begin, begin + count) in row-major order.
HostTensor ElementsOf(const HostTensor& tensor, int64_t begin, int64_t count);
// Whether ElementsOf computes no other elements: false for tensors that a function computes whole.
bool HasElementsApart(const HostTensor& tensor);

// Returns elements [begin, begin + count) along `axis`. It shares the bytes if they are contiguous,
// and is otherwise computed when it is read. Without quantisation.
HostTensor SliceOf(const HostTensor& tensor, int axis, int64_t begin, int64_t count);

// Calls `use` with all elements, in order and in pieces of up to 1 MiB, and stops at the first
// error. Saves no computed elements. The source of a piece is where its bytes come from.
absl::Status ForPieces(const HostTensor& tensor,
                       absl::FunctionRef<absl::Status(const HostTensor& piece)> use);

// Returns whether both tensors have their bytes from one place in one way.
bool ShareBytes(const HostTensor& a, const HostTensor& b);
// Returns whether both tensors have the same bytes. Reads none if they share them.
bool HaveSameBytes(const HostTensor& a, const HostTensor& b);

inline absl::string_view BytesAsText(const HostTensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes())};
}

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_STORED_TENSOR_H_
