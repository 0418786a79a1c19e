// Arrays of NumPy: .npy, or .npz if the file begins as a zip archive.
#include "serialization/npy.h"

#include <cstring>

#include "absl/strings/match.h"
#include "serialization/npz.h"
#include "tests/fuzz/target.h"
#include "tests/serialization/files.h"

namespace ashlar::testing {
namespace {

HostTensor Counted(DType dtype, const Shape& shape) {
  HostTensor tensor = HostTensor::Zeros(dtype, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.Set(i, static_cast<double>(i % 100));
  return tensor;
}

std::string Npy(const HostTensor& tensor) {
  const HostTensor elements = AsNpyElements(tensor);
  return NpyHeader(tensor) + std::string(static_cast<const char*>(elements.raw()),
                                         static_cast<size_t>(elements.bytes()));
}

std::vector<std::string> Seeds() {
  const HostTensor image = Counted(DType::kFloat32, {1, 3, 2, 2});
  const HostTensor labels = Counted(DType::kInt64, {4});
  const TempDir folder;
  if (!WriteNpz({{"image", image}, {"labels", labels}}, folder / "x.npz").ok()) return {};
  return {Npy(image), Npy(labels), Npy(Counted(DType::kBool, {})), Npy(Counted(DType::kInt8, {0})),
          ReadWholeFile(folder / "x.npz")};
}

void CheckArray(const HostTensor& tensor) {
  const std::string file = Npy(tensor);
  const auto again = ParseNpy({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "y");
  Expect(again.ok(), "what was written is read again");
  Expect(again->dtype() == tensor.dtype() && again->shape() == tensor.shape(), "as it was");
  Expect(tensor.bytes() == 0 ||
             std::memcmp(again->raw(), tensor.raw(), static_cast<size_t>(tensor.bytes())) == 0,
         "with the same elements");
}

void Run(absl::Span<const uint8_t> file) {
  const absl::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (absl::StartsWith(text, "PK")) {
    const auto arrays = ParseNpz(file, "x.npz");
    ExpectAnError(arrays.status());
    if (!arrays.ok()) return;
    for (const auto& [name, tensor] : *arrays) CheckArray(tensor);
    return;
  }
  const auto array = ParseNpy(file, "x.npy");
  ExpectAnError(array.status());
  if (array.ok()) CheckArray(*array);
}

}  // namespace

const FuzzTarget kFuzzTarget = {Seeds, {}, Run, nullptr};

}  // namespace ashlar::testing
