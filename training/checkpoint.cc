#include "training/checkpoint.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/host_io.h"
#include "opr/table.h"
#include "serialization/native/reader.h"
#include "serialization/native/writer.h"

namespace ashlar {
namespace {

constexpr char kFormat[] = "ashlar checkpoint 1";
// Names that differ from all states: states begin with "state/".
constexpr char kStatePrefix[] = "state/";
constexpr char kSteps[] = "steps", kLosses[] = "losses", kSettings[] = "settings";

HostTensor TextTensor(absl::string_view text) {
  return HostTensor::FromValues<uint8_t>(
      DType::kUint8, {static_cast<int64_t>(text.size())},
      {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string TextOf(const HostTensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes())};
}

// Returns the words of a text that `other` lacks, cut if they are many.
std::string WordsWithout(absl::string_view text, absl::string_view other) {
  const std::set<absl::string_view> there = absl::StrSplit(other, absl::ByAnyChar(" \n"));
  std::vector<absl::string_view> words = absl::StrSplit(text, absl::ByAnyChar(" \n"));
  std::erase_if(words, [&](absl::string_view word) { return there.contains(word); });
  return absl::StrJoin(words, " ").substr(0, 1000);
}

absl::Status AddTensor(GraphBuilder& builder, const std::string& name, HostTensor value) {
  GraphBuilder::NodeOptions options;
  options.name = name;
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> made,
      builder.Add(Operators().MakeConstant(std::move(value)), {}, std::move(options)));
  return builder.Add(std::make_shared<const OutputCallback>(OutputParam()), {made[0]}).status();
}

class Reading {
 public:
  Reading(const std::string& path, std::map<std::string, HostTensor> tensors)
      : path_(path), tensors_(std::move(tensors)) {}

  // Returns the tensor of that name and dtype.
  absl::StatusOr<HostTensor> Take(const std::string& name, DType dtype) const {
    const auto it = tensors_.find(name);
    if (it != tensors_.end() && it->second.dtype() == dtype) return it->second;
    return absl::InvalidArgumentError(absl::StrCat(
        path_, ": no checkpoint of a training: it holds no ", Name(dtype), " '", name, "'"));
  }
  const std::map<std::string, HostTensor>& tensors() const { return tensors_; }

 private:
  const std::string path_;
  const std::map<std::string, HostTensor> tensors_;
};

absl::StatusOr<Reading> Open(const std::string& path) {
  ModelFile file;
  ASHLAR_ASSIGN_OR_RETURN(const Graph graph, ReadModel(path, &file));
  ASHLAR_RETURN_IF_ERROR(CheckWeights(file));
  std::map<std::string, HostTensor> tensors;
  for (const Binding& output : graph.outputs()) {
    const HostTensor* const value = graph.constant(output.var);
    if (value != nullptr) tensors[output.name] = *value;
  }
  return Reading(path, std::move(tensors));
}

}  // namespace

bool IsCheckpoint(const Graph& graph) {
  const std::vector<Binding>& outputs = graph.outputs();
  return graph.inputs().empty() && !outputs.empty() && outputs[0].name == kSettings;
}

absl::Status WriteCheckpoint(const TrainingSession& session, const Progress& progress,
                             const std::string& path) {
  GraphBuilder builder;
  ASHLAR_RETURN_IF_ERROR(
      AddTensor(builder, kSettings, TextTensor(absl::StrCat(kFormat, "\n", progress.settings))));
  ASHLAR_RETURN_IF_ERROR(AddTensor(
      builder, kSteps, HostTensor::FromValues<int64_t>(DType::kInt64, {1}, {progress.steps})));
  if (!progress.losses.empty()) {
    const int64_t count = static_cast<int64_t>(progress.losses.size());
    ASHLAR_RETURN_IF_ERROR(
        AddTensor(builder, kLosses,
                  HostTensor::FromValues<float>(DType::kFloat32, {count}, progress.losses)));
  }
  for (const std::string& name : session.states()) {
    ASHLAR_ASSIGN_OR_RETURN(HostTensor value, session.ReadState(name));
    ASHLAR_RETURN_IF_ERROR(AddTensor(builder, kStatePrefix + name, std::move(value)));
  }
  ASHLAR_ASSIGN_OR_RETURN(const Graph graph, std::move(builder).Build());
  return WriteModel(graph, path);
}

absl::StatusOr<Progress> ReadCheckpoint(const std::string& path, const std::string& settings,
                                        TrainingSession& session) {
  ASHLAR_ASSIGN_OR_RETURN(const Reading file, Open(path));
  ASHLAR_ASSIGN_OR_RETURN(const HostTensor text, file.Take(kSettings, DType::kUint8));
  ASHLAR_ASSIGN_OR_RETURN(const HostTensor steps, file.Take(kSteps, DType::kInt64));
  Progress progress;
  progress.settings = settings;
  const std::string found = TextOf(text), expected = absl::StrCat(kFormat, "\n", settings);
  if (found != expected) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": the checkpoint of another training: it has [", WordsWithout(found, expected),
        "], and this one has [", WordsWithout(expected, found), "]"));
  }
  progress.steps = steps.num_elements() == 1 ? steps.data<int64_t>()[0] : -1;
  if (progress.steps < 0) return absl::InvalidArgumentError(absl::StrCat(path, ": no steps"));
  if (file.tensors().contains(kLosses)) {
    ASHLAR_ASSIGN_OR_RETURN(const HostTensor losses, file.Take(kLosses, DType::kFloat32));
    if (progress.steps != losses.num_elements()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", losses.num_elements(), " losses of ", progress.steps, " steps"));
    }
    const absl::Span<const float> values = losses.data<float>();
    progress.losses.assign(values.begin(), values.end());
  }
  const std::vector<std::string> names = session.states();
  std::vector<HostTensor> states;  // read all before writing the first
  for (const std::string& name : names) {
    ASHLAR_ASSIGN_OR_RETURN(states.emplace_back(), file.Take(kStatePrefix + name, DType::kFloat32));
  }
  for (size_t i = 0; i < states.size(); ++i) {
    ASHLAR_RETURN_IF_ERROR(Annotate(session.WriteState(names[i], states[i]), path));
  }
  session.SetSteps(progress.steps);
  return progress;
}

}  // namespace ashlar
