// Errors for insufficient memory that carry the number of bytes that would suffice, for programs.
#ifndef ASHLAR_GRAPH_NEEDED_BYTES_H_
#define ASHLAR_GRAPH_NEEDED_BYTES_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// Returns `status` with the number of bytes that would suffice.
absl::Status WithNeededBytes(absl::Status status, int64_t bytes);
// Returns ResourceExhausted; `bytes` would suffice.
absl::Status DoesNotFit(absl::string_view message, int64_t bytes);
// Returns the bytes that would suffice; empty if the error does not say.
std::optional<int64_t> NeededBytes(const absl::Status& status);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_NEEDED_BYTES_H_
