#include "tools/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/random.h"
#include "graph/status.h"
#include "serialization/mapped_file.h"
#include "serialization/npz.h"
#include "serialization/standard_input.h"
#include "tools/convert_elements.h"
#include "tools/exit_code.h"
#include "tools/input_file.h"
#include "tools/input_part.h"

namespace ashlar {
namespace {

// ResourceExhausted if the inputs alone exceed the machine's memory.
absl::Status CheckSize(const Graph& graph) {
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  int64_t bytes = 0;
  for (const Binding& input : graph.inputs()) bytes += graph.var(input.var).type.bytes();
  if (bytes <= memory) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the inputs of the model are ", bytes, " bytes, and this machine's memory is ", memory));
}

class InputReader {
 public:
  // `steps`: the files hold several runs, one after the other.
  InputReader(const Graph& graph, const InputFlags& flags, bool steps, Console& console)
      : graph_(graph), flags_(flags), console_(console), part_(flags, steps, console) {}

  absl::Status ReadAll() {
    ASHLAR_RETURN_IF_ERROR(CheckSize(graph_));
    for (const std::string& argument : flags_.files) ASHLAR_RETURN_IF_ERROR(Read(argument));
    if (AnyGiven(flags_.pictures) && !part_.read_pictures()) {
      console_.Note("no input is a picture, and only pictures are resized, cut and reordered");
    }
    return absl::OkStatus();
  }

  // Reads one value of --input, for one input or several.
  absl::Status Read(const std::string& argument) {
    size_t equals = argument.find('=');
    // A file may be named "a=b.png".
    std::error_code error;
    if (equals != std::string::npos && !Find(argument.substr(0, equals)).ok() &&
        std::filesystem::exists(argument, error)) {
      equals = std::string::npos;
    }
    const std::string name = equals == std::string::npos ? "" : argument.substr(0, equals);
    const std::string path = equals == std::string::npos ? argument : argument.substr(equals + 1);
    if (!name.empty()) ASHLAR_RETURN_IF_ERROR(Find(name).status());
    absl::StatusOr<InputFile> file = Open(path);
    if (!file.ok()) return WithExitCode(file.status(), ExitCode::kRejectedInput);
    if (file->kind == FileKind::kArchive) return ReadArchive(name, *file);
    ASHLAR_ASSIGN_OR_RETURN(const Binding binding, Find(name));
    const TensorType& type = graph_.var(binding.var).type;
    absl::StatusOr<HostTensor> part = part_.Read(*file, type);
    if (!part.ok()) return WithExitCode(part.status(), ExitCode::kRejectedInput);
    return Keep(binding, *part, file->name);
  }

  // Returns the tensor of an input, joined from its files; nullopt if none was given.
  absl::StatusOr<std::optional<HostTensor>> Take(const Binding& binding) {
    const auto it = parts_.find(binding.name);
    if (it == parts_.end()) return std::optional<HostTensor>();
    const TensorType& type = graph_.var(binding.var).type;
    std::vector<HostTensor> parts = std::move(it->second);
    const bool one_image = parts.size() == 1 && type.shape.rank() == 4 &&
                           parts[0].shape().rank() == 4 && parts[0].shape()[0] == 1;
    if (one_image && type.shape[0] > 1) {
      console_.Note(absl::StrCat("the image for input '", binding.name, "' fills its batch of ",
                                 type.shape[0]));
      parts.resize(static_cast<size_t>(type.shape[0]), HostTensor(parts[0]));
    }
    HostTensor joined = HostTensor::Zeros(type);
    char* target = static_cast<char*>(joined.mutable_raw());
    int64_t bytes = 0;
    for (const HostTensor& part : parts) {
      Shape expected = type.shape;
      if (expected.rank() > 0 && part.shape().rank() > 0) expected[0] = part.shape()[0];
      const int64_t more = TensorType{type.dtype, part.shape()}.bytes();
      if (part.shape() != expected || bytes + more > joined.bytes()) {
        return Mismatch(binding, type, parts);
      }
      std::memcpy(target + bytes, part.raw(), static_cast<size_t>(part.bytes()));
      bytes += part.bytes();
    }
    if (bytes != joined.bytes()) return Mismatch(binding, type, parts);
    return std::optional<HostTensor>(std::move(joined));
  }

  // Returns the number of runs whose tensors for an input the files hold; nullopt without a file.
  absl::StatusOr<std::optional<int64_t>> CountRuns(const Binding& binding) const {
    const auto it = parts_.find(binding.name);
    if (it == parts_.end()) return std::optional<int64_t>();
    const TensorType& type = graph_.var(binding.var).type;
    int64_t rows = RowsOf(it->second, type.shape);
    const int64_t batch = type.shape.rank() > 0 ? type.shape[0] : 1;
    if (type.shape.rank() == 0) {
      for (const HostTensor& part : it->second) rows += part.num_elements();
    }
    if (rows > 0 && batch > 0 && rows % batch == 0) return std::optional<int64_t>(rows / batch);
    return WithExitCode(
        absl::InvalidArgumentError(absl::StrCat(
            "input '", binding.name, "': the files hold ", TypesText(it->second),
            ", expected one or more runs of ", type.ToString(), " one after the other")),
        ExitCode::kRejectedInput);
  }

  // Returns the tensors of an input for all runs, along dimension 0.
  HostTensor TakeRuns(const Binding& binding) {
    std::vector<HostTensor> parts = std::move(parts_.extract(binding.name).mapped());
    Shape shape = graph_.var(binding.var).type.shape;
    if (shape.rank() == 0) shape = {0};
    shape[0] = 0;
    for (const HostTensor& part : parts) {
      shape[0] += part.shape().rank() > 0 ? part.shape()[0] : 1;
    }
    if (parts.size() == 1) return parts[0].Reshaped(shape);
    HostTensor joined = HostTensor::ZerosLike(parts[0], shape);
    char* target = static_cast<char*>(joined.mutable_raw());
    for (const HostTensor& part : parts) {
      std::memcpy(target, part.raw(), static_cast<size_t>(part.bytes()));
      target += part.bytes();
    }
    return joined;
  }

 private:
  // Keeps a tensor of a file, in the dtype of the input.
  absl::Status Keep(const Binding& binding, const HostTensor& part, const std::string& file) {
    absl::StatusOr<HostTensor> converted =
        ConvertElements(part, graph_.var(binding.var).type.dtype);
    if (!converted.ok()) {
      const std::string where = absl::StrCat(file, ": input '", binding.name, "'");
      return WithExitCode(Annotate(converted.status(), where), ExitCode::kRejectedInput);
    }
    parts_[binding.name].push_back(*std::move(converted));
    return absl::OkStatus();
  }

  absl::StatusOr<InputFile> Open(const std::string& path) {
    const bool standard_input = path == "-" || path == "/dev/stdin";
    if (!standard_input && !IsPipe(path)) {
      ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::OpenLoaded(path));
      return InputFile{path, KindByEnding(path), std::move(file)};
    }
    if (standard_input && read_standard_input_) {
      return UsageError("--input: standard input is read only once");
    }
    read_standard_input_ = read_standard_input_ || standard_input;
    // The largest file accepted: a picture without compression, or all inputs in the largest dtype.
    int64_t most = int64_t{1} << 28;
    for (const Binding& input : graph_.inputs()) {
      most += 8 * graph_.var(input.var).type.shape.num_elements();
    }
    ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file,
                            standard_input ? MapStandardInput(most) : MapFileOrPipe(path, most));
    const FileKind kind = KindByBytes(file->bytes());
    return InputFile{standard_input ? "standard input" : path, kind, std::move(file)};
  }

  absl::Status Mismatch(const Binding& binding, const TensorType& type,
                        const std::vector<HostTensor>& parts) const {
    std::string message = absl::StrCat("input '", binding.name, "': the files hold ",
                                       TypesText(parts), ", expected ", type.ToString(), " in all");
    if (const int64_t rows = RowsOf(parts, type.shape); rows > 0) {
      std::vector<int64_t> dims(type.shape.dims().begin(), type.shape.dims().end());
      absl::StrAppend(&message, ": ", rows, " for a batch of ", dims[0]);
      dims[0] = rows;
      absl::StrAppend(&message, "; --shape ", binding.name, "=", absl::StrJoin(dims, "x"),
                      " makes it ", rows);
    } else if (!flags_.nhwc && AreChannelsLast(parts, type.shape)) {
      absl::StrAppend(&message, "; --layout nhwc reads channels that come last");
    }
    return WithExitCode(absl::InvalidArgumentError(message), ExitCode::kRejectedInput);
  }

  static std::string TypesText(const std::vector<HostTensor>& parts) {
    return absl::StrJoin(parts, ", ", [](std::string* out, const HostTensor& part) {
      absl::StrAppend(out, Name(part.dtype()), part.shape().ToString());
    });
  }

  // Returns whether the parts are images {N,H,W,C} for an input {N,C,H,W}.
  static bool AreChannelsLast(const std::vector<HostTensor>& parts, const Shape& images) {
    return images.rank() == 4 &&
           std::all_of(parts.begin(), parts.end(), [&](const HostTensor& part) {
             const Shape& s = part.shape();
             return s.rank() == 4 && s[3] == images[1] && s[1] == images[2] && s[2] == images[3];
           });
  }

  // Returns the total number of rows of the tensors; 0 if the shape of one does not match the
  // input.
  static int64_t RowsOf(const std::vector<HostTensor>& parts, const Shape& batch) {
    int64_t rows = 0;
    for (const HostTensor& part : parts) {
      Shape expected = batch;
      if (batch.rank() == 0 || part.shape().rank() == 0) return 0;
      expected[0] = part.shape()[0];
      if (part.shape() != expected) return 0;
      rows += part.shape()[0];
    }
    return rows;
  }

  // Finds an input by its name, or by a prefix that no other input shares: "data" finds data_0.
  absl::StatusOr<Binding> Find(const std::string& name) const {
    const std::vector<Binding>& inputs = graph_.inputs();
    if (name.empty() && inputs.size() == 1) return inputs[0];
    for (const Binding& input : inputs) {
      if (input.name == name) return input;
    }
    const auto begins = [&](const Binding& input) {
      return !name.empty() && absl::StartsWith(input.name, name);
    };
    const auto begun = std::find_if(inputs.begin(), inputs.end(), begins);
    if (std::count_if(inputs.begin(), inputs.end(), begins) == 1) return *begun;
    const std::string names = absl::StrJoin(
        inputs, ", ", [](std::string* out, const Binding& b) { out->append(b.name); });
    if (name.empty()) {
      return UsageError(absl::StrCat("--input needs NAME=FILE, the model has: ", names));
    }
    return UsageError(absl::StrCat("--input ", name, ": no such input; the model has: ", names));
  }

  absl::Status ReadArchive(const std::string& name, const InputFile& file) {
    absl::StatusOr<NamedTensors> arrays = ParseNpz(file.bytes(), file.name);
    if (!arrays.ok()) return WithExitCode(arrays.status(), ExitCode::kRejectedInput);
    if (!name.empty() && arrays->size() == 1) (*arrays)[0].first = name;
    bool used = false;
    for (auto& [array, tensor] : *arrays) {
      if (!name.empty() && array != name) continue;
      ASHLAR_ASSIGN_OR_RETURN(const Binding binding, Find(array));
      absl::StatusOr<HostTensor> part =
          part_.Prepared(std::move(tensor), graph_.var(binding.var).type, file.name);
      if (!part.ok()) return WithExitCode(part.status(), ExitCode::kRejectedInput);
      ASHLAR_RETURN_IF_ERROR(Keep(binding, *part, file.name));
      used = true;
    }
    if (used) return absl::OkStatus();
    return WithExitCode(absl::NotFoundError(absl::StrCat(file.name, ": no array '", name, "'")),
                        ExitCode::kRejectedInput);
  }

  const Graph& graph_;
  const InputFlags& flags_;
  Console& console_;
  PartReader part_;
  bool read_standard_input_ = false;
  std::map<std::string, std::vector<HostTensor>> parts_;  // by binding name
};

}  // namespace

HostTensor RandomInput(const TensorType& type, uint64_t seed, int position) {
  HostTensor tensor = HostTensor::Zeros(type);
  // Unrelated to the stream of the same seed that draws the weights of the zoo.
  Random random(~seed - static_cast<uint64_t>(position));
  if (type.dtype == DType::kFloat32) {
    for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(random.Normal());
    return tensor;
  }
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.Set(i, IsFloat(type.dtype) ? random.Normal() : static_cast<double>(random.Next() >> 57));
  }
  return tensor;
}

absl::StatusOr<InputTensors> MakeInputs(const Graph& graph, const InputFlags& flags, uint64_t seed,
                                        Console& console) {
  InputReader reader(graph, flags, /*steps=*/false, console);
  ASHLAR_RETURN_IF_ERROR(reader.ReadAll());
  InputTensors tensors;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Binding& binding = graph.inputs()[i];
    ASHLAR_ASSIGN_OR_RETURN(std::optional<HostTensor> tensor, reader.Take(binding));
    const TensorType& type = graph.var(binding.var).type;
    tensors[binding.name] =
        tensor.has_value() ? *std::move(tensor) : RandomInput(type, seed, static_cast<int>(i));
  }
  return tensors;
}

absl::StatusOr<InputSteps> MakeInputSteps(const Graph& graph, const InputFlags& flags,
                                          uint64_t seed, Console& console) {
  InputReader reader(graph, flags, /*steps=*/true, console);
  ASHLAR_RETURN_IF_ERROR(reader.ReadAll());
  InputSteps steps = {1, {}};
  std::string longest;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Binding& binding = graph.inputs()[i];
    ASHLAR_ASSIGN_OR_RETURN(const std::optional<int64_t> runs, reader.CountRuns(binding));
    if (!runs) {
      steps.tensors[binding.name] =
          RandomInput(graph.var(binding.var).type, seed, static_cast<int>(i));
      continue;
    }
    steps.tensors[binding.name] = reader.TakeRuns(binding);
    if (*runs == 1) continue;
    if (steps.count > 1 && *runs != steps.count) {
      return WithExitCode(
          absl::InvalidArgumentError(absl::StrCat(
              "--steps: the files hold ", steps.count, " runs of input '", longest, "' and ", *runs,
              " of '", binding.name, "'; expected equal numbers, or one run for all")),
          ExitCode::kRejectedInput);
    }
    steps.count = *runs;
    longest = binding.name;
  }
  return steps;
}

}  // namespace ashlar
