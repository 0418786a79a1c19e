#include "tools/calibration_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"
#include "serialization/npz.h"
#include "tools/convert_elements.h"
#include "tools/exit_code.h"
#include "tools/folder_entries.h"
#include "tools/format.h"
#include "tools/inputs.h"

namespace ashlar {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSampleEndings[] = {".png", ".jpg", ".jpeg", ".ppm", ".npy", ".npz"};
constexpr char kImagesArray[] = "images", kLabelsArray[] = "labels";

absl::Status RejectedData(const std::string& path, absl::string_view what) {
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat(path, ": ", what)),
                      ExitCode::kRejectedInput);
}

absl::Status RejectedArray(const std::string& path, const std::string& array,
                           const absl::Status& status) {
  return RejectedData(path, absl::StrCat("'", array, "': ", status.message()));
}

int64_t BatchOf(const TensorType& type) {
  return type.shape.rank() > 0 ? std::max<int64_t>(type.shape[0], 1) : 1;
}

class ArrayData final : public CalibrationData {
 public:
  static absl::StatusOr<std::unique_ptr<CalibrationData>> Read(const std::string& path,
                                                               const Graph& graph,
                                                               const InputFlags& flags,
                                                               int64_t most_samples) {
    absl::StatusOr<NamedTensors> arrays = ReadNpz(path);
    if (!arrays.ok()) return WithExitCode(arrays.status(), ExitCode::kRejectedInput);
    auto data = std::make_unique<ArrayData>();
    data->flags_ = flags;
    for (const Binding& input : graph.inputs()) {
      ASHLAR_RETURN_IF_ERROR(data->Take(path, graph, input, *arrays));
    }
    for (auto& [name, array] : *arrays) {
      if (name != kLabelsArray) continue;
      absl::StatusOr<HostTensor> labels = ConvertElements(array, DType::kInt32);
      if (!labels.ok()) return RejectedArray(path, name, labels.status());
      data->labels_ = *std::move(labels);
    }
    const int64_t labels = data->labels_.shape().rank() == 1 ? data->labels_.shape()[0] : -1;
    if (data->labels_.num_elements() > 0 && labels != data->samples_) {
      return RejectedData(
          path, absl::StrCat("labels are ", data->labels_.shape().ToString(),
                             ", expected one for each of ", Counted(data->samples_, "sample")));
    }
    if (data->samples_ == 0) return RejectedData(path, "no samples");
    data->samples_ = std::min(data->samples_, most_samples);
    return data;
  }

  int64_t runs() const override { return (samples_ + batch_ - 1) / batch_; }

  absl::StatusOr<CalibrationRun> Run(int64_t index) const override {
    CalibrationRun run;
    run.rows = std::min(batch_, samples_ - index * batch_);
    for (const auto& [name, input] : inputs_) {
      HostTensor tensor = HostTensor::Zeros(input.type);
      const int64_t elements = tensor.num_elements() / batch_;
      for (int64_t row = 0; row < batch_; ++row) {
        const int64_t sample = std::min(index * batch_ + row, samples_ - 1);
        for (int64_t i = 0; i < elements; ++i) {
          const int64_t to = row * elements + i, from = sample * elements + i;
          if (input.is_exact) {
            tensor.SetInteger(to, input.array.IntegerAt(from));
          } else {
            tensor.Set(to, Prepared(input, from, i, elements));
          }
        }
      }
      run.inputs[name] = std::move(tensor);
    }
    for (int64_t row = 0; row < run.rows && labels_.num_elements() > 0; ++row) {
      run.labels.push_back(labels_.data<int32_t>()[static_cast<size_t>(index * batch_ + row)]);
    }
    return run;
  }

 private:
  struct Input {
    TensorType type;
    HostTensor array;
    bool is_exact;  // integers of the input's dtype, without --mean and --scale
  };

  absl::Status Take(const std::string& path, const Graph& graph, const Binding& input,
                    const NamedTensors& arrays) {
    const TensorType& type = graph.var(input.var).type;
    const bool only = graph.inputs().size() == 1;
    const HostTensor* found = nullptr;
    std::vector<std::string> names;
    for (const auto& [name, array] : arrays) {
      names.push_back(name);
      if (name == input.name || (found == nullptr && only && name == kImagesArray)) found = &array;
    }
    if (found == nullptr) {
      return RejectedData(
          path, absl::StrCat("no array '", input.name, "'", only ? " or 'images'" : "", ", it has ",
                             absl::StrJoin(names, ", ")));
    }
    const int64_t elements = type.shape.num_elements() / BatchOf(type);
    const int64_t samples = elements == 0 ? 0 : found->num_elements() / elements;
    if (elements == 0 || found->num_elements() % elements != 0 ||
        (found->shape().rank() > 0 && found->shape()[0] != samples)) {
      return RejectedData(path, absl::StrCat("'", input.name, "' is ", found->shape().ToString(),
                                             ", expected rows of ", elements, " elements, as of ",
                                             type.ToString()));
    }
    if (!inputs_.empty() && (samples != samples_ || BatchOf(type) != batch_)) {
      return RejectedData(path, absl::StrCat("'", input.name, "' has ", Counted(samples, "sample"),
                                             ", other inputs ", samples_));
    }
    const int64_t channels = type.shape.rank() > 1 ? type.shape[1] : 1;
    for (const std::vector<double>* values : {&flags_.mean, &flags_.scale}) {
      if (values->size() > 1 && static_cast<int64_t>(values->size()) != channels) {
        return UsageError(absl::StrCat(values == &flags_.mean ? "--mean" : "--scale", " has ",
                                       values->size(), " values, '", input.name, "' ", channels,
                                       " channels"));
      }
    }
    samples_ = samples;
    batch_ = BatchOf(type);
    HostTensor array = *found;
    const bool is_exact = !IsFloat(type.dtype) && flags_.mean.empty() && flags_.scale.empty();
    if (is_exact) {
      absl::StatusOr<HostTensor> converted = ConvertElements(array, type.dtype);
      if (!converted.ok()) return RejectedArray(path, input.name, converted.status());
      array = *std::move(converted);
    }
    inputs_[input.name] = {type, array, is_exact};
    return absl::OkStatus();
  }

  // Applies --mean and --scale by channel to element i of a row.
  double Prepared(const Input& input, int64_t at, int64_t i, int64_t elements) const {
    const double value = input.array.At(at);
    if (flags_.mean.empty() && flags_.scale.empty()) return value;
    const int64_t channels = input.type.shape.rank() > 1 ? input.type.shape[1] : 1;
    const auto channel = static_cast<size_t>(i / std::max<int64_t>(elements / channels, 1));
    const auto of = [&](const std::vector<double>& values, double none) {
      return values.empty() ? none : values[values.size() == 1 ? 0 : channel];
    };
    return (value - of(flags_.mean, 0)) * of(flags_.scale, 1);
  }

  InputFlags flags_;
  std::map<std::string, Input> inputs_;
  HostTensor labels_;
  int64_t samples_ = 0, batch_ = 1;
};

class FolderData final : public CalibrationData {
 public:
  static absl::StatusOr<std::unique_ptr<CalibrationData>> Read(const std::string& path,
                                                               const Graph& graph,
                                                               const InputFlags& flags,
                                                               int64_t most_samples,
                                                               Console& console) {
    auto data = std::make_unique<FolderData>(graph, flags, console);
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<fs::path> classes, EntriesOf(path, true));
    ASHLAR_ASSIGN_OR_RETURN(std::vector<fs::path> files, EntriesOf(path, false));
    for (const fs::path& file : files) data->Take(file, -1);
    for (size_t c = 0; c < classes.size(); ++c) {
      ASHLAR_ASSIGN_OR_RETURN(files, EntriesOf(classes[c], false));
      for (const fs::path& file : files) data->Take(file, static_cast<int32_t>(c));
    }
    if (data->samples_.empty()) {
      return RejectedData(
          path, absl::StrCat("no samples: no file ends in ", absl::StrJoin(kSampleEndings, ", ")));
    }
    if (data->others_ > 0) {
      console.Note(absl::StrCat(path, ": files that are no samples (",
                                absl::StrJoin(kSampleEndings, ", "),
                                ") are left out: ", data->others_));
    }
    if (static_cast<int64_t>(data->samples_.size()) > most_samples) {
      data->samples_.resize(static_cast<size_t>(most_samples));
    }
    data->Group();
    return data;
  }

  FolderData(const Graph& graph, const InputFlags& flags, Console& console)
      : graph_(graph), flags_(flags), console_(console), silent_("quantize", Quiet()) {}

  int64_t runs() const override { return static_cast<int64_t>(runs_.size()); }

  absl::StatusOr<CalibrationRun> Run(int64_t index) const override {
    const std::vector<size_t>& samples = runs_[static_cast<size_t>(index)];
    InputFlags flags = flags_;
    CalibrationRun run;
    run.rows = static_cast<int64_t>(samples.size());
    for (const size_t sample : samples) {
      flags.files.push_back(samples_[sample].file);
      if (samples_[sample].label >= 0) run.labels.push_back(samples_[sample].label);
    }
    const bool whole = IsRun(samples[0]);
    if (whole) run.rows = batch();
    for (int64_t row = run.rows; row < batch() && !whole; ++row) {
      flags.files.push_back(flags.files.back());
    }
    if (run.labels.size() != static_cast<size_t>(run.rows)) run.labels.clear();
    // Notes are printed for the first run only.
    Console& console = noted_ ? silent_ : console_;
    noted_ = true;
    ASHLAR_ASSIGN_OR_RETURN(run.inputs, MakeInputs(graph_, flags, 0, console));
    return run;
  }

 private:
  struct Sample {
    std::string file;
    int32_t label;
  };

  static ConsoleFlags Quiet() {
    ConsoleFlags flags;
    flags.quiet = true;
    return flags;
  }

  void Take(const fs::path& file, int32_t label) {
    const bool sample =
        std::any_of(std::begin(kSampleEndings), std::end(kSampleEndings),
                    [&](const char* ending) { return HasEnding(file.string(), ending); });
    if (sample) samples_.push_back({file.string(), label});
    others_ += !sample;
  }
  int64_t batch() const { return BatchOf(graph_.var(graph_.inputs()[0].var).type); }
  bool IsRun(size_t sample) const { return HasEnding(samples_[sample].file, ".npz"); }

  void Group() {
    bool open = false;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const bool joins = open && !IsRun(i) && static_cast<int64_t>(runs_.back().size()) < batch();
      if (!joins) runs_.emplace_back();
      runs_.back().push_back(i);
      open = !IsRun(i);
    }
  }

  const Graph& graph_;
  const InputFlags flags_;
  Console& console_;
  mutable Console silent_;
  mutable bool noted_ = false;
  std::vector<Sample> samples_;
  int64_t others_ = 0;  // other files in the folder
  std::vector<std::vector<size_t>> runs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CalibrationData>> OpenCalibrationData(const std::string& path,
                                                                     const Graph& graph,
                                                                     const InputFlags& flags,
                                                                     int64_t most_samples,
                                                                     Console& console) {
  if (graph.inputs().empty()) return RejectedData(path, "the model has no inputs");
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return FolderData::Read(path, graph, flags, most_samples, console);
  }
  if (AnyGiven(flags.pictures)) {
    console.Note("no sample is a picture, and only pictures are resized, cut and reordered");
  }
  return ArrayData::Read(path, graph, flags, most_samples);
}

}  // namespace ashlar
