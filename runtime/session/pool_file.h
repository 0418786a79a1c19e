// Packed weights in a file without a name: pages of it that memory cannot hold are read again.
#ifndef ASHLAR_RUNTIME_SESSION_POOL_FILE_H_
#define ASHLAR_RUNTIME_SESSION_POOL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/plan/record/packed_model.h"

namespace ashlar {

// Packs the weights of `packed`, which are not in memory, into a file in `folder` and maps it. The
// file vanishes with the last copy of `packed`. Errors name the folder.
absl::Status PackIntoFile(const std::string& folder, PackedModel& packed);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_POOL_FILE_H_
