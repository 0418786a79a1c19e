// Where the command keeps its kernel record. A file of its own: programs that link the library read
// no environment.
#ifndef ASHLAR_SERIALIZATION_KERNEL_RECORD_PATH_H_
#define ASHLAR_SERIALIZATION_KERNEL_RECORD_PATH_H_

#include <string>

namespace ashlar {

// $ASHLAR_KERNELS, or kernels.json in the folder ashlar of the user's cache ($XDG_CACHE_HOME or
// ~/.cache); empty where the environment names none of them.
std::string DefaultKernelRecordPath();

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_KERNEL_RECORD_PATH_H_
