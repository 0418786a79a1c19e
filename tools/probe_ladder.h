// The size ladder of `ashlar probe`: grows sizes until memory is refused, in plans and in real
// runs.
#ifndef ASHLAR_TOOLS_PROBE_LADDER_H_
#define ASHLAR_TOOLS_PROBE_LADDER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/limited_device.h"
#include "runtime/plan/request/plan_request.h"
#include "tools/probe_subject.h"

namespace ashlar {

struct ProbeSettings {
  int64_t limit = 0;  // bytes
  int rounds = 4;
  double growth = 1.1;
  bool keep_previous = false;  // keep the last session until the next one is created
  int64_t granularity = 1;     // block sizes are rounded up to this, in bytes
  bool counts_staging = true;  // for devices with their own memory
  // Negative controls: bytes to subtract from the planned size, and whether to keep the last
  // session of the first round for ever.
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

// The result of one ladder.
struct ProbeRound {
  int64_t refused = 0;  // the first size that did not fit
  int64_t fits = 0;     // the size before it
  int64_t bytes = 0;    // device bytes of that size
  int64_t held = 0;     // bytes still allocated after the round
};

struct ProbeReport {
  ProbeRound planned;
  std::vector<ProbeRound> rounds;
  std::string wrong;  // the fault of the last size of a round, or of an earlier one; empty: none

  bool below() const;  // real memory is less than planned, or a run takes more
  bool ok() const;
  std::string reason() const;  // the reason why not
};

class ProbeLadder {
 public:
  // `device` counts allocations and refuses those above the limit. `subject` and `device` must
  // outlive this object.
  ProbeLadder(ProbeSubject& subject, const PlanRequest& request, const ProbeSettings& settings,
              LimitedDevice& device);
  ~ProbeLadder();

  // Plans the sizes. ResourceExhausted if the smallest size does not fit; FailedPrecondition if all
  // sizes fit.
  absl::StatusOr<ProbeRound> Plan();
  // Runs all sizes that are planned to fit, without a limit. Afterwards memory that only a first
  // run allocates (threads, handles) exists.
  absl::Status WarmUp(const ProbeRound& planned);
  // Runs all rounds.
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
  std::unique_ptr<Instance> kept_;  // kept by the negative control
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_PROBE_LADDER_H_
