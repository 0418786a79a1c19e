#include "serialization/native/format.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "graph/status.h"

namespace ashlar {
namespace {

static_assert(std::endian::native == std::endian::little,
              "weights are used as they lie in the file");

// The first byte is no ASCII, the last two show a transfer in text mode.
constexpr uint8_t kMagic[8] = {0x89, 'A', 'S', 'H', 'L', 'A', '\r', '\n'};

// The header as it lies in the file.
struct RawHeader {
  uint8_t magic[8];
  uint32_t version;
  uint32_t header_bytes;
  NativeHeader sections;
};
static_assert(sizeof(RawHeader) == kNativeHeaderBytes);

template <typename... Parts>
absl::Status Reject(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace

uint64_t NextSection(uint64_t offset) {
  return (offset + kWeightsSectionAlignment - 1) / kWeightsSectionAlignment *
         kWeightsSectionAlignment;
}

std::array<uint8_t, kNativeHeaderBytes> EncodeHeader(const NativeHeader& header) {
  RawHeader raw = {{}, kNativeVersion, kNativeHeaderBytes, header};
  std::copy(std::begin(kMagic), std::end(kMagic), raw.magic);
  return std::bit_cast<std::array<uint8_t, kNativeHeaderBytes>>(raw);
}

absl::StatusOr<NativeHeader> DecodeHeader(absl::Span<const uint8_t> file) {
  if (file.size() < sizeof(kMagic) ||
      !std::equal(std::begin(kMagic), std::end(kMagic), file.begin())) {
    return Reject("not an Ashlar model (.ash): ", file.size(), " bytes, wrong magic number");
  }
  if (file.size() < kNativeHeaderBytes) {
    return Reject("truncated: ", file.size(), " bytes, the header alone has ", kNativeHeaderBytes);
  }
  RawHeader raw;
  std::memcpy(&raw, file.data(), sizeof(raw));
  if (raw.version != kNativeVersion) {
    return Reject("format version ", raw.version, ", this program reads ", kNativeVersion);
  }
  if (raw.header_bytes != kNativeHeaderBytes) {
    return Reject("header: size ", raw.header_bytes, ", expected ", kNativeHeaderBytes);
  }
  const NativeHeader& header = raw.sections;
  if (header.file_bytes != file.size()) {
    return Reject("file has ", file.size(), " bytes, its header says ", header.file_bytes,
                  file.size() < header.file_bytes ? " (truncated?)" : "");
  }
  uint64_t graph_end = 0, weights_end = 0;
  if (header.graph_offset != kNativeHeaderBytes ||
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

absl::StatusOr<PackedHeader> DecodePackedHeader(absl::Span<const uint8_t> file,
                                                const NativeHeader& header) {
  PackedHeader packed;
  std::memcpy(&packed, file.data() + header.packed_offset, sizeof(packed));
  const uint64_t index = header.packed_offset + sizeof(packed);
  if (packed.reserved != 0 || packed.index_bytes > header.file_bytes - index ||
      packed.index_bytes % kWeightAlignment != 0 ||
      packed.pool_offset != NextSection(index + packed.index_bytes) ||
      packed.pool_offset > header.file_bytes ||
      packed.pool_bytes != header.file_bytes - packed.pool_offset) {
    return Reject("packed section at ", header.packed_offset, ": an index of ", packed.index_bytes,
                  " bytes and a pool of ", packed.pool_bytes, " bytes at ", packed.pool_offset,
                  " do not fill the file of ", header.file_bytes, " bytes (reserved field ",
                  packed.reserved, ")");
  }
  return packed;
}

}  // namespace ashlar
