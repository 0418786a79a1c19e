// Errors of memory that does not suffice, with the number of bytes that would do, for programs.
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
