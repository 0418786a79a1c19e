#include "serialization/native_format.h"

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
  uint64_t reserved;
};
static_assert(sizeof(RawHeader) == kNativeHeaderBytes);

template <typename... Parts>
absl::Status Reject(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace

std::array<uint8_t, kNativeHeaderBytes> EncodeHeader(const NativeHeader& header) {
  RawHeader raw = {{}, kNativeVersion, kNativeHeaderBytes, header, 0};
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
  if (raw.header_bytes != kNativeHeaderBytes || raw.reserved != 0) {
    return Reject("header: size ", raw.header_bytes, " and reserved field ", raw.reserved,
                  ", expected ", kNativeHeaderBytes, " and 0");
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
      weights_end != header.file_bytes) {
    return Reject("header: weights section of ", header.weights_bytes, " bytes at ",
                  header.weights_offset, " does not end the file of ", header.file_bytes,
                  " bytes at a multiple of ", kWeightsSectionAlignment);
  }
  return header;
}

}  // namespace ashlar
