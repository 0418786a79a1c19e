// The data that a model is quantised with: inputs of runs, and their labels if known.
#ifndef ASHLAR_QUANTIZATION_CALIBRATION_H_
#define ASHLAR_QUANTIZATION_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/bind_tensors.h"

namespace ashlar {

struct CalibrationRun {
  InputTensors inputs;
  int64_t rows = 1;             // rows of the batch that hold data: the last run may be padded
  std::vector<int32_t> labels;  // the class by row; empty if there are none
};

class CalibrationData {
 public:
  virtual ~CalibrationData() = default;
  virtual int64_t runs() const = 0;
  // Returns the run of this index. Always the same run for the same index.
  virtual absl::StatusOr<CalibrationRun> Run(int64_t index) const = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_CALIBRATION_H_
