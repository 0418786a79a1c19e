// Devices whose backend is a shared library, opened at the first request for such a device.
#ifndef ASHLAR_RUNTIME_DEVICE_DEVICE_LIBRARY_H_
#define ASHLAR_RUNTIME_DEVICE_DEVICE_LIBRARY_H_

#include <string>

#include "runtime/device/device.h"

namespace ashlar {

// The interface that a library exports under the C symbol "ashlar_device_library".
struct DeviceLibrary {
  const char* build;  // kDeviceLibraryBuild of the library
  absl::StatusOr<Device*> (*open)(const CompNode& comp_node);
};
inline constexpr char kDeviceLibrarySymbol[] = "ashlar_device_library";

// Names the layout of all data that crosses the library's interface; increase the number when an
// interface of runtime/ or opr/ changes.
inline constexpr char kDeviceLibraryBuild[] = "4, g++ " __VERSION__;

// Registers `file` ("libashlar_cuda.so") as the library for devices of the type. It is searched for
// beside the program or the library that contains this code, then in ../lib from there, then in the
// system's paths. Opening such a device returns Unavailable, with the reason, if there is no such
// library, or it does not match this program.
void RegisterDeviceLibrary(CompNode::Type type, std::string file);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_DEVICE_LIBRARY_H_
