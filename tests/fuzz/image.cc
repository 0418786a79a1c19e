// Pictures: PNG, JPEG with and without an orientation, PPM; decoded, then resized to an input.
#include "serialization/image.h"

#include <stb/stb_image_write.h>

#include "tests/fuzz/target.h"
#include "tests/serialization/picture_files.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kMostPixels = 1 << 20;  // limit for resizing

// Returns grey from dark to light, 9 x 7 pixels.
std::vector<uint8_t> Ramp(int channels) {
  std::vector<uint8_t> pixels(static_cast<size_t>(9 * 7 * channels));
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(4 * i);
  return pixels;
}

void Append(void* target, void* data, int size) {
  static_cast<std::string*>(target)->append(static_cast<char*>(data), static_cast<size_t>(size));
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = {
      "P6\n2 1\n255\n\x01\x02\x03\xf1\xf2\xf3", "P5 # width\n#height\n 1 2\n255\n\x07\x09",
      Png({2, 1}, PngChunkText("IDAT", Deflated(std::string("\0\x01\x02\x03\0\x04\x05\x06", 8))))};
  for (const int channels : {1, 3, 4}) {
    const std::vector<uint8_t> pixels = Ramp(channels);
    std::string png, jpeg;
    stbi_write_png_to_func(Append, &png, 9, 7, channels, pixels.data(), 9 * channels);
    stbi_write_jpg_to_func(Append, &jpeg, 9, 7, channels, pixels.data(), 80);
    seeds.push_back(png);
    seeds.push_back(jpeg);
    // TIFF, little endian, with one entry: orientation 6.
    const std::string exif(
        "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0", 32);
    const char length[] = {0, static_cast<char>(exif.size() + 2)};
    seeds.push_back(jpeg.substr(0, 2) + "\xff\xe1" + std::string(length, 2) + exif +
                    jpeg.substr(2));
  }
  return seeds;
}

void Run(absl::Span<const uint8_t> file) {
  const absl::StatusOr<Pixels> pixels = ParseImage(file, "picture");
  ExpectAnError(pixels.status());
  if (!pixels.ok()) return;
  const auto [height, width] = pixels->size;
  Expect(height > 0 && width > 0, "a picture has pixels");
  Expect(pixels->data.size() == static_cast<size_t>(height * width * Pixels::kChannels),
         "all pixels are there");
  if (height * width > kMostPixels) return;
  Expect(ToPlanes(*pixels, {}).num_elements() == height * width * Pixels::kChannels, "as a tensor");
}

uint32_t NumberAt(const std::string& file, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(file[at + i]);
  return number;
}

// Changes the bytes of a PNG chunk and fixes its checksum.
std::string Mutate(const std::string& file, std::mt19937_64& random) {
  constexpr size_t kSignature = 8, kAround = 12;  // bytes before all chunks, and around each
  std::vector<size_t> chunks;
  for (size_t at = kSignature; at + kAround <= file.size() && file[0] == '\x89';) {
    const size_t next = at + kAround + NumberAt(file, at);
    if (next > file.size()) break;
    chunks.push_back(at);
    at = next;
  }
  if (chunks.empty()) return WithChangedBytes(file, random);
  const size_t at = chunks[random() % chunks.size()];
  const size_t length = NumberAt(file, at);
  const std::string data = WithChangedBytes(file.substr(at + 8, length), random);
  return file.substr(0, at) + PngChunkText(file.substr(at + 4, 4), data) +
         file.substr(at + kAround + length);
}

}  // namespace

const FuzzTarget kFuzzTarget = {Seeds, {"data/onnx/real"}, Run, Mutate};

}  // namespace ashlar::testing
