#include "library/model.h"

#include <utility>

#include "graph/file_mapping.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Returns the graph for inputs of other shapes, unless dimensions that change are fixed.
absl::StatusOr<Graph> Reshaped(const Model& model, const InputShapes& shapes) {
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, WithInputShapes(model.graph, shapes));
  for (const Binding& input : model.graph.inputs()) {
    const Shape& shape = model.graph.var(input.var).type.shape;
    ASHLAR_RETURN_IF_ERROR(CheckFixedAxes(input.name, shape, model.file.fixed_axes, shapes));
  }
  return graph;
}

// Compares the graph's weights with their checksums, all but `unread`.
absl::Status CheckPlainWeights(const absl::flat_hash_set<const void*>& unread, const Model& model) {
  if (model.file.mapping == nullptr) return absl::OkStatus();
  return DamagedFile(CheckWeights(model.file, unread));
}

}  // namespace

absl::Status Reshape(Model& model, const InputShapes& shapes) {
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, Reshaped(model, shapes));
  if (model.packed) {
    model.at_own_shapes = std::make_shared<const Model::AtOwnShapes>(
        Model::AtOwnShapes{*std::move(model.packed), model.graph});
    model.packed.reset();
  }
  model.graph = std::move(graph);
  return absl::OkStatus();
}

FileAxes FileAxesOf(const Model& model) {
  if (model.origin == nullptr) return {model.file.fixed_axes, {}};
  const std::optional<std::vector<OpenAxis>> open = model.origin->open_axes();
  FileAxes all;
  if (!open) {
    for (const OpenAxis& axis : AxesOf(model.graph, {})) {
      all.fixed.push_back({axis.input, axis.axis, ""});
    }
    return all;
  }
  const auto read = [&](const InputShapes& shapes) -> absl::StatusOr<Graph> {
    ASHLAR_ASSIGN_OR_RETURN(Model model_read, model.origin->reopen(shapes));
    return std::move(model_read.graph);
  };
  // Sizes that the file declares may change, too.
  return {FixedByReading(model.graph, AxesOf(model.graph, *open), read), *open};
}

absl::StatusOr<Model> WithShapes(Model model, const InputShapes& shapes) {
  if (model.origin != nullptr) return model.origin->reopen(shapes);
  const bool packed = model.packed.has_value();
  ASHLAR_RETURN_IF_ERROR(Reshape(model, shapes));
  if (packed) ASHLAR_RETURN_IF_ERROR(CheckPlainWeights({}, model));
  return model;
}

absl::Status UsePlainWeights(Model& model, const absl::flat_hash_set<const void*>& unread) {
  model.at_own_shapes.reset();
  if (!model.packed) return absl::OkStatus();
  model.packed.reset();
  return CheckPlainWeights(unread, model);
}

ModelIdentity IdentityOf(const Model& model) {
  if (model.file.mapping == nullptr) return IdentityOf(model.graph);
  return IdentityOf(model.graph, RecordedChecksums(model.file));
}

std::vector<std::shared_ptr<const MappedFile>> FilesOf(const Model& model) {
  std::vector<std::shared_ptr<const MappedFile>> files = model.data_files;
  if (model.file.mapping != nullptr) files.push_back(model.file.mapping);
  return files;
}

DoneWith LettingGoOf(const Model& model) {
  std::vector<std::shared_ptr<const MappedFile>> files = FilesOf(model);
  if (files.empty()) return nullptr;
  return [files = std::move(files)](const void* data, int64_t bytes) {
    for (const auto& file : files) file->DropResidentPages(data, bytes);
  };
}

}  // namespace ashlar
