// MegEngine's static inference tags: the facts of a var before anything runs, and their sources.
#ifndef ASHLAR_SERIALIZATION_MEGENGINE_STATIC_INFER_H_
#define ASHLAR_SERIALIZATION_MEGENGINE_STATIC_INFER_H_

#include <vector>

#include "graph/graph.h"

namespace ashlar {

enum class InferType { kNoDesc, kConst, kRtStatic, kMissingInput };

// "NO_DESC", "CONST", "RT_STATIC", "MISSING_INP"
absl::string_view Name(InferType type);

struct InferTag {
  struct Dep {
    int var = 0;
    bool value = false;  // its VALUE, else its SHAPE
  };
  InferType type = InferType::kNoDesc;
  std::vector<Dep> deps;
};

struct InferTags {
  InferTag shape;
  InferTag value;
};

// By var. A tag with dependencies has the weakest type among them; one that depends on a tag nobody
// describes is MISSING_INP, and so on downstream.
std::vector<InferTags> ComputeInferTags(const Graph& graph);

// The SHAPE of a node's workspace, which follows from the shapes of all inputs and of output 0.
InferTag WorkspaceShapeTag(const OperatorNode& node, const std::vector<InferTags>& tags);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_MEGENGINE_STATIC_INFER_H_
