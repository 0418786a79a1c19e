#include "serialization/image.h"

#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "graph/status.h"
#include "serialization/mapped_file.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 26;
constexpr int kChannels = 3;

// Rows of red, green and blue bytes.
struct Pixels {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> data;
};

absl::Status CheckSize(int64_t height, int64_t width, absl::string_view what) {
  if (height > 0 && width > 0 && height <= kMaxPixels && width <= kMaxPixels / height) {
    return absl::OkStatus();
  }
  return Reject(what, " of ", height, " x ", width, " pixels, expected 1 to ", kMaxPixels);
}

// One number of a PPM header, behind spaces and comments.
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

// Binary PPM (P6) and PGM (P5) with one byte a value. stb would take one without its pixels.
absl::StatusOr<Pixels> DecodePpm(absl::string_view text) {
  const size_t channels = text[1] == '6' ? 3 : 1;
  text.remove_prefix(2);
  Pixels pixels;
  int64_t largest = 0;
  if (!TakeNumber(text, pixels.width) || !TakeNumber(text, pixels.height) ||
      !TakeNumber(text, largest) || largest != 255 || text.empty()) {
    return Reject("broken PPM header, expected width, height and 255");
  }
  text.remove_prefix(1);
  ASHLAR_RETURN_IF_ERROR(CheckSize(pixels.height, pixels.width, "image"));
  const size_t bytes = pixels.height * pixels.width * channels;
  if (text.size() < bytes) return Reject("truncated: ", text.size(), " bytes of ", bytes);
  for (size_t i = 0; i < bytes; ++i)
    pixels.data.insert(pixels.data.end(), kChannels / channels, text[i]);
  return pixels;
}

// A PNG's size stands in its first chunk. Of one that is too large for it stb would only say that
// it knows no such type of image.
absl::Status CheckPngSize(absl::string_view text) {
  constexpr size_t kWidthAt = 16, kHeightAt = 20, kEnd = 24;
  if (!absl::StartsWith(text, "\x89PNG") || text.size() < kEnd) return absl::OkStatus();
  const auto number = [&](size_t at) {
    int64_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(text[at + i]);
    return value;
  };
  return CheckSize(number(kHeightAt), number(kWidthAt), "image");
}

absl::StatusOr<Pixels> DecodeWithStb(absl::string_view text) {
  if (text.size() > std::numeric_limits<int>::max()) return Reject("larger than 2 GiB");
  ASHLAR_RETURN_IF_ERROR(CheckPngSize(text));
  const stbi_uc* bytes = reinterpret_cast<const stbi_uc*>(text.data());
  const int size = static_cast<int>(text.size());
  int width = 0, height = 0, channels = 0;
  if (!stbi_info_from_memory(bytes, size, &width, &height, &channels)) {
    return Reject("broken image: ", stbi_failure_reason());
  }
  ASHLAR_RETURN_IF_ERROR(CheckSize(height, width, "image"));
  stbi_uc* data = stbi_load_from_memory(bytes, size, &width, &height, &channels, kChannels);
  if (data == nullptr) return Reject("broken image: ", stbi_failure_reason());
  Pixels pixels = {height, width, {data, data + int64_t{height} * width * kChannels}};
  stbi_image_free(data);
  return pixels;
}

// By the first bytes. stb knows more formats, but they are little used and little tested.
absl::StatusOr<Pixels> Decode(absl::Span<const uint8_t> bytes) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (absl::StartsWith(text, "P5") || absl::StartsWith(text, "P6")) return DecodePpm(text);
  if (absl::StartsWith(text, "\x89PNG") || absl::StartsWith(text, "\xff\xd8\xff")) {
    return DecodeWithStb(text);
  }
  return Reject("not a PNG, JPEG or PPM image");
}

absl::StatusOr<Pixels> Resize(const Pixels& from, int64_t height, int64_t width) {
  ASHLAR_RETURN_IF_ERROR(CheckSize(height, width, "resized image"));
  Pixels to = {height, width, std::vector<uint8_t>(height * width * kChannels)};
  if (stbir_resize_uint8_generic(from.data.data(), static_cast<int>(from.width),
                                 static_cast<int>(from.height), 0, to.data.data(),
                                 static_cast<int>(width), static_cast<int>(height), 0, kChannels,
                                 STBIR_ALPHA_CHANNEL_NONE, 0, STBIR_EDGE_CLAMP,
                                 STBIR_FILTER_TRIANGLE, STBIR_COLORSPACE_LINEAR, nullptr)) {
    return to;
  }
  return Reject("cannot resize ", from.height, " x ", from.width, " to ", height, " x ", width);
}

HostTensor ToPlanes(const Pixels& pixels, const ImageOptions& options) {
  HostTensor tensor =
      HostTensor::Zeros(DType::kFloat32, {1, kChannels, pixels.height, pixels.width});
  float* out = tensor.mutable_data<float>().data();
  for (int c = 0; c < kChannels; ++c) {
    for (size_t i = c; i < pixels.data.size(); i += kChannels) {
      *out++ = (static_cast<float>(pixels.data[i]) - options.mean[c]) * options.scale[c];
    }
  }
  return tensor;
}

absl::StatusOr<HostTensor> Read(absl::Span<const uint8_t> bytes, const ImageOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(Pixels pixels, Decode(bytes));
  const int64_t height = options.height > 0 ? options.height : pixels.height;
  const int64_t width = options.width > 0 ? options.width : pixels.width;
  if (height != pixels.height || width != pixels.width) {
    ASHLAR_ASSIGN_OR_RETURN(pixels, Resize(pixels, height, width));
  }
  return ToPlanes(pixels, options);
}

}  // namespace

absl::StatusOr<HostTensor> ReadImage(const std::string& path, const ImageOptions& options) {
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  absl::StatusOr<HostTensor> tensor = Read(file->bytes(), options);
  if (!tensor.ok()) return Annotate(tensor.status(), path);
  return tensor;
}

}  // namespace ashlar
