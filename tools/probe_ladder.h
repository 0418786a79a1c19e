// The ladder of `ashlar probe`: sizes that grow until memory is refused, planned and real.
#ifndef ASHLAR_TOOLS_PROBE_LADDER_H_
#define ASHLAR_TOOLS_PROBE_LADDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/limited_device.h"
#include "runtime/plan/plan_request.h"
#include "tools/probe_subject.h"

namespace ashlar {

struct ProbeSettings {
  int64_t limit = 0;  // bytes
  int rounds = 4;
  double growth = 1.1;
  bool keep_previous = false;  // the last session stays until the next size is made
  int64_t granularity = 1;     // bytes that each block of memory is rounded up to
  bool counts_staging = true;  // of devices with memory of their own
  // Negative controls: bytes that the plan is said to be smaller, and whether what ran last in the
  // first round is kept for ever.
  int64_t understate_bytes = 0;
  bool keep_session = false;
};

// The sizes of a ladder: unit * int(growth^i), each once.
class ProbeSizes {
 public:
  ProbeSizes(int64_t unit, double growth) : unit_(unit), growth_(growth) {}
  int64_t at(int index);

 private:
  const int64_t unit_;
  const double growth_;
  double power_ = 1;
  std::vector<int64_t> sizes_;
};

// How far one ladder went.
struct ProbeRound {
  int64_t refused = 0;  // the first size that did not fit
  int64_t fits = 0;     // the one before
  int64_t bytes = 0;    // that this one took, of the device
  int64_t held = 0;     // that stay allocated when the round is over
};

struct ProbeReport {
  ProbeRound planned;
  std::vector<ProbeRound> rounds;
  std::string wrong;  // the fault of the last size of a round, or of one before; empty: none

  bool below() const;  // real memory is less than planned, or a run takes more
  bool ok() const;
  std::string reason() const;  // why not
};

class ProbeLadder {
 public:
  // `device` counts, and refuses where it is to; both must outlive this.
  ProbeLadder(ProbeSubject& subject, const PlanRequest& request, const ProbeSettings& settings,
              LimitedDevice& device);
  ~ProbeLadder();

  // The planned sizes. ResourceExhausted where the smallest size does not fit; FailedPrecondition
  // where all sizes do.
  absl::StatusOr<ProbeRound> Plan();
  // Runs all sizes that are planned to fit, without a limit: the needs of a first run, threads and
  // handles, is there afterwards.
  absl::Status WarmUp(const ProbeRound& planned);
  // All rounds.
  absl::StatusOr<ProbeReport> Run(const ProbeRound& planned);

 private:
  class Instance;
  absl::StatusOr<int64_t> PlannedBytes(int64_t size);
  absl::StatusOr<std::unique_ptr<Instance>> RunAt(int64_t size, std::string& wrong);
  absl::StatusOr<ProbeRound> RunRound(std::string& wrong);

  ProbeSubject& subject_;
  const PlanRequest request_;
  const ProbeSettings settings_;
  LimitedDevice& device_;
  ProbeSizes sizes_;
  std::unique_ptr<Instance> kept_;  // by the negative control
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PROBE_LADDER_H_
