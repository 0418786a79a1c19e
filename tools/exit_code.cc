#include "tools/exit_code.h"

#include <string>

#include "absl/strings/cord.h"

namespace ashlar {
namespace {

constexpr char kPayload[] = "ashlar/exit_code";

}  // namespace

absl::Status WithExitCode(absl::Status status, ExitCode code) {
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
  return absl::IsResourceExhausted(status) ? ExitCode::kDoesNotFit : ExitCode::kFailure;
}

}  // namespace ashlar
