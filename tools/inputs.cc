#include "tools/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/random.h"
#include "graph/status.h"
#include "serialization/image.h"
#include "serialization/mapped_file.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/model.h"

namespace ashlar {
namespace {

constexpr float kImageNetMean[] = {123.675f, 116.28f, 103.53f};
constexpr float kImageNetScale[] = {1 / 58.395f, 1 / 57.12f, 1 / 57.375f};

bool IsImage(const std::string& path) {
  for (const char* ending : {".png", ".jpg", ".jpeg", ".ppm", ".pnm"}) {
    if (HasEnding(path, ending)) return true;
  }
  return false;
}

// By its ending, a picture of a kind that nobody reads here: its bytes are no tensor.
bool IsUnknownPicture(const std::string& path) {
  for (const char* ending : {".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".pbm", ".tga",
                             ".heic", ".avif", ".jxl", ".jp2", ".exr", ".ico", ".svg"}) {
    if (HasEnding(path, ending)) return true;
  }
  return false;
}

// [N, H, W, C] to [N, C, H, W], in Float32.
HostTensor ToChannelsFirst(const HostTensor& x) {
  const Shape& s = x.shape();
  HostTensor y = HostTensor::Zeros(DType::kFloat32, {s[0], s[3], s[1], s[2]});
  const int64_t pixels = s[1] * s[2];
  for (int64_t n = 0; n < s[0]; ++n) {
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < s[3]; ++c) {
        y.mutable_data<float>()[(n * s[3] + c) * pixels + p] =
            static_cast<float>(x.At((n * pixels + p) * s[3] + c));
      }
    }
  }
  return y;
}

// (x - mean[c]) * scale[c] for the channels c of dimension 1, in Float32.
HostTensor Normalised(const HostTensor& x, const std::vector<double>& mean,
                      const std::vector<double>& scale) {
  HostTensor y = HostTensor::Zeros(DType::kFloat32, x.shape());
  const int64_t channels = x.shape()[1];
  const int64_t plane = x.num_elements() / std::max<int64_t>(1, x.shape()[0] * channels);
  const auto of = [](const std::vector<double>& values, int64_t c, double fallback) {
    if (values.empty()) return fallback;
    return values.size() == 1 ? values[0] : values[static_cast<size_t>(c)];
  };
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t c = i / plane % channels;
    y.mutable_data<float>()[i] = static_cast<float>((x.At(i) - of(mean, c, 0)) * of(scale, c, 1));
  }
  return y;
}

HostTensor Converted(const HostTensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  HostTensor y = HostTensor::Zeros(dtype, x.shape());
  for (int64_t i = 0; i < x.num_elements(); ++i) y.Set(i, x.At(i));
  return y;
}

// ResourceExhausted where the inputs alone are more than the machine's memory.
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
  InputReader(const Graph& graph, const InputFlags& flags) : graph_(graph), flags_(flags) {}

  // Reads one value of --input into the parts of the inputs it is for.
  absl::Status Read(const std::string& argument) {
    const size_t equals = argument.find('=');
    const std::string name = equals == std::string::npos ? "" : argument.substr(0, equals);
    const std::string path = equals == std::string::npos ? argument : argument.substr(equals + 1);
    if (HasEnding(path, ".npz")) return ReadArchive(name, path);
    ASHLAR_ASSIGN_OR_RETURN(const Binding binding, Find(name));
    const TensorType& type = graph_.var(binding.var).type;
    absl::StatusOr<HostTensor> part = ReadPart(path, type);
    if (!part.ok()) return WithExitCode(part.status(), ExitCode::kRejectedInput);
    parts_[binding.name].push_back(*std::move(part));
    return absl::OkStatus();
  }

  // The parts of an input joined, or nullopt where none was given.
  absl::StatusOr<std::optional<HostTensor>> Take(const Binding& binding, Console& console) {
    const auto it = parts_.find(binding.name);
    if (it == parts_.end()) return std::optional<HostTensor>();
    const TensorType& type = graph_.var(binding.var).type;
    std::vector<HostTensor> parts = std::move(it->second);
    const bool one_image = parts.size() == 1 && type.shape.rank() == 4 &&
                           parts[0].shape().rank() == 4 && parts[0].shape()[0] == 1;
    if (one_image && type.shape[0] > 1) {
      console.Note(absl::StrCat("the image for input '", binding.name, "' fills its batch of ",
                                type.shape[0]));
      parts.resize(static_cast<size_t>(type.shape[0]), HostTensor(parts[0]));
    }
    HostTensor joined = HostTensor::Zeros(type.dtype, type.shape);
    char* target = static_cast<char*>(joined.mutable_raw());
    int64_t rows = 0, bytes = 0;
    for (const HostTensor& part : parts) {
      Shape expected = type.shape;
      if (expected.rank() > 0 && part.shape().rank() > 0) expected[0] = part.shape()[0];
      if (part.shape() != expected || bytes + part.bytes() > joined.bytes()) {
        return Mismatch(binding, type, parts);
      }
      const HostTensor converted = Converted(part, type.dtype);
      std::memcpy(target + bytes, converted.raw(), static_cast<size_t>(converted.bytes()));
      bytes += converted.bytes();
      rows += expected.rank() > 0 ? expected[0] : 1;
    }
    if (bytes != joined.bytes()) return Mismatch(binding, type, parts);
    return std::optional<HostTensor>(std::move(joined));
  }

 private:
  static absl::Status Mismatch(const Binding& binding, const TensorType& type,
                               const std::vector<HostTensor>& parts) {
    return WithExitCode(absl::InvalidArgumentError(absl::StrCat(
                            "input '", binding.name, "': the files hold ",
                            absl::StrJoin(parts, ", ",
                                          [](std::string* out, const HostTensor& part) {
                                            absl::StrAppend(out, Name(part.dtype()),
                                                            part.shape().ToString());
                                          }),
                            ", expected ", type.ToString(), " in all")),
                        ExitCode::kRejectedInput);
  }

  absl::StatusOr<Binding> Find(const std::string& name) const {
    const std::vector<Binding>& inputs = graph_.inputs();
    if (name.empty() && inputs.size() == 1) return inputs[0];
    for (const Binding& input : inputs) {
      if (input.name == name) return input;
    }
    const std::string names = absl::StrJoin(
        inputs, ", ", [](std::string* out, const Binding& b) { out->append(b.name); });
    if (name.empty()) {
      return UsageError(absl::StrCat("--input needs NAME=FILE, the model has: ", names));
    }
    return UsageError(absl::StrCat("--input ", name, ": no such input; the model has: ", names));
  }

  absl::Status ReadArchive(const std::string& name, const std::string& path) {
    absl::StatusOr<NamedTensors> arrays = ReadNpz(path);
    if (!arrays.ok()) return WithExitCode(arrays.status(), ExitCode::kRejectedInput);
    if (!name.empty() && arrays->size() == 1) (*arrays)[0].first = name;
    bool used = false;
    for (auto& [array, tensor] : *arrays) {
      if (!name.empty() && array != name) continue;
      ASHLAR_ASSIGN_OR_RETURN(const Binding binding, Find(array));
      absl::StatusOr<HostTensor> part =
          Prepared(std::move(tensor), graph_.var(binding.var).type, path);
      if (!part.ok()) return WithExitCode(part.status(), ExitCode::kRejectedInput);
      parts_[binding.name].push_back(*std::move(part));
      used = true;
    }
    if (used) return absl::OkStatus();
    return WithExitCode(absl::NotFoundError(absl::StrCat(path, ": no array '", name, "'")),
                        ExitCode::kRejectedInput);
  }

  absl::StatusOr<HostTensor> ReadPart(const std::string& path, const TensorType& type) const {
    if (IsImage(path)) return ReadPhotograph(path, type);
    if (HasEnding(path, ".npy")) {
      ASHLAR_ASSIGN_OR_RETURN(HostTensor array, ReadNpy(path));
      return Prepared(std::move(array), type, path);
    }
    if (IsUnknownPicture(path)) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": unknown kind of picture; expected .png, .jpg or .ppm, or an array in .npy"));
    }
    return ReadRaw(path, type);
  }

  absl::StatusOr<HostTensor> ReadPhotograph(const std::string& path, const TensorType& type) const {
    if (type.shape.rank() != 4 || type.shape[1] != 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": a photograph goes into {N,3,H,W}, and the input is ", type.ToString()));
    }
    ImageOptions options;
    options.height = type.shape[2];
    options.width = type.shape[3];
    const bool standard = flags_.mean.empty() && flags_.scale.empty();
    if (standard) {
      std::copy_n(kImageNetMean, 3, options.mean.begin());
      std::copy_n(kImageNetScale, 3, options.scale.begin());
    }
    ASHLAR_ASSIGN_OR_RETURN(HostTensor image, ReadImage(path, options));
    return standard ? image : WithStatistics(std::move(image), path);
  }

  absl::StatusOr<HostTensor> ReadRaw(const std::string& path, const TensorType& type) const {
    ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
    const int64_t size = static_cast<int64_t>(file->bytes().size());
    const int64_t expected = TensorType{type.dtype, type.shape}.bytes();
    if (size != expected) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": ", Counted(size, "byte"), ", expected ", expected, " for ", type.ToString()));
    }
    Shape shape = type.shape;
    if (flags_.nhwc && shape.rank() == 4) shape = {shape[0], shape[2], shape[3], shape[1]};
    return Prepared(HostTensor::Borrow(type.dtype, shape, file, file->bytes().data()), type, path);
  }

  // An array in the graph's order of dimensions, with --mean and --scale applied.
  absl::StatusOr<HostTensor> Prepared(HostTensor array, const TensorType& type,
                                      const std::string& path) const {
    if (flags_.nhwc && type.shape.rank() == 4 && array.shape().rank() == 4) {
      array = ToChannelsFirst(array);
    }
    return WithStatistics(std::move(array), path);
  }

  absl::StatusOr<HostTensor> WithStatistics(HostTensor array, const std::string& path) const {
    if (flags_.mean.empty() && flags_.scale.empty()) return array;
    if (array.shape().rank() < 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": --mean and --scale need channels, and the array is ", array.shape().ToString()));
    }
    const int64_t channels = array.shape()[1];
    for (const std::vector<double>* values : {&flags_.mean, &flags_.scale}) {
      if (values->size() > 1 && static_cast<int64_t>(values->size()) != channels) {
        return WithExitCode(absl::InvalidArgumentError(absl::StrCat(
                                path, ": ", channels, " channels, but ", values->size(),
                                " values in ", values == &flags_.mean ? "--mean" : "--scale")),
                            ExitCode::kUsage);
      }
    }
    return Normalised(array, flags_.mean, flags_.scale);
  }

  const Graph& graph_;
  const InputFlags& flags_;
  std::map<std::string, std::vector<HostTensor>> parts_;  // by binding name
};

}  // namespace

HostTensor RandomInput(const TensorType& type, uint64_t seed, int position) {
  HostTensor tensor = HostTensor::Zeros(type.dtype, type.shape);
  // Far from the stream of the same seed that the weights of the zoo are drawn from.
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
  ASHLAR_RETURN_IF_ERROR(CheckSize(graph));
  InputReader reader(graph, flags);
  for (const std::string& argument : flags.files) ASHLAR_RETURN_IF_ERROR(reader.Read(argument));
  InputTensors tensors;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Binding& binding = graph.inputs()[i];
    ASHLAR_ASSIGN_OR_RETURN(std::optional<HostTensor> tensor, reader.Take(binding, console));
    const TensorType& type = graph.var(binding.var).type;
    tensors[binding.name] =
        tensor.has_value() ? *std::move(tensor) : RandomInput(type, seed, static_cast<int>(i));
  }
  return tensors;
}

}  // namespace ashlar
