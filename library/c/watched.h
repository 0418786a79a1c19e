// Planning that its caller watches: progress, a limit of time, and an end on request.
#ifndef ASHLAR_LIBRARY_C_WATCHED_H_
#define ASHLAR_LIBRARY_C_WATCHED_H_

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "library/include/ashlar/ashlar.h"
#include "runtime/plan/means.h"

namespace ashlar::c {

// The wishes of a caller who waits for a plan.
struct Watch {
  double time_limit = 0;  // seconds; 0: any
  ashlar_progress_fn progress = nullptr;
  void* context = nullptr;
};

// What a watched body works with: it ends early once `stop` is requested, and reports to
// `progress`.
struct Watched {
  std::stop_token stop;
  std::shared_ptr<PlanningProgress> progress;  // null if nobody watches
};

// Calls `body`: in this thread if there is nothing to watch, otherwise in a thread of its own,
// while this one asks the caller. What the body throws is thrown here. InvalidArgument if the time
// limit is no time; errors of ASHLAR_CANCELLED and ASHLAR_OUT_OF_TIME in place of the body's
// Cancelled.
absl::Status RunWatched(const Watch& watch,
                        absl::FunctionRef<absl::Status(const Watched& watched)> body);

// The same for options with the fields of a watch, and a body that returns an absl::StatusOr<T>.
template <typename T, typename Options, typename Body>
absl::StatusOr<T> MakeWatched(const Options& options, const Body& body) {
  std::optional<T> made;
  const absl::Status status =
      RunWatched({options.time_limit, options.progress, options.progress_context},
                 [&](const Watched& watched) -> absl::Status {
                   absl::StatusOr<T> result = body(watched);
                   if (result.ok()) made = *std::move(result);
                   return result.status();
                 });
  if (!status.ok()) return status;
  return *std::move(made);
}

}  // namespace ashlar::c

#endif  // ASHLAR_LIBRARY_C_WATCHED_H_
