// Converts a recorded run for the viewer.
#ifndef ASHLAR_TOOLS_REPORT_RECORDING_VIEW_H_
#define ASHLAR_TOOLS_REPORT_RECORDING_VIEW_H_

#include <string>

#include "absl/status/statusor.h"
#include "serialization/megengine/recording_summary.h"
#include "viewer/viewed_plan.h"

namespace ashlar {

// Returns the positions of the vars, the operators in order and their times on the device. The
// lower bound is the largest number of bytes in use at any step.
absl::StatusOr<ViewedPlan> ViewOf(const ProfileRecording& recording, const RecordedMemory& memory,
                                  std::string title);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_RECORDING_VIEW_H_
