// The path of the command's kernel record. A separate file, because the library reads no
// environment variables.
#ifndef ASHLAR_SERIALIZATION_KERNEL_RECORD_PATH_H_
#define ASHLAR_SERIALIZATION_KERNEL_RECORD_PATH_H_

#include <string>

namespace ashlar {

// Returns $ASHLAR_KERNELS, or ashlar/kernels.json in the user's cache ($XDG_CACHE_HOME or
// ~/.cache). Returns an empty path if the environment sets none of these.
std::string DefaultKernelRecordPath();

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_KERNEL_RECORD_PATH_H_
