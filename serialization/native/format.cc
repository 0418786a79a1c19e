#include "serialization/native/format.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

#include "graph/status.h"
#include "serialization/checksum.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

static_assert(std::endian::native == std::endian::little,
              "weights are used as they lie in the file");

// The first byte is not ASCII; the last two reveal a transfer in text mode.
constexpr uint8_t kMagic[8] = {0x89, 'A', 'S', 'H', 'L', 'A', '\r', '\n'};

// The header's layout in the file.
struct RawHeader {
  uint8_t magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t file_bytes;
  uint64_t graph_offset, graph_bytes;
  uint64_t weights_offset, weights_bytes;
  uint64_t packed_offset;
  // Since version 2.
  uint64_t graph_checksum, index_checksum;
  uint64_t reserved[5];
  uint64_t checksum;  // of everything before it
};
static_assert(sizeof(RawHeader) == kNativeHeaderBytes);
constexpr uint64_t kHeaderBytesOfVersion1 = offsetof(RawHeader, graph_checksum);

uint64_t ChecksumOf(const RawHeader& raw) { return Checksum(&raw, offsetof(RawHeader, checksum)); }

// Reads the header at the start of a file, and checks everything that it can check alone.
absl::StatusOr<RawHeader> ReadHeader(absl::Span<const uint8_t> file) {
  RawHeader raw = {};
  if (file.size() < kHeaderBytesOfVersion1) {
    return Reject("truncated: ", file.size(), " bytes, the header alone has ", kNativeHeaderBytes);
  }
  std::memcpy(&raw, file.data(), kHeaderBytesOfVersion1);
  if (raw.version < 1 || raw.version > kNativeVersion) {
    return Reject("format version ", raw.version, ", this program reads 1 to ", kNativeVersion);
  }
  const uint64_t bytes = raw.version == 1 ? kHeaderBytesOfVersion1 : kNativeHeaderBytes;
  if (raw.header_bytes != bytes) {
    return Reject("header: size ", raw.header_bytes, ", expected ", bytes);
  }
  if (file.size() < bytes) {
    return Reject("truncated: ", file.size(), " bytes, the header alone has ", bytes);
  }
  std::memcpy(&raw, file.data(), bytes);
  if (raw.version > 1 && raw.checksum != ChecksumOf(raw)) {
    return Reject("header: damaged, it does not match its checksum");
  }
  return raw;
}

absl::Status CompareChecksums(absl::string_view what, absl::Span<const uint8_t> section,
                              uint64_t made, uint64_t written) {
  if (made == written) return absl::OkStatus();
  return Reject(what, " of ", section.size(), " bytes: damaged, it does not match its checksum");
}

}  // namespace

uint64_t NextSection(uint64_t offset) {
  return (offset + kWeightsSectionAlignment - 1) / kWeightsSectionAlignment *
         kWeightsSectionAlignment;
}

std::array<uint8_t, kNativeHeaderBytes> EncodeHeader(const NativeHeader& header) {
  RawHeader raw = {.magic = {},
                   .version = kNativeVersion,
                   .header_bytes = kNativeHeaderBytes,
                   .file_bytes = header.file_bytes,
                   .graph_offset = header.graph_offset,
                   .graph_bytes = header.graph_bytes,
                   .weights_offset = header.weights_offset,
                   .weights_bytes = header.weights_bytes,
                   .packed_offset = header.packed_offset,
                   .graph_checksum = header.graph_checksum,
                   .index_checksum = header.index_checksum,
                   .reserved = {},
                   .checksum = 0};
  std::copy(std::begin(kMagic), std::end(kMagic), raw.magic);
  raw.checksum = ChecksumOf(raw);
  return std::bit_cast<std::array<uint8_t, kNativeHeaderBytes>>(raw);
}

bool HasNativeMagic(absl::Span<const uint8_t> bytes) {
  return bytes.size() >= sizeof(kMagic) &&
         std::equal(std::begin(kMagic), std::end(kMagic), bytes.begin());
}

absl::StatusOr<NativeHeader> DecodeHeader(absl::Span<const uint8_t> front, uint64_t file_bytes) {
  if (!HasNativeMagic(front)) {
    return Reject("not an Ashlar model (.ash): ", file_bytes, " bytes, wrong magic number");
  }
  ASHLAR_ASSIGN_OR_RETURN(const RawHeader raw, ReadHeader(front));
  const NativeHeader header = {raw.file_bytes,     raw.graph_offset,   raw.graph_bytes,
                               raw.weights_offset, raw.weights_bytes,  raw.packed_offset,
                               raw.graph_checksum, raw.index_checksum, raw.version > 1};
  if (header.file_bytes != file_bytes) {
    return Reject("file has ", file_bytes, " bytes, its header says ", header.file_bytes,
                  file_bytes < header.file_bytes ? " (truncated?)" : "");
  }
  uint64_t graph_end = 0, weights_end = 0;
  if (header.graph_offset != raw.header_bytes ||
      __builtin_add_overflow(header.graph_offset, header.graph_bytes, &graph_end) ||
      graph_end > header.weights_offset) {
    return Reject("header: graph section of ", header.graph_bytes, " bytes at ",
                  header.graph_offset, " does not lie before the weights at ",
                  header.weights_offset);
  }
  if (header.weights_offset % kWeightsSectionAlignment != 0 ||
      __builtin_add_overflow(header.weights_offset, header.weights_bytes, &weights_end) ||
      weights_end > header.file_bytes) {
    return Reject("header: weights section of ", header.weights_bytes, " bytes at ",
                  header.weights_offset, " does not lie in the file of ", header.file_bytes,
                  " bytes at a multiple of ", kWeightsSectionAlignment);
  }
  const uint64_t packed_offset = header.packed_offset;
  if (packed_offset == 0 ? weights_end != header.file_bytes
                         : header.weights_bytes % kWeightAlignment != 0 ||
                               packed_offset != NextSection(weights_end) ||
                               packed_offset > header.file_bytes - sizeof(PackedHeader)) {
    return Reject("header: behind the weights section, which ends at ", weights_end,
                  ", a packed section at ", packed_offset, " does not fill the file of ",
                  header.file_bytes, " bytes");
  }
  return header;
}

absl::StatusOr<PackedHeader> DecodePackedHeader(absl::Span<const uint8_t> section,
                                                const NativeHeader& header) {
  PackedHeader packed;
  std::memcpy(&packed, section.data(), sizeof(packed));
  const uint64_t index = header.packed_offset + sizeof(packed);
  if ((!header.has_checksums && packed.pool_checksum != 0) ||
      packed.index_bytes > header.file_bytes - index ||
      packed.index_bytes % kWeightAlignment != 0 ||
      packed.pool_offset != NextSection(index + packed.index_bytes) ||
      packed.pool_offset > header.file_bytes ||
      packed.pool_bytes != header.file_bytes - packed.pool_offset) {
    return Reject("packed section at ", header.packed_offset, ": an index of ", packed.index_bytes,
                  " bytes and a pool of ", packed.pool_bytes, " bytes at ", packed.pool_offset,
                  " do not fill the file of ", header.file_bytes, " bytes");
  }
  return packed;
}

absl::Status CheckSection(absl::string_view what, absl::Span<const uint8_t> section,
                          uint64_t checksum) {
  return CompareChecksums(what, section, Checksum(section.data(), section.size()), checksum);
}

absl::Status CheckMappedSection(absl::string_view what, absl::Span<const uint8_t> section,
                                uint64_t checksum, const MappedFile& file) {
  constexpr size_t kPiece = 256 << 10;
  std::vector<uint8_t> copy(std::min(kPiece, section.size()));
  RunningChecksum made;
  for (size_t at = 0; at < section.size(); at += kPiece) {
    const absl::Span<const uint8_t> piece = section.subspan(at, kPiece);
    ASHLAR_RETURN_IF_ERROR(
        file.Read(piece.data(), static_cast<int64_t>(piece.size()), copy.data()));
    made.Add(copy.data(), piece.size());
  }
  return CompareChecksums(what, section, made.Value(), checksum);
}

}  // namespace ashlar
