// Model files.
#ifndef ASHLAR_TOOLS_MODEL_H_
#define ASHLAR_TOOLS_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/session/executable.h"
#include "serialization/native/reader.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

struct Model {
  Graph graph;
  ModelFile file;                     // what the graph's constants borrow from; nothing for a dump
  std::optional<PackedModel> packed;  // in the file; nothing where inputs got other shapes
  std::vector<std::shared_ptr<const MappedFile>> data_files;  // external data of an ONNX model
};

// Which weights of a native file will be read. They are compared with their checksums before
// anything else reads them; what is damaged is kRejectedInput.
enum class WeightsUse {
  kAsItRuns,  // packed ones where the file has them
  kPlain,     // the graph's; what the file holds packed is not read
  kAll,
  kNone,
};

// Whether a path ends in `ending` (".csv"), in whatever case.
bool HasEnding(const std::string& path, absl::string_view ending);

// Reads a model (.onnx, else Ashlar's own), or a profile dump (.json), and gives its inputs the
// shapes that were asked for. Whatever is wrong with the file, or not supported, is kRejectedInput;
// shapes and names that do not go with the model are kUsage.
absl::StatusOr<Model> LoadModel(const ModelFlags& flags, Console& console,
                                WeightsUse use = WeightsUse::kAsItRuns);

// The model without what its file holds packed: from here on the weights of the graph are read.
absl::Status UsePlainWeights(Model& model);

// Lets go of those pages of the model's files that passes and packing have read.
ReplacedListener LettingGoOf(const Model& model);

struct ModelPlan {
  std::shared_ptr<const PlannedGraph> planned;
  bool packed = false;  // from the graph that was rewritten when the file was packed
};

// An error of a plan file, or of planning as one says: kUsage where the plan does not suit, and
// kRejectedInput where it is none, or was changed.
absl::Status PlanFileError(const absl::Status& status);

// The plan that CompileModel would make.
absl::StatusOr<ModelPlan> PlanAsItRuns(Model model, const PlanRequest& request, Console& console);

// The model ready to run: its packed weights as they are where they suit, else packed now, with a
// note that says why. The pages of the file are let go where they are not needed any more.
absl::StatusOr<std::shared_ptr<const Executable>> CompileModel(Model model,
                                                               const PlanRequest& request,
                                                               Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_MODEL_H_
