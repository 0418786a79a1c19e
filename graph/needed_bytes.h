// Errors of what does not fit that say, to programs, how many bytes would do.
#ifndef ASHLAR_GRAPH_NEEDED_BYTES_H_
#define ASHLAR_GRAPH_NEEDED_BYTES_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// The same error, which says so.
absl::Status WithNeededBytes(absl::Status status, int64_t bytes);
// ResourceExhausted; `bytes` would do.
absl::Status DoesNotFit(absl::string_view message, int64_t bytes);
// Nothing where an error does not say.
std::optional<int64_t> NeededBytes(const absl::Status& status);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_NEEDED_BYTES_H_
