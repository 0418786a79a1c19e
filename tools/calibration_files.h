// Calibration data in files: arrays, or a folder.
#ifndef ASHLAR_TOOLS_CALIBRATION_FILES_H_
#define ASHLAR_TOOLS_CALIBRATION_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "quantization/calibration.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

// `path`:
//   .npz      for each input an array of its name, or `images` for the only one, of as many rows as
//             there are samples; and perhaps `labels` [count]. --mean and --scale are applied
//             channel by channel
//   a folder  of pictures and .npy files, a sample each, made inputs as `run` does it; and of .npz
//             files, each of which holds the inputs of one run; other files are left out. Folders
//             in it are classes, in the order of their names, whose files are labelled so
// The model's batch is filled with samples in their order, the last one perhaps with the last
// sample again. At most `most_samples` are taken. Errors have exit codes.
absl::StatusOr<std::unique_ptr<CalibrationData>> OpenCalibrationData(const std::string& path,
                                                                     const Graph& graph,
                                                                     const InputFlags& flags,
                                                                     int64_t most_samples,
                                                                     Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_CALIBRATION_FILES_H_
