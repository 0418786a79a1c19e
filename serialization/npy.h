// Reads and writes NumPy's .npy files.
#ifndef ASHLAR_SERIALIZATION_NPY_H_
#define ASHLAR_SERIALIZATION_NPY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor.h"

namespace ashlar {

// Reads versions 1.0 and 2.0, C order, little-endian: f2, f4, f8, i1, i4, i8, u1, bool. Returns
// InvalidArgument for anything else, in particular for objects.
absl::StatusOr<HostTensor> ReadNpy(const std::string& path);

// The same for the bytes of a whole file; `name` is for messages.
absl::StatusOr<HostTensor> ParseNpy(absl::Span<const uint8_t> bytes, absl::string_view name);

// Writes version 1.0. BFloat16, which NumPy lacks, is written as f4; Byte as u1.
absl::Status WriteNpy(const HostTensor& tensor, const std::string& path);

// NpyHeader returns the header that WriteNpy puts before the elements. AsNpyElements converts the
// tensor to the header's dtype.
std::string NpyHeader(const HostTensor& tensor);
HostTensor AsNpyElements(const HostTensor& tensor);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NPY_H_
