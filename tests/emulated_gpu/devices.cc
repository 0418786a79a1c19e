// Devices, versions and errors of the emulated CUDA runtime.
#include <cuda_runtime.h>

#include <cstdio>
#include <utility>

#include "tests/emulated_gpu/emulation.h"
#include "tests/emulated_gpu/runtime.h"

namespace ashlar::emulated {
namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

// Returns why there is no device, or cudaSuccess.
cudaError_t Missing() {
  const Machine& machine = TheMachine();
  if (machine.driver < CUDART_VERSION / 1000 * 1000) return cudaErrorInsufficientDriver;
  return machine.devices == 0 ? cudaErrorNoDevice : cudaSuccess;
}

struct ErrorTexts {
  const char* name;
  const char* meaning;
};

ErrorTexts TextsOf(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return {"cudaErrorMemoryAllocation", "out of memory"};
    case cudaErrorUnknown:
      return {"cudaErrorUnknown", "unknown error"};
    case cudaErrorIllegalAddress:
      return {"cudaErrorIllegalAddress", "an illegal memory access was encountered"};
    default:
      return {"another error of the emulation's", "described nowhere"};
  }
}

}  // namespace

// The error of a dead device stays, however often it is read.
cudaError_t Failed(cudaError_t error) {
  const auto died = static_cast<cudaError_t>(TheMachine().dead_of);
  return last_error = died != cudaSuccess ? died : error;
}
cudaError_t LastError() {
  const auto died = static_cast<cudaError_t>(TheMachine().dead_of);
  return std::exchange(last_error, died);
}
int CurrentDevice() { return current_device; }

}  // namespace ashlar::emulated

using namespace ashlar::emulated;

cudaError_t cudaGetLastError() {
  const Call call("cudaGetLastError");
  return LastError();
}

const char* cudaGetErrorName(cudaError_t error) {
  const Call call("cudaGetErrorName");
  return TextsOf(error).name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const Call call("cudaGetErrorString");
  return TextsOf(error).meaning;
}

cudaError_t cudaGetDeviceCount(int* count) {
  const Call call("cudaGetDeviceCount");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (const cudaError_t missing = Missing(); missing != cudaSuccess) return Failed(missing);
  *count = static_cast<int>(TheMachine().devices);
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const Call call("cudaSetDevice");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (const cudaError_t missing = Missing(); missing != cudaSuccess) return Failed(missing);
  if (device < 0 || device >= TheMachine().devices) {
    call.Misuse("no such device");
    return Failed(cudaErrorInvalidDevice);
  }
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  const Call call("cudaGetDevice");
  if (call.fails()) return Failed(cudaErrorUnknown);
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Call call("cudaGetDeviceProperties");
  if (call.fails()) return Failed(cudaErrorUnknown);
  if (device < 0 || device >= TheMachine().devices) return Failed(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "Emulated GPU %d", device);
  properties->major = static_cast<int>(TheMachine().capability / 10);
  properties->minor = static_cast<int>(TheMachine().capability % 10);
  properties->totalGlobalMem = static_cast<size_t>(TheMachine().memory);
  properties->l2CacheSize = 20000;  // too small for small images
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  const Call call("cudaDriverGetVersion");
  if (call.fails()) return Failed(cudaErrorUnknown);
  *version = static_cast<int>(TheMachine().driver);
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  const Call call("cudaRuntimeGetVersion");
  if (call.fails()) return Failed(cudaErrorUnknown);
  *version = CUDART_VERSION;
  return cudaSuccess;
}
