// The data that a model is quantised with: inputs of runs, and what is known of their results.
#ifndef ASHLAR_QUANTIZATION_CALIBRATION_H_
#define ASHLAR_QUANTIZATION_CALIBRATION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session/bind_tensors.h"

namespace ashlar {

struct CalibrationRun {
  InputTensors inputs;
  int64_t rows = 1;             // of the batch that are data: the last run may be filled up
  std::vector<int32_t> labels;  // by row, the class; empty where there are none
};

class CalibrationData {
 public:
  virtual ~CalibrationData() = default;
  virtual int64_t runs() const = 0;
  // The same for the same number each time.
  virtual absl::StatusOr<CalibrationRun> Run(int64_t index) const = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_CALIBRATION_H_
