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

// Opens calibration data at `path`:
//   .npz      for each input an array of its name, or `images` for the only one, of as many rows as
//             there are samples; optionally `labels` [count]. --mean and --scale are applied
//             channel by channel
//   a folder  of pictures and .npy files, a sample each, converted to inputs as `run` does it; and
//             of .npz files, each with the inputs of one run; other files are left out. Subfolders
//             are classes, in the order of their names, and label their files
// The model's batch is filled with samples in their order; the last batch is padded by repeating
// the last sample. At most `most_samples` are taken. Errors have exit codes.
absl::StatusOr<std::unique_ptr<CalibrationData>> OpenCalibrationData(const std::string& path,
                                                                     const Graph& graph,
                                                                     const InputFlags& flags,
                                                                     int64_t most_samples,
                                                                     Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_CALIBRATION_FILES_H_
