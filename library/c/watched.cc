#include "library/c/watched.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "absl/strings/str_cat.h"
#include "library/c/border.h"

namespace ashlar::c {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetween = std::chrono::milliseconds(20);  // between two calls of the progress
                                                          // function
constexpr double kMostSeconds = 1e9;                      // the clock's range

// A thread that runs the body.
class Worker {
 public:
  explicit Worker(absl::FunctionRef<absl::Status(const Watched&)> body)
      : thread_([this, body](std::stop_token stop) { Work(body, std::move(stop)); }) {}

  // Waits, and returns whether the body has returned before `end`.
  bool WaitUntil(Clock::time_point end) {
    std::unique_lock<std::mutex> lock(mutex_);
    return returned_.wait_until(lock, end, [&] { return done_; });
  }
  void Stop() { thread_.request_stop(); }
  // Waits for the body and returns its result.
  absl::Status Take() {
    thread_.join();
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
    return result_;
  }
  const PlanningProgress& progress() const { return *progress_; }

 private:
  void Work(absl::FunctionRef<absl::Status(const Watched&)> body, std::stop_token stop) {
    try {
      result_ = body({std::move(stop), progress_});
    } catch (...) {
      thrown_ = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    returned_.notify_all();
  }

  const std::shared_ptr<PlanningProgress> progress_ = std::make_shared<PlanningProgress>();
  std::mutex mutex_;
  std::condition_variable returned_;
  bool done_ = false;
  absl::Status result_;
  std::exception_ptr thrown_;
  std::jthread thread_;  // last: the thread uses the other members
};

ashlar_progress ProgressOf(const PlanningProgress& progress, Clock::time_point start) {
  ashlar_progress now = {};
  now.size = sizeof(now);
  now.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  now.plans = progress.plans.load();
  const int64_t least = progress.least_arena.load();
  now.least_arena = least == std::numeric_limits<int64_t>::max() ? 0 : least;
  return now;
}

}  // namespace

absl::Status RunWatched(const Watch& watch, absl::FunctionRef<absl::Status(const Watched&)> body) {
  if (!(watch.time_limit >= 0)) {
    return InvalidArgument(
        absl::StrCat("time_limit is ", watch.time_limit, "; expected seconds, 0 for none"));
  }
  if (watch.time_limit == 0 && watch.progress == nullptr) return body({});
  const Clock::time_point start = Clock::now();
  const auto limit = std::chrono::duration<double>(
      watch.time_limit > 0 ? std::min(watch.time_limit, kMostSeconds) : kMostSeconds);
  const Clock::time_point end = start + std::chrono::duration_cast<Clock::duration>(limit);
  Worker worker(body);
  absl::Status ended;
  while (!worker.WaitUntil(std::min(Clock::now() + kBetween, end))) {
    const ashlar_progress now = ProgressOf(worker.progress(), start);
    if (Clock::now() >= end) {
      ended = WithStatus(
          absl::DeadlineExceededError(absl::StrCat(
              "no plan within time_limit, ", watch.time_limit, " seconds; plans that were made on ",
              "the way: ", now.plans, now.plans > 0 ? ", the smallest of " : "",
              now.plans > 0 ? absl::StrCat(now.least_arena, " bytes") : "")),
          ASHLAR_OUT_OF_TIME);
    } else if (watch.progress != nullptr && watch.progress(watch.context, &now) != 0) {
      ended = WithStatus(absl::CancelledError("planning was cancelled by the progress function"),
                         ASHLAR_CANCELLED);
    }
    if (ended.ok()) continue;
    worker.Stop();
    break;
  }
  absl::Status result = worker.Take();
  return ended.ok() || !absl::IsCancelled(result) ? result : ended;
}

}  // namespace ashlar::c
