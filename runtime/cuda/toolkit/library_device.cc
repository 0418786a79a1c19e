#include "runtime/cuda/toolkit/library_device.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "graph/status.h"

namespace ashlar::cuda {
namespace {

// An 80 GB H100 as cuDNN 9.19 describes it (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION). Sizes are
// in bytes, clocks in kHz.
constexpr char kHopper[] = R"({
  "deviceName": "NVIDIA H100 80GB HBM3", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
  "pciDeviceId": 6, "multiProcessorCount": 132, "smClockRateKHz": 1980000,
  "memClockRateKHz": 2619000, "totalGlobalMem": 85017493504, "l2CacheSize": 52428800,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
  "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "isTccDriver": 0, "supportCoopLaunch": 1
})";

// Names a file that describes another device.
constexpr char kVariable[] = "ASHLAR_DEVICE_PROPERTIES";

absl::StatusOr<std::string> Description() {
  const char* const path = std::getenv(kVariable);
  if (path == nullptr || *path == '\0') return std::string(kHopper);
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (file.bad() || text.empty()) {
    return absl::NotFoundError(absl::StrCat(kVariable, ": no description of a device in ", path));
  }
  return text;
}

}  // namespace

template <>
struct AttributeType<char> {
  static constexpr auto kValue = CUDNN_TYPE_CHAR;
};

LibraryDevice::~LibraryDevice() {
  if (cudnn != nullptr) static_cast<void>(cudnnDestroy(cudnn));
  if (cublas != nullptr) static_cast<void>(cublasLtDestroy(cublas));
}

absl::StatusOr<std::unique_ptr<Descriptor>> DescribeDevice() {
  ASHLAR_ASSIGN_OR_RETURN(const std::string text, Description());
  auto description = std::make_unique<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  description
      ->SetAll<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                     absl::MakeConstSpan(text.c_str(), text.size() + 1))
      .Finalize();
  ASHLAR_RETURN_IF_ERROR(Annotate(description->status(), "the description of a device"));
  return description;
}

}  // namespace ashlar::cuda
