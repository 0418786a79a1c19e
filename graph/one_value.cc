#include "graph/one_value.h"

#include <cstring>

namespace ashlar {

bool HasOneValue(const HostTensor& tensor) {
  if (tensor.num_elements() == 0 || !tensor.has_data()) return false;
  const size_t element = static_cast<size_t>(SizeOf(tensor.dtype()));
  const char* const bytes = static_cast<const char*>(tensor.raw());
  // Each element equals the next one.
  return std::memcmp(bytes, bytes + element, static_cast<size_t>(tensor.bytes()) - element) == 0;
}

}  // namespace ashlar
