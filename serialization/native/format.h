// The container of a native model file (.ash), little-endian:
//
//   header          128 bytes, below; 64 in version 1, which had no checksums
//   graph section   FlatBuffers, serialization/native/model.fbs
//   weights section starts at a page; tensors inside start at multiples of 64 bytes
//   packed section  optional; starts at a page:
//     header        32 bytes, below
//     index         FlatBuffers, table Packed, padded to a multiple of 64 bytes
//     pool          starts at a page; the weights in the layouts of one processor's kernels
//
// The file ends with its last section. Equal constants share their bytes. Checksums
// (serialization/checksum.h) cover the header, the graph section, the index and the pool, each as a
// whole. Each constant in the weights section has its own checksum, stored in the graph section. So
// a user of the pool need not read other weights.
#ifndef ASHLAR_SERIALIZATION_NATIVE_FORMAT_H_
#define ASHLAR_SERIALIZATION_NATIVE_FORMAT_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serialization/mapped_file.h"

namespace ashlar {

inline constexpr uint32_t kNativeVersion = 2;
inline constexpr uint64_t kNativeHeaderBytes = 128;
inline constexpr uint64_t kWeightsSectionAlignment = 4096;
inline constexpr uint64_t kWeightAlignment = 64;

// The offsets from the start of the file, and sizes, in bytes.
struct NativeHeader {
  uint64_t file_bytes = 0;
  uint64_t graph_offset = kNativeHeaderBytes;
  uint64_t graph_bytes = 0;
  uint64_t weights_offset = 0;
  uint64_t weights_bytes = 0;
  uint64_t packed_offset = 0;  // 0: no packed section
  uint64_t graph_checksum = 0;
  uint64_t index_checksum = 0;
  bool has_checksums = true;  // false in files of version 1
};

// The header of the packed section; the index follows it.
struct PackedHeader {
  uint64_t index_bytes = 0;
  uint64_t pool_offset = 0;  // from the start of the file
  uint64_t pool_bytes = 0;
  uint64_t pool_checksum = 0;
};

// Returns the first page boundary at or after `offset`, at which a section may start.
uint64_t NextSection(uint64_t offset);

std::array<uint8_t, kNativeHeaderBytes> EncodeHeader(const NativeHeader& header);

// Whether the bytes begin with this format's magic number.
bool HasNativeMagic(absl::Span<const uint8_t> bytes);

// Returns InvalidArgument unless a file of `file_bytes` bytes begins with an undamaged header whose
// sections lie inside the file, in order and aligned. `front`: its first bytes, at least
// kNativeHeaderBytes of them or all.
absl::StatusOr<NativeHeader> DecodeHeader(absl::Span<const uint8_t> front, uint64_t file_bytes);

// The same for the packed section of a file that has one, of which `section` holds the header.
absl::StatusOr<PackedHeader> DecodePackedHeader(absl::Span<const uint8_t> section,
                                                const NativeHeader& header);

// Returns InvalidArgument, naming `what`, unless the section matches its checksum.
absl::Status CheckSection(absl::string_view what, absl::Span<const uint8_t> section,
                          uint64_t checksum);
// The same for a part of a mapped file, none of whose pages become resident.
absl::Status CheckMappedSection(absl::string_view what, absl::Span<const uint8_t> section,
                                uint64_t checksum, const MappedFile& file);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_FORMAT_H_
