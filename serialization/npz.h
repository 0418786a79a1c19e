// NumPy's .npz files: zip archives of .npy files, uncompressed.
#ifndef ASHLAR_SERIALIZATION_NPZ_H_
#define ASHLAR_SERIALIZATION_NPZ_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/tensor.h"

namespace ashlar {

// Arrays by name (without ".npy"), in the order of the archive.
using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

// Stored and deflated entries, as numpy.savez and savez_compressed write them. InvalidArgument for
// other methods, encrypted entries, zip64 archives, duplicate names, a wrong CRC-32, and arrays
// that ReadNpy refuses. Names are those of values and may look like paths: nothing is unpacked to
// disk.
absl::StatusOr<NamedTensors> ReadNpz(const std::string& path);

// The same on the bytes of a whole file; `name` is for messages.
absl::StatusOr<NamedTensors> ParseNpz(absl::Span<const uint8_t> bytes, absl::string_view name);

// InvalidArgument for names that ReadNpz would refuse and for more than 4 GiB.
absl::Status WriteNpz(const NamedTensors& tensors, const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NPZ_H_
