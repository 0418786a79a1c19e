// Ends long searches that the caller has cancelled.
#ifndef ASHLAR_MEMORY_PROBLEM_STOP_H_
#define ASHLAR_MEMORY_PROBLEM_STOP_H_

#include <exception>
#include <stop_token>

#include "absl/status/status.h"

namespace ashlar::memory {

// Thrown inside a search that was asked to stop; never leaves a public function.
class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "planning was stopped"; }
};

inline void ThrowIfStopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Stopped();
}

// Calls body(), which returns a Status or StatusOr, and returns Cancelled if it was stopped.
template <typename Body>
auto CancelledIfStopped(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const Stopped& stopped) {
    return absl::CancelledError(stopped.what());
  }
}

}  // namespace ashlar::memory

#endif  // ASHLAR_MEMORY_PROBLEM_STOP_H_
