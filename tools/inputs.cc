#include "tools/inputs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
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
#include "serialization/image.h"
#include "serialization/mapped_file.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "serialization/standard_input.h"
#include "tools/convert_elements.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/model.h"

namespace ashlar {
namespace {

constexpr float kImageNetMean[] = {123.675f, 116.28f, 103.53f};
constexpr float kImageNetScale[] = {1 / 58.395f, 1 / 57.12f, 1 / 57.375f};

enum class FileKind { kPicture, kArray, kArchive, kRaw };

FileKind KindByEnding(const std::string& path) {
  if (HasEnding(path, ".npz")) return FileKind::kArchive;
  if (HasEnding(path, ".npy")) return FileKind::kArray;
  for (const char* ending : {".png", ".jpg", ".jpeg", ".ppm", ".pnm"}) {
    if (HasEnding(path, ending)) return FileKind::kPicture;
  }
  return FileKind::kRaw;
}

// Whether the ending is of an unsupported kind of picture, whose bytes are not a tensor.
bool IsUnknownPicture(const std::string& path) {
  for (const char* ending : {".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".pbm", ".tga",
                             ".heic", ".avif", ".jxl", ".jp2", ".exr", ".ico", ".svg"}) {
    if (HasEnding(path, ending)) return true;
  }
  return false;
}

FileKind KindByBytes(absl::Span<const uint8_t> bytes) {
  const absl::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (absl::StartsWith(text, "PK\3\4")) return FileKind::kArchive;
  if (absl::StartsWith(text, "\x93NUMPY")) return FileKind::kArray;
  for (const char* start : {"\x89PNG", "\xff\xd8\xff", "P5", "P6"}) {
    if (absl::StartsWith(text, start)) return FileKind::kPicture;
  }
  return FileKind::kRaw;
}

// A file for an input.
struct InputFile {
  std::string name;  // for messages
  FileKind kind;
  std::shared_ptr<const MappedFile> content;
  absl::Span<const uint8_t> bytes() const { return content->bytes(); }
};

// Transposes [N, rows, columns] to [N, columns, rows], in this shape.
HostTensor Transposed(const HostTensor& x, int64_t rows, int64_t columns, const Shape& shape) {
  HostTensor y = HostTensor::ZerosLike(x, shape);
  const auto* from = static_cast<const char*>(x.raw());
  auto* to = static_cast<char*>(y.mutable_raw());
  const int64_t size = SizeOf(x.dtype());
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        std::memcpy(to + ((n * columns + c) * rows + r) * size,
                    from + ((n * rows + r) * columns + c) * size, static_cast<size_t>(size));
      }
    }
  }
  return y;
}

// Transposes [N, C, H, W] to [N, H, W, C].
HostTensor ToChannelsLast(const HostTensor& x) {
  const Shape& s = x.shape();
  return Transposed(x, s[1], s[2] * s[3], {s[0], s[2], s[3], s[1]});
}

// Returns the value of --mean or --scale for a channel.
double OfChannel(const std::vector<double>& values, size_t c, double fallback) {
  if (values.empty()) return fallback;
  return values.size() == 1 ? values[0] : values[c];
}

// Computes (x - mean[c]) * scale[c] for the channels c of dimension 1, in Float32.
HostTensor Normalised(const HostTensor& x, const std::vector<double>& mean,
                      const std::vector<double>& scale) {
  HostTensor y = HostTensor::Zeros(DType::kFloat32, x.shape());
  const int64_t channels = x.shape()[1];
  const int64_t plane = x.num_elements() / std::max<int64_t>(1, x.shape()[0] * channels);
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t c = i / plane % channels;
    y.mutable_data<float>()[i] =
        static_cast<float>((x.At(i) - OfChannel(mean, c, 0)) * OfChannel(scale, c, 1));
  }
  return y;
}

// Rounds to integers, as an integer input takes the results of --mean and --scale.
HostTensor Rounded(HostTensor x) {
  for (float& element : x.mutable_data<float>()) element = std::nearbyint(element);
  return x;
}

// ResourceExhausted if the inputs alone exceed the machine's memory.
absl::Status CheckSize(const Graph& graph) {
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  int64_t bytes = 0;
  for (const Binding& input : graph.inputs()) bytes += graph.var(input.var).type.bytes();
  if (bytes <= memory) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "the inputs of the model are ", bytes, " bytes, and this machine's memory is ", memory));
}

// Whether an array for such an input holds the pixels of a picture: rows of red, green and blue
// bytes.
bool ArePixels(const HostTensor& array, const TensorType& type, bool nhwc) {
  const Shape& shape = array.shape();
  return array.dtype() == DType::kUint8 && shape.rank() == 3 && shape[2] == Pixels::kChannels &&
         (nhwc || shape[0] != Pixels::kChannels) && type.shape.rank() == 4 &&
         type.shape[1] == Pixels::kChannels;
}

// Adds the first dimension to an array that is one image of an input.
HostTensor WithBatch(const HostTensor& array, const TensorType& type, bool nhwc) {
  const Shape& image = array.shape();
  const Shape& batch = type.shape;
  if (image.rank() + 1 != batch.rank()) return array;
  for (int i = 0; i < image.rank(); ++i) {
    const int dim = nhwc && batch.rank() == 4 ? (i + 1) % 3 : i;  // from H, W, C to C, H, W
    if (image[i] != batch[dim + 1]) return array;
  }
  std::vector<int64_t> dims(image.dims().begin(), image.dims().end());
  dims.insert(dims.begin(), 1);
  return array.Reshaped(*Shape::Make(dims));
}

// Joins dimension 0 of an array of runs {runs, batch, ...} with the batch of an input.
HostTensor WithoutRuns(const HostTensor& array, const TensorType& type) {
  const Shape& runs = array.shape();
  const Shape& batch = type.shape;
  if (batch.rank() == 0 || runs.rank() != batch.rank() + 1 || runs[1] != batch[0]) return array;
  std::vector<int64_t> dims(runs.dims().begin() + 1, runs.dims().end());
  dims[0] *= runs[0];
  return array.Reshaped(Shape(dims));
}

class InputReader {
 public:
  // `steps`: the files hold several runs, one after the other.
  InputReader(const Graph& graph, const InputFlags& flags, bool steps, Console& console)
      : graph_(graph), flags_(flags), steps_(steps), console_(console) {}

  absl::Status ReadAll() {
    ASHLAR_RETURN_IF_ERROR(CheckSize(graph_));
    for (const std::string& argument : flags_.files) ASHLAR_RETURN_IF_ERROR(Read(argument));
    if (AnyGiven(flags_.pictures) && !read_pictures_) {
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
    absl::StatusOr<HostTensor> part = ReadPart(*file, type);
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
          Prepared(std::move(tensor), graph_.var(binding.var).type, file.name);
      if (!part.ok()) return WithExitCode(part.status(), ExitCode::kRejectedInput);
      ASHLAR_RETURN_IF_ERROR(Keep(binding, *part, file.name));
      used = true;
    }
    if (used) return absl::OkStatus();
    return WithExitCode(absl::NotFoundError(absl::StrCat(file.name, ": no array '", name, "'")),
                        ExitCode::kRejectedInput);
  }

  absl::StatusOr<HostTensor> ReadPart(const InputFile& file, const TensorType& type) {
    switch (file.kind) {
      case FileKind::kPicture: {
        ASHLAR_ASSIGN_OR_RETURN(const Pixels pixels, ParseImage(file.bytes(), file.name));
        return FromPixels(pixels, type, file.name);
      }
      case FileKind::kArray: {
        ASHLAR_ASSIGN_OR_RETURN(HostTensor array, ParseNpy(file.bytes(), file.name));
        return Prepared(std::move(array), type, file.name);
      }
      case FileKind::kArchive:
      case FileKind::kRaw:
        break;
    }
    if (IsUnknownPicture(file.name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.name,
          ": unknown kind of picture; expected .png, .jpg or .ppm, or an array in .npy"));
    }
    return ReadRaw(file, type);
  }

  absl::StatusOr<HostTensor> FromPixels(const Pixels& pixels, const TensorType& type,
                                        const std::string& name) {
    const bool planes_come_first = type.shape.rank() == 4 && type.shape[1] == Pixels::kChannels;
    if (!planes_come_first && (type.shape.rank() != 4 || type.shape[3] != Pixels::kChannels)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": a picture goes into {N,3,H,W} or {N,H,W,3}, and the input is ",
                       type.ToString()));
    }
    read_pictures_ = true;
    const int height = planes_come_first ? 2 : 1;
    const PictureSize input = {type.shape[height], type.shape[height + 1]};
    const PictureFit& fit = flags_.pictures.fit;
    if (StretchesUnasked(pixels.size, input, fit)) {
      console_.Note(absl::StrCat(name, " of ", pixels.size.height, " x ", pixels.size.width,
                                 " pixels is stretched to ", input.height, " x ", input.width,
                                 "; --resize with --crop, or --letterbox, keep its "
                                 "proportions, --resize stretch is this without a note"));
    }
    const absl::StatusOr<Pixels> fitted = FitPicture(pixels, input, fit);
    if (!fitted.ok()) return Annotate(fitted.status(), name);
    ASHLAR_ASSIGN_OR_RETURN(const ChannelOptions channels, Channels(type.dtype, name));
    HostTensor planes = ToPlanes(*fitted, channels);
    if (!IsFloat(type.dtype)) planes = Rounded(std::move(planes));
    return planes_come_first ? std::move(planes) : ToChannelsLast(planes);
  }

  // Returns --mean and --scale; by default ImageNet's statistics, or none for an input of bytes.
  absl::StatusOr<ChannelOptions> Channels(DType dtype, const std::string& name) const {
    ChannelOptions options;
    options.bgr = flags_.pictures.bgr;
    if (flags_.mean.empty() && flags_.scale.empty()) {
      if (!IsFloat(dtype)) return options;
      std::copy_n(kImageNetMean, Pixels::kChannels, options.mean.begin());
      std::copy_n(kImageNetScale, Pixels::kChannels, options.scale.begin());
      if (options.bgr) {
        std::reverse(options.mean.begin(), options.mean.end());
        std::reverse(options.scale.begin(), options.scale.end());
      }
      return options;
    }
    ASHLAR_RETURN_IF_ERROR(CheckStatistics(Pixels::kChannels, name));
    for (size_t c = 0; c < Pixels::kChannels; ++c) {
      options.mean[c] = static_cast<float>(OfChannel(flags_.mean, c, 0));
      options.scale[c] = static_cast<float>(OfChannel(flags_.scale, c, 1));
    }
    return options;
  }

  absl::StatusOr<HostTensor> ReadRaw(const InputFile& file, const TensorType& type) {
    const int64_t size = static_cast<int64_t>(file.bytes().size());
    const int64_t expected = TensorType{type.dtype, type.shape}.bytes();
    const bool several = steps_ && size > 0 && expected > 0 && size % expected == 0;
    if (size != expected && !several) {
      return absl::InvalidArgumentError(absl::StrCat(file.name, ": ", Counted(size, "byte"),
                                                     ", expected ", steps_ ? "a multiple of " : "",
                                                     expected, " for ", type.ToString()));
    }
    Shape shape = type.shape;
    if (flags_.nhwc && shape.rank() == 4) shape = {shape[0], shape[2], shape[3], shape[1]};
    if (several && shape.rank() == 0) shape = {1};
    if (several) shape[0] *= size / expected;
    return Prepared(HostTensor::Borrow(type.dtype, shape, file.content, file.bytes().data()), type,
                    file.name);
  }

  // Returns an array in the graph's order of dimensions, with --mean and --scale applied.
  absl::StatusOr<HostTensor> Prepared(HostTensor array, const TensorType& type,
                                      const std::string& path) {
    if (steps_) array = WithoutRuns(array, type);
    if (ArePixels(array, type, flags_.nhwc)) {
      Pixels pixels = {{array.shape()[0], array.shape()[1]},
                       {array.data<uint8_t>().begin(), array.data<uint8_t>().end()}};
      if (absl::Status status = CheckPictureSize(pixels.size, "picture"); !status.ok()) {
        return Annotate(status, path);
      }
      console_.Note(absl::StrCat(path, " holds ", Name(array.dtype()), array.shape().ToString(),
                                 ": the pixels of a picture"));
      return FromPixels(pixels, type, path);
    }
    array = WithBatch(array, type, flags_.nhwc);
    if (flags_.nhwc && type.shape.rank() == 4 && array.shape().rank() == 4) {
      array = ToChannelsFirst(array);
    }
    return WithStatistics(std::move(array), type, path);
  }

  absl::StatusOr<HostTensor> WithStatistics(HostTensor array, const TensorType& type,
                                            const std::string& path) const {
    if (flags_.mean.empty() && flags_.scale.empty()) return array;
    if (array.shape().rank() < 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": --mean and --scale need channels, and the array is ", array.shape().ToString()));
    }
    ASHLAR_RETURN_IF_ERROR(CheckStatistics(array.shape()[1], path));
    HostTensor normalised = Normalised(array, flags_.mean, flags_.scale);
    return IsFloat(type.dtype) ? normalised : Rounded(std::move(normalised));
  }

  absl::Status CheckStatistics(int64_t channels, const std::string& path) const {
    for (const std::vector<double>* values : {&flags_.mean, &flags_.scale}) {
      if (values->size() > 1 && static_cast<int64_t>(values->size()) != channels) {
        return WithExitCode(absl::InvalidArgumentError(absl::StrCat(
                                path, ": ", channels, " channels, but ", values->size(),
                                " values in ", values == &flags_.mean ? "--mean" : "--scale")),
                            ExitCode::kUsage);
      }
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const InputFlags& flags_;
  const bool steps_;
  Console& console_;
  bool read_pictures_ = false, read_standard_input_ = false;
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

HostTensor ToChannelsFirst(const HostTensor& x) {
  const Shape& s = x.shape();
  return Transposed(x, s[1] * s[2], s[3], {s[0], s[3], s[1], s[2]});
}

}  // namespace ashlar
