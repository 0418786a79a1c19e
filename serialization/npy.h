// NumPy's .npy files.
#ifndef ASHLAR_SERIALIZATION_NPY_H_
#define ASHLAR_SERIALIZATION_NPY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor.h"

namespace ashlar {

// Reads versions 1.0 and 2.0, C order, little-endian: f2, f4, f8, i1, i4, i8,
// u1, bool. InvalidArgument for anything else, objects above all.
absl::StatusOr<HostTensor> ReadNpy(const std::string& path);

// The same on the bytes of a whole file; `name` is for messages.
absl::StatusOr<HostTensor> ParseNpy(absl::Span<const uint8_t> bytes, absl::string_view name);

// Version 1.0. BFloat16, which NumPy lacks, is written as f4; Byte as u1.
absl::Status WriteNpy(const HostTensor& tensor, const std::string& path);

// The header that WriteNpy puts in front of the elements, and the tensor in the header's dtype.
std::string NpyHeader(const HostTensor& tensor);
HostTensor AsNpyElements(const HostTensor& tensor);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NPY_H_
