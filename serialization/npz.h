// Reads and writes NumPy's .npz files: zip archives of .npy files.
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

// Reads stored and deflated entries, as written by numpy.savez and savez_compressed. Returns
// InvalidArgument for other methods, encrypted entries, zip64 archives, duplicate names, a wrong
// CRC-32, and arrays that ReadNpy refuses. Names may look like paths, but nothing is unpacked to
// disk.
absl::StatusOr<NamedTensors> ReadNpz(const std::string& path);

// The same for the bytes of a whole file; `name` is for messages.
absl::StatusOr<NamedTensors> ParseNpz(absl::Span<const uint8_t> bytes, absl::string_view name);

// Writes stored (uncompressed) entries. Returns InvalidArgument for names that ReadNpz would refuse
// and for more than 4 GiB.
absl::Status WriteNpz(const NamedTensors& tensors, const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NPZ_H_
