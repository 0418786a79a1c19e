// Devices whose backend is a shared library, opened when such a device is first asked for.
#ifndef ASHLAR_RUNTIME_DEVICE_DEVICE_LIBRARY_H_
#define ASHLAR_RUNTIME_DEVICE_DEVICE_LIBRARY_H_

#include <string>

#include "runtime/device/device.h"

namespace ashlar {

// The interface that a library hands over under the C symbol "ashlar_device_library".
struct DeviceLibrary {
  const char* build;  // kDeviceLibraryBuild of the library
  absl::StatusOr<Device*> (*open)(const CompNode& comp_node);
};
inline constexpr char kDeviceLibrarySymbol[] = "ashlar_device_library";

// Names the layout of everything that crosses the border; raise the number when an interface of
// runtime/ or opr/ changes.
inline constexpr char kDeviceLibraryBuild[] = "4, g++ " __VERSION__;

// Devices of the type come from `file` ("libashlar_cuda.so"): looked for beside the program or the
// library that this code is in, in ../lib from there, then where the system looks. Opening such a
// device is Unavailable, and says why, where there is no such library, or one that does not go with
// this program.
void RegisterDeviceLibrary(CompNode::Type type, std::string file);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_DEVICE_LIBRARY_H_
