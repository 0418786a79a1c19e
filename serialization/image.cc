#include "serialization/image.h"

#include <stb/stb_image.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "graph/status.h"
#include "serialization/exif.h"
#include "serialization/png_chunks.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 26;

// Takes one number of a PPM header, after spaces and comments.
bool TakeNumber(absl::string_view& text, int64_t& number) {
  while (!text.empty() && (absl::ascii_isspace(text[0]) || text[0] == '#')) {
    const size_t end = text[0] == '#' ? text.find('\n') : 0;
    text.remove_prefix(std::min(end, text.size() - 1) + 1);
  }
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (!absl::SimpleAtoi(text.substr(0, digits), &number)) return false;
  text.remove_prefix(digits);
  return true;
}

// Decodes binary PPM (P6) and PGM (P5) with one byte per value. stb would accept a file without its
// pixels.
absl::StatusOr<Pixels> DecodePpm(absl::string_view text) {
  const size_t channels = text[1] == '6' ? 3 : 1;
  text.remove_prefix(2);
  Pixels pixels;
  int64_t largest = 0;
  if (!TakeNumber(text, pixels.size.width) || !TakeNumber(text, pixels.size.height) ||
      !TakeNumber(text, largest) || largest != 255 || text.empty()) {
    return Reject("broken PPM header, expected width, height and 255");
  }
  text.remove_prefix(1);
  ASHLAR_RETURN_IF_ERROR(CheckPictureSize(pixels.size, "image"));
  const size_t bytes = pixels.size.height * pixels.size.width * channels;
  if (text.size() < bytes) return Reject("truncated: ", text.size(), " bytes of ", bytes);
  for (size_t i = 0; i < bytes; ++i)
    pixels.data.insert(pixels.data.end(), Pixels::kChannels / channels, text[i]);
  return pixels;
}

// stb ignores checksums. For a PNG that is too large it only says that it does not know the image
// type.
absl::Status CheckPng(absl::string_view text) {
  const std::optional<PictureSize> size = PngSize(text);
  if (!size) return Reject("broken PNG: it ends within its first chunk");
  ASHLAR_RETURN_IF_ERROR(CheckPictureSize(*size, "image"));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<PngChunk> chunks, PngChunks(text));
  return CheckPngPixels(chunks, *size);
}

absl::StatusOr<Pixels> DecodeWithStb(absl::string_view text) {
  if (text.size() > std::numeric_limits<int>::max()) return Reject("larger than 2 GiB");
  if (IsPng(text)) ASHLAR_RETURN_IF_ERROR(CheckPng(text));
  const stbi_uc* bytes = reinterpret_cast<const stbi_uc*>(text.data());
  const int size = static_cast<int>(text.size());
  int width = 0, height = 0, channels = 0;
  if (!stbi_info_from_memory(bytes, size, &width, &height, &channels)) {
    return Reject("broken image: ", stbi_failure_reason());
  }
  ASHLAR_RETURN_IF_ERROR(CheckPictureSize({height, width}, "image"));
  stbi_uc* data = stbi_load_from_memory(bytes, size, &width, &height, &channels, Pixels::kChannels);
  if (data == nullptr) return Reject("broken image: ", stbi_failure_reason());
  Pixels pixels = {{height, width}, {data, data + int64_t{height} * width * Pixels::kChannels}};
  stbi_image_free(data);
  return Upright(std::move(pixels), OrientationOf(text));
}

// Decides by the first bytes. stb knows more formats, but they are rarely used and tested.
absl::StatusOr<Pixels> Decode(absl::Span<const uint8_t> bytes) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (absl::StartsWith(text, "P5") || absl::StartsWith(text, "P6")) return DecodePpm(text);
  if (IsPng(text) || absl::StartsWith(text, "\xff\xd8\xff")) return DecodeWithStb(text);
  return Reject("not a PNG, JPEG or PPM image");
}

}  // namespace

absl::Status CheckPictureSize(PictureSize size, absl::string_view what) {
  const auto [height, width] = size;
  if (height > 0 && width > 0 && height <= kMaxPixels && width <= kMaxPixels / height) {
    return absl::OkStatus();
  }
  return Reject(what, " of ", height, " x ", width, " pixels, expected 1 to ", kMaxPixels);
}

absl::StatusOr<Pixels> ParseImage(absl::Span<const uint8_t> bytes, absl::string_view name) {
  absl::StatusOr<Pixels> pixels = Decode(bytes);
  if (!pixels.ok()) return Annotate(pixels.status(), name);
  return pixels;
}

HostTensor ToPlanes(const Pixels& pixels, const ChannelOptions& options) {
  const auto [height, width] = pixels.size;
  HostTensor tensor = HostTensor::Zeros(DType::kFloat32, {1, Pixels::kChannels, height, width});
  float* out = tensor.mutable_data<float>().data();
  for (int c = 0; c < Pixels::kChannels; ++c) {
    const int source = options.bgr ? Pixels::kChannels - 1 - c : c;
    for (size_t i = source; i < pixels.data.size(); i += Pixels::kChannels) {
      *out++ = (static_cast<float>(pixels.data[i]) - options.mean[c]) * options.scale[c];
    }
  }
  return tensor;
}

}  // namespace ashlar
