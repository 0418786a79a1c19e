// Errors of memory that the host has not got: how much was needed, and how much may be had.
#ifndef ASHLAR_GRAPH_HOST_MEMORY_H_
#define ASHLAR_GRAPH_HOST_MEMORY_H_

#include <cstdint>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// Bytes of addresses that the process has (VmSize); 0 where it cannot be read. Allocates next to
// nothing.
int64_t AddressesTaken();

// A payload that tells these errors from those of a limit that a plan was given.
inline constexpr char kHostMemory[] = "ashlar/host_memory";

// ResourceExhausted: "MESSAGE; ulimit -v allows 200000000 bytes of addresses, of which 150000000
// are taken", or the machine's memory where there is no such limit.
absl::Status HostMemoryError(absl::string_view message);

// The same of so many bytes for `what`.
absl::Status NoHostMemory(absl::string_view what, int64_t bytes);

// Thrown where a container would throw, too; carries the error.
class HostMemoryExhausted : public std::bad_alloc {
 public:
  HostMemoryExhausted(absl::string_view what, int64_t bytes) : status_(NoHostMemory(what, bytes)) {}
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_HOST_MEMORY_H_
