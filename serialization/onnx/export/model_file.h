// The bytes of an ONNX file whose large weights are written piece by piece: protobuf would copy
// them into a message.
#ifndef ASHLAR_SERIALIZATION_ONNX_EXPORT_MODEL_FILE_H_
#define ASHLAR_SERIALIZATION_ONNX_EXPORT_MODEL_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/plan/record/packed_model.h"
#include "serialization/onnx/export/model.h"

namespace ashlar {

class OnnxModelFile {
 public:
  explicit OnnxModelFile(OnnxModelAndWeights model);
  int64_t bytes() const { return bytes_; }
  // Calls `write` for all bytes in order, and `done_with`, unless it is empty, for weights that
  // were read.
  absl::Status Write(absl::FunctionRef<absl::Status(absl::string_view)> write,
                     const DoneWith& done_with) const;

 private:
  void Add(std::string bytes);

  std::vector<std::string> messages_;     // parts of the file
  std::map<size_t, HostTensor> weights_;  // each before the part of that index
  int64_t bytes_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_EXPORT_MODEL_FILE_H_
