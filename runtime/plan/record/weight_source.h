// The pool of packed weights in a file, as weights are streamed from it.
#ifndef ASHLAR_RUNTIME_PLAN_RECORD_WEIGHT_SOURCE_H_
#define ASHLAR_RUNTIME_PLAN_RECORD_WEIGHT_SOURCE_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ashlar {

// Reads of a disk that are in flight together: it reads faster than one after the other.
inline constexpr int kReadsInFlight = 4;

class WeightSource {
 public:
  // Which file, and when it was last written to.
  using Stamp = std::array<int64_t, 5>;

  virtual ~WeightSource() = default;
  virtual const std::string& name() const = 0;  // for messages
  // Reads bytes of the pool. Allocates nothing unless it fails; errors name file, offset, got and
  // expected. Any number of threads may read.
  virtual absl::Status Read(int64_t offset, int64_t bytes, void* to) const = 0;
  // Reads bytes from the first one on, as many as need no wait for a disk. Returns how many.
  virtual int64_t ReadCached(int64_t offset, int64_t bytes, void* to) const = 0;
  // Returns the file's stamp now, and when it was opened.
  virtual absl::StatusOr<Stamp> CurrentStamp() const = 0;
  virtual Stamp opened() const = 0;
  // Reads all of the pool; FailedPrecondition if its bytes are others than when it was packed.
  virtual absl::Status Verify() const = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_PLAN_RECORD_WEIGHT_SOURCE_H_
