// The container of a native model file (.ash), little-endian:
//
//   header          64 bytes, below
//   graph section   FlatBuffers, serialization/model.fbs
//   weights section starts at a page; tensors inside start at multiples of 64 bytes
//
// The file ends with its weights section. Equal constants share their bytes.
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
// Ids of nodes and vars are below this, so that passes have room for new ones.
inline constexpr int kMaxId = 1 << 30;

// Offsets from the start of the file and sizes, in bytes.
struct NativeHeader {
  uint64_t file_bytes = 0;
  uint64_t graph_offset = kNativeHeaderBytes;
  uint64_t graph_bytes = 0;
  uint64_t weights_offset = 0;
  uint64_t weights_bytes = 0;
};

std::array<uint8_t, kNativeHeaderBytes> EncodeHeader(const NativeHeader& header);

// InvalidArgument unless `file` (all of it) begins with a header whose sections lie inside it, in
// order and aligned.
absl::StatusOr<NativeHeader> DecodeHeader(absl::Span<const uint8_t> file);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_FORMAT_H_
