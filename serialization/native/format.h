// The container of a native model file (.ash), little-endian:
//
//   header          64 bytes, below
//   graph section   FlatBuffers, serialization/native/model.fbs
//   weights section starts at a page; tensors inside start at multiples of 64 bytes
//   packed section  may be missing; starts at a page:
//     header        32 bytes, below
//     index         FlatBuffers, table Packed, filled up to a multiple of 64 bytes
//     pool          starts at a page; the weights as the kernels of one processor want them
//
// The file ends with its last section. Equal constants share their bytes.
#ifndef ASHLAR_SERIALIZATION_NATIVE_FORMAT_H_
#define ASHLAR_SERIALIZATION_NATIVE_FORMAT_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ashlar {

inline constexpr uint32_t kNativeVersion = 1;
inline constexpr uint64_t kNativeHeaderBytes = 64;
inline constexpr uint64_t kWeightsSectionAlignment = 4096;
inline constexpr uint64_t kWeightAlignment = 64;

// Offsets from the start of the file and sizes, in bytes.
struct NativeHeader {
  uint64_t file_bytes = 0;
  uint64_t graph_offset = kNativeHeaderBytes;
  uint64_t graph_bytes = 0;
  uint64_t weights_offset = 0;
  uint64_t weights_bytes = 0;
  uint64_t packed_offset = 0;  // 0: no packed section
};

// Of the packed section; the index follows it.
struct PackedHeader {
  uint64_t index_bytes = 0;
  uint64_t pool_offset = 0;  // from the start of the file
  uint64_t pool_bytes = 0;
  uint64_t reserved = 0;
};

// The first multiple of a page at `offset` or behind it, where a section may start.
uint64_t NextSection(uint64_t offset);

std::array<uint8_t, kNativeHeaderBytes> EncodeHeader(const NativeHeader& header);

// InvalidArgument unless `file` (all of it) begins with a header whose sections lie inside it, in
// order and aligned.
absl::StatusOr<NativeHeader> DecodeHeader(absl::Span<const uint8_t> file);

// The same for the packed section of a file that has one.
absl::StatusOr<PackedHeader> DecodePackedHeader(absl::Span<const uint8_t> file,
                                                const NativeHeader& header);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_FORMAT_H_
