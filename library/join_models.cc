#include "library/join_models.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/join.h"
#include "graph/status.h"

namespace ashlar {
namespace {

// Returns the model's own origin. Another model is inferred for other shapes.
std::shared_ptr<const ModelOrigin> OriginOf(const Model& model) {
  if (model.origin != nullptr) return model.origin;
  return std::make_shared<const ModelOrigin>(
      ModelOrigin{[model](const InputShapes& shapes) { return WithShapes(model, shapes); },
                  [] { return std::vector<OpenAxis>(); }});
}

// The origin of joined models: reads the first, and then the second for the shapes that it gives.
class JoinedOrigin {
 public:
  JoinedOrigin(const Model& first, const Model& second, const std::vector<JoinedInput>& links)
      : first_(OriginOf(first)), second_(OriginOf(second)) {
    for (const Binding& input : first.graph.inputs()) first_inputs_.insert(input.name);
    names_ = first_inputs_;
    for (size_t i = 0; i < links.size(); ++i) {
      links_[second.graph.inputs()[i].name] = links[i];
      if (!links[i].output) names_.insert(links[i].name);
    }
  }

  absl::StatusOr<Model> Reopen(const InputShapes& shapes) const {
    InputShapes of_first, of_second;
    for (const auto& [name, shape] : shapes) {
      if (!names_.contains(name)) {
        return absl::NotFoundError(
            absl::StrCat("no input '", name, "'; the model has: ", absl::StrJoin(names_, ", ")));
      }
      if (first_inputs_.contains(name)) of_first[name] = shape;
    }
    ASHLAR_ASSIGN_OR_RETURN(Model first, first_->reopen(of_first));
    for (const auto& [name, link] : links_) {
      if (link.output) {
        const auto index = static_cast<size_t>(*link.output);
        if (index >= first.graph.outputs().size()) {
          return absl::FailedPreconditionError("the file of the first joined model has changed");
        }
        const Binding& output = first.graph.outputs()[index];
        of_second[name] = first.graph.var(output.var).type.shape;
      } else if (const auto given = shapes.find(link.name); given != shapes.end()) {
        of_second[name] = given->second;
      }
    }
    ASHLAR_ASSIGN_OR_RETURN(Model second, second_->reopen(of_second));
    return JoinModels(std::move(first), std::move(second));
  }

  std::optional<std::vector<OpenAxis>> OpenAxes() const {
    std::optional<std::vector<OpenAxis>> named = first_->open_axes();
    const std::optional<std::vector<OpenAxis>> of_second = second_->open_axes();
    if (!named || !of_second) return std::nullopt;
    // The models' symbols are not related.
    const auto taken = [&](int suffix) {
      return std::any_of(named->begin(), named->end(), [&](const OpenAxis& axis) {
        return absl::EndsWith(axis.symbol, absl::StrCat(":", suffix));
      });
    };
    int suffix = 2;
    while (taken(suffix)) ++suffix;
    for (const OpenAxis& axis : *of_second) {
      const auto link = links_.find(axis.input);
      if (link == links_.end() || link->second.output) continue;
      named->push_back({link->second.name, axis.axis, absl::StrCat(axis.symbol, ":", suffix)});
    }
    return named;
  }

 private:
  std::shared_ptr<const ModelOrigin> first_, second_;
  std::set<std::string> first_inputs_, names_;  // inputs of the first and of the joined model
  std::map<std::string, JoinedInput> links_;    // by input of the second model
};

}  // namespace

InputShapes ShapesAfter(const Graph& first, const std::vector<std::string>& inputs) {
  std::vector<std::string> outputs;
  for (const Binding& output : first.outputs()) outputs.push_back(output.name);
  InputShapes shapes;
  for (const auto& [input, output] : FindLinks(outputs, inputs)) {
    const int var = first.outputs()[static_cast<size_t>(output)].var;
    shapes[inputs[static_cast<size_t>(input)]] = first.var(var).type.shape;
  }
  return shapes;
}

absl::StatusOr<Model> JoinModels(Model first, Model second) {
  Model both;
  bool fixed = false;
  for (Model* model : {&first, &second}) {
    ASHLAR_RETURN_IF_ERROR(UsePlainWeights(*model));
    for (const auto& file : FilesOf(*model)) both.data_files.push_back(file);
    both.reading_bytes += model->reading_bytes;
    both.notes.insert(both.notes.end(), model->notes.begin(), model->notes.end());
    fixed = fixed || model->origin != nullptr || !model->file.fixed_axes.empty();
  }
  std::vector<JoinedInput> links;
  ASHLAR_ASSIGN_OR_RETURN(both.graph, Join(first.graph, second.graph, &links));
  both.channels_last = first.channels_last && second.channels_last;
  if (!fixed) return both;
  const auto origin = std::make_shared<const JoinedOrigin>(first, second, links);
  both.origin = std::make_shared<const ModelOrigin>(
      ModelOrigin{[origin](const InputShapes& shapes) { return origin->Reopen(shapes); },
                  [origin] { return origin->OpenAxes(); }});
  return both;
}

}  // namespace ashlar
