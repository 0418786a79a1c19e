// Planning that its caller watches: progress, a time limit, and cancellation.
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
#include "runtime/plan/request/planning_options.h"

namespace ashlar::c {

// The settings of a caller that waits for a plan.
struct Watch {
  double time_limit = 0;  // seconds; 0: no limit
  ashlar_progress_fn progress = nullptr;
  void* context = nullptr;
};

// Arguments of a watched body: it ends early once `stop` is requested, and reports to `progress`.
struct Watched {
  std::stop_token stop;
  std::shared_ptr<PlanningProgress> progress;  // null if nobody watches
};

// Calls `body`: in this thread if there is nothing to watch, otherwise in a separate thread, while
// this one calls the caller's progress function. Exceptions of the body are thrown here.
// InvalidArgument if the time limit is negative or not a number. The body's Cancelled becomes an
// error of ASHLAR_CANCELLED or ASHLAR_OUT_OF_TIME.
absl::Status RunWatched(const Watch& watch,
                        absl::FunctionRef<absl::Status(const Watched& watched)> body);

// The same, for options with the fields of a watch and a body that returns an absl::StatusOr<T>.
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
