// Errors of readers about their input.
#ifndef ASHLAR_SERIALIZATION_REJECT_H_
#define ASHLAR_SERIALIZATION_REJECT_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ashlar {

// Returns InvalidArgument with the parts as its message.
template <typename... Parts>
absl::Status Reject(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_REJECT_H_
