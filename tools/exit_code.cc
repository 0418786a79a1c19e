#include "tools/exit_code.h"

#include <string>

#include "absl/strings/cord.h"
#include "graph/file_mapping.h"
#include "runtime/plan/tiling/tiled_plans.h"

namespace ashlar {
namespace {

constexpr char kPayload[] = "ashlar/exit_code";

}  // namespace

absl::Status WithExitCode(absl::Status status, ExitCode code) {
  if (code == ExitCode::kRejectedInput && absl::IsResourceExhausted(status)) {
    code = ExitCode::kDoesNotFit;
  }
  if (!status.ok() && !status.GetPayload(kPayload)) {
    status.SetPayload(kPayload, absl::Cord(std::string(1, static_cast<char>(code))));
  }
  return status;
}

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return ExitCode::kOk;
  if (const auto payload = status.GetPayload(kPayload)) {
    return static_cast<ExitCode>(static_cast<unsigned char>(std::string(*payload)[0]));
  }
  if (status.GetPayload(kNoSuchTiles)) return ExitCode::kUsage;
  if (status.GetPayload(kDamagedFile)) return ExitCode::kRejectedInput;
  return absl::IsResourceExhausted(status) ? ExitCode::kDoesNotFit : ExitCode::kFailure;
}

}  // namespace ashlar
