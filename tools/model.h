// Model files.
#ifndef ASHLAR_TOOLS_MODEL_H_
#define ASHLAR_TOOLS_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "serialization/native_reader.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

struct Model {
  Graph graph;
  ModelFile file;  // what the graph's constants borrow from; nothing for a dump
};

// Whether a path ends in `ending` (".csv"), in whatever case.
bool HasEnding(const std::string& path, absl::string_view ending);

// Reads a model, or a profile dump (.json), and gives its inputs the shapes that were asked for.
// Whatever is wrong with the file is kRejectedInput; a shape that does not go with the model is
// kUsage.
absl::StatusOr<Model> LoadModel(const ModelFlags& flags, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_MODEL_H_
