// MegEngine's static inference tags: which facts of a var are known before anything runs, and their
// sources.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_STATIC_INFER_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_STATIC_INFER_H_

#include <vector>

#include "graph/graph.h"

namespace ashlar {

enum class InferType { kNoDesc, kConst, kRtStatic, kMissingInput };

// Returns "NO_DESC", "CONST", "RT_STATIC" or "MISSING_INP".
absl::string_view Name(InferType type);

struct InferTag {
  struct Dep {
    int var = 0;
    bool value = false;  // a VALUE tag, otherwise SHAPE
  };
  InferType type = InferType::kNoDesc;
  std::vector<Dep> deps;
};

struct InferTags {
  InferTag shape;
  InferTag value;
};

// Returns the tags by var. A tag with dependencies has the weakest type among them. A tag that
// depends on a NO_DESC tag is MISSING_INP, and so are all tags that depend on it.
std::vector<InferTags> ComputeInferTags(const Graph& graph);

// Returns the SHAPE tag of a node's workspace, which depends on the shapes of all inputs and of
// output 0.
InferTag WorkspaceShapeTag(const OperatorNode& node, const std::vector<InferTags>& tags);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_STATIC_INFER_H_
