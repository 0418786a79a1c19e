// The pool of packed weights of a model's file, for streaming.
#ifndef ASHLAR_SERIALIZATION_NATIVE_PACKED_POOL_H_
#define ASHLAR_SERIALIZATION_NATIVE_PACKED_POOL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/plan/record/weight_source.h"
#include "serialization/native/reader.h"

namespace ashlar {

// Opens the file again. FailedPrecondition if it is another file than the one that was mapped, or
// was written to since then.
absl::StatusOr<std::shared_ptr<const WeightSource>> OpenPackedPool(const ModelFile& file);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_NATIVE_PACKED_POOL_H_
