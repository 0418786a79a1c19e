// Several runs of one executable on the way at once, so that a device works on one while the host
// copies the tensors of others.
#ifndef ASHLAR_RUNTIME_SESSION_PIPELINE_H_
#define ASHLAR_RUNTIME_SESSION_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session/session.h"

namespace ashlar {

struct PipelineOptions {
  // Runs on the way at most; each has a stream, inputs, outputs and staging of its own.
  int in_flight = 2;
  // For copies to overlap with work, these are enough: the runs then work one after the other in
  // one arena. With an arena for each, their work overlaps as well.
  bool arena_each = false;
};

// On the host nothing overlaps: Start does it all, in one arena. Not thread-safe.
class Pipeline {
 public:
  // ResourceExhausted where the device has not that much memory, naming the needed bytes.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(
      std::shared_ptr<const Executable> executable, const PipelineOptions& options);

  // The next run: its tensors are to be bound here, and left alone until it was waited for.
  // Earlier bindings stay. Null while as many runs as there may be are on the way.
  Session* next();
  // Hands over the next run. A run that fails here is not on the way, and leaves the others alone.
  // The first run of each session takes longer: it is recorded.
  absl::Status Start();
  // Until the outputs of the oldest run are there. Where it failed, the others go on.
  absl::Status Wait();

  // Runs on the way, and at most.
  int running() const { return running_; }
  int in_flight() const { return static_cast<int>(sessions_.size()); }
  int arenas() const { return arenas_; }
  // Session::recording_status of the first that has something to say.
  absl::Status recording_status() const;
  // The device's memory that all sessions hold together, without the weights.
  int64_t device_bytes() const;

 private:
  Pipeline() = default;

  int arenas_ = 0;
  std::vector<std::unique_ptr<Session>> sessions_;  // take turns
  int oldest_ = 0;                                  // the session to be waited for next
  int running_ = 0;
  Session* last_started_ = nullptr;  // where all share an arena
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_PIPELINE_H_
