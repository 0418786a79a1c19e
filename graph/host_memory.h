// Errors for insufficient host memory: they say how much was needed and how much is available.
#ifndef ASHLAR_GRAPH_HOST_MEMORY_H_
#define ASHLAR_GRAPH_HOST_MEMORY_H_

#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// Returns the bytes of address space of this process (VmSize); 0 if they cannot be read. Allocates
// almost nothing.
int64_t AddressesTaken();

// A payload that distinguishes these errors from a plan's memory limits.
inline constexpr char kHostMemory[] = "ashlar/host_memory";

// ResourceExhausted: "MESSAGE; ulimit -v allows 200000000 bytes of addresses, of which 150000000
// are taken". Without such a limit it names the machine's memory.
absl::Status HostMemoryError(absl::string_view message);

// Returns HostMemoryError for `bytes` bytes for `what`.
absl::Status NoHostMemory(absl::string_view what, int64_t bytes);

// An exception for code in which containers throw, too; carries the error.
class HostMemoryExhausted : public std::bad_alloc {
 public:
  HostMemoryExhausted(absl::string_view what, int64_t bytes) : status_(NoHostMemory(what, bytes)) {}
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_HOST_MEMORY_H_
