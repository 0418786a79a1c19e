#include "runtime/cuda/toolkit/library_device.h"

#include <cstring>

namespace ashlar::cuda {
namespace {

// The names are those of cudaDeviceProp and of its attributes; sizes are bytes, clocks kHz.
constexpr char kHopper[] = R"({
  "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
  "multiProcessorCount": 132, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
  "globalMemoryBusWidth": 6144, "totalGlobalMem": 150000000000, "l2CacheSize": 62914560,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
  "regsPerBlock": 65536, "maxRegistersPerSM": 65536, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "maxSharedMemoryPerMultiprocessor": 233472, "maxSharedMemoryPerSM": 233472,
  "reservedSharedMemoryPerBlock": 1024, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "maxMemoryPitch": 2147483647, "textureAlignment": 512,
  "isTccDriver": 0, "supportCoopLaunch": 1, "deviceName": "Hopper", "name": "Hopper"
})";

}  // namespace

template <>
struct AttributeType<char> {
  static constexpr auto kValue = CUDNN_TYPE_CHAR;
};

LibraryDevice::~LibraryDevice() {
  if (cudnn != nullptr) static_cast<void>(cudnnDestroy(cudnn));
  if (cublas != nullptr) static_cast<void>(cublasLtDestroy(cublas));
}

std::unique_ptr<Descriptor> DescribeDevice() {
  auto description = std::make_unique<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  description
      ->SetAll<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                     absl::MakeConstSpan(kHopper, sizeof(kHopper)))
      .Finalize();
  return description;
}

}  // namespace ashlar::cuda
