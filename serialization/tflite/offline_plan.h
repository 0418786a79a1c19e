// Memory plans inside TensorFlow Lite files: the metadata "OfflineMemoryAllocation", by which
// TensorFlow Lite for Microcontrollers places tensors.
#ifndef ASHLAR_SERIALIZATION_TFLITE_OFFLINE_PLAN_H_
#define ASHLAR_SERIALIZATION_TFLITE_OFFLINE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "memory/problem/buffer.h"

namespace ashlar {

// The tensors of a file that have an address, by their lifetimes: an input lives from step 0,
// operator i is step i + 1, and an output lives to the end.
struct TfliteBuffers {
  static constexpr int64_t kScratch = -1;

  memory::Problem problem;         // ids are numbers of tensors, or kScratch
  std::vector<std::string> names;  // one for each buffer
  int num_tensors = 0;
};

// `name` is the file's, for errors. InvalidArgument: not a model, or an invalid one.
absl::StatusOr<TfliteBuffers> BuffersOfTflite(absl::Span<const uint8_t> file,
                                              const std::string& name);

// Returns the file with a plan, in place of another if there was one; `offsets` are by buffer.
// Unimplemented for files with data after their FlatBuffer.
absl::StatusOr<std::string> WithOfflinePlan(absl::Span<const uint8_t> file, const std::string& name,
                                            const TfliteBuffers& buffers,
                                            absl::Span<const int64_t> offsets);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_OFFLINE_PLAN_H_
