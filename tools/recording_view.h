// A recorded run as the viewer shows it.
#ifndef ASHLAR_TOOLS_RECORDING_VIEW_H_
#define ASHLAR_TOOLS_RECORDING_VIEW_H_

#include <string>

#include "absl/status/statusor.h"
#include "serialization/megengine/recording_summary.h"
#include "viewer/viewed_plan.h"

namespace ashlar {

// Where the vars lay, the operators in order and their times on the device. The lower bound is the
// most that was in use at a step.
absl::StatusOr<ViewedPlan> ViewOf(const ProfileRecording& recording, const RecordedMemory& memory,
                                  std::string title);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_RECORDING_VIEW_H_
