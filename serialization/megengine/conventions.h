// MegEngine's properties of operators and vars that Ashlar needs only for dumps: a workspace var
// among the outputs, flags, and the sources of static inference.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_CONVENTIONS_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_CONVENTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace ashlar {

// The sources from which the VALUE of an output is inferred.
enum class ValueInference {
  kNone,
  kMutable,      // given with each run
  kInputValues,  // values of all inputs
  kInputShapes,  // sources of its shape
  kReduced,      // value of input 0 and the output's own shape
};

struct OperatorConventions {
  const char* type;
  bool has_workspace = false;         // as its last output
  bool allows_empty_outputs = false;  // VarFlag kAllowEmptyShape
  ValueInference value = ValueInference::kNone;
};

// Returns all false and kNone for types that MegEngine does not have.
const OperatorConventions& ConventionsOf(absl::string_view operator_type);

// The bit numbers are MegEngine's.
enum VarFlag : uint32_t {
  kNoSysMemAlloc = 1 << 0,        // the caller supplies the storage
  kNoSysStaticMemAlloc = 1 << 2,  // escapes to the caller
  kNoMemReclaim = 1 << 3,         // not freed after its last reader
  kVolatileContent = 1 << 4,      // a workspace
  kAllowEmptyShape = 1 << 5,
  kPersistentDeviceValue = 1 << 6,  // exists before the operator runs: weights
  kDisallowRtForceDynamicMemAlloc = 1 << 7,
};
inline constexpr uint32_t kWorkspaceFlags = kVolatileContent | kAllowEmptyShape;

// Returns the flags of all vars of a graph, by var.
std::vector<uint32_t> FlagsOfVars(const Graph& graph);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_CONVENTIONS_H_
