#include "tools/training_data.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/host_io.h"
#include "serialization/checksum.h"
#include "serialization/npz.h"
#include "tools/convert_elements.h"
#include "tools/exit_code.h"
#include "tools/folder_entries.h"
#include "tools/format.h"
#include "tools/input_array.h"

namespace ashlar {
namespace {

namespace fs = std::filesystem;

constexpr char kImages[] = "images", kLabels[] = "labels", kImage[] = "image";

absl::Status Rejected(const std::string& path, absl::string_view what) {
  return WithExitCode(absl::InvalidArgumentError(absl::StrCat(path, ": ", what)),
                      ExitCode::kRejectedInput);
}

// Returns a graph that has one image as its input and nothing else, for MakeInputs.
absl::StatusOr<Graph> GraphOfOneImage(const TensorType& images) {
  InputParam param{images.dtype, {images.shape.dims().begin(), images.shape.dims().end()}};
  param.shape[0] = 1;
  GraphBuilder builder;
  GraphBuilder::NodeOptions options;
  options.name = options.binding = kImage;
  ASHLAR_ASSIGN_OR_RETURN(
      const std::vector<int> made,
      builder.Add(std::make_shared<const Host2DeviceCopy>(std::move(param)), {}, options));
  ASHLAR_RETURN_IF_ERROR(
      builder.Add(std::make_shared<const OutputCallback>(OutputParam()), {made[0]}).status());
  return std::move(builder).Build();
}

}  // namespace

absl::StatusOr<TrainingData> TrainingData::Read(const std::string& path, const BatchTypes& types,
                                                const InputFlags& flags, Console& console) {
  TrainingData data;
  data.types_ = types;
  data.image_elements_ = types.images.shape.num_elements() / types.images.shape[0];
  data.label_elements_ = types.labels.shape.num_elements() / types.labels.shape[0];
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  ASHLAR_RETURN_IF_ERROR(folder ? data.ReadFolder(path, flags, console) : data.ReadArrays(path));
  ASHLAR_RETURN_IF_ERROR(data.Check(path, flags));
  return data;
}

absl::Status TrainingData::ReadArrays(const std::string& path) {
  absl::StatusOr<NamedTensors> arrays = ReadNpz(path);
  if (!arrays.ok()) return WithExitCode(arrays.status(), ExitCode::kRejectedInput);
  bool images = false, labels = false;
  for (auto& [name, array] : *arrays) {
    if (name == kImages) {
      images_ = std::move(array);
      images = true;
    } else if (name == kLabels) {
      labels_ = std::move(array);
      labels = true;
    }
  }
  if (images && labels) return absl::OkStatus();
  return Rejected(path, absl::StrCat("no array '", images ? kLabels : kImages,
                                     "'; expected `images` and `labels`"));
}

absl::Status TrainingData::ReadFolder(const std::string& path, const InputFlags& flags,
                                      Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<fs::path> classes, EntriesOf(path, true));
  if (classes.empty()) return Rejected(path, "no folders; expected one for each class");
  ASHLAR_ASSIGN_OR_RETURN(const Graph graph, GraphOfOneImage(types_.images));
  std::vector<std::pair<std::string, int32_t>> files;
  for (const fs::path& folder : classes) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<fs::path> pictures, EntriesOf(folder, false));
    for (const fs::path& picture : pictures) {
      files.emplace_back(picture.string(), static_cast<int32_t>(class_names_.size()));
    }
    class_names_.push_back(folder.filename().string());
  }
  const int64_t count = static_cast<int64_t>(files.size());
  images_ = HostTensor::Zeros(types_.images.dtype, {count, image_elements_});
  labels_ = HostTensor::Zeros(DType::kInt32, {count});
  InputFlags one = flags;
  for (int64_t i = 0; i < count; ++i) {
    const auto& [file, label] = files[static_cast<size_t>(i)];
    if (i % 100 == 0) console.Progress(absl::StrCat("reading picture ", i + 1, " of ", count));
    one.files = {absl::StrCat(kImage, "=", file)};
    ASHLAR_ASSIGN_OR_RETURN(const InputTensors made, MakeInputs(graph, one, 0, console));
    const HostTensor& image = made.at(kImage);
    std::memcpy(static_cast<char*>(images_.mutable_raw()) + i * image.bytes(), image.raw(),
                static_cast<size_t>(image.bytes()));
    labels_.Set(i, label);
  }
  return absl::OkStatus();
}

// Returns whether the images have the model's dimensions except ones, or are rows of as many
// elements; `last`: with channels that come last.
bool TrainingData::HaveLayout(bool last) const {
  const auto image_of = [](const Shape& batch, bool rotated) {
    std::vector<int64_t> dims(batch.dims().begin() + 1, batch.dims().end());
    if (rotated) std::rotate(dims.begin(), dims.end() - 1, dims.end());
    std::erase(dims, 1);
    return dims;
  };
  const Shape& shape = images_.shape();
  if (count_ == 0 || images_.num_elements() != count_ * image_elements_) return false;
  const std::vector<int64_t> model = image_of(types_.images.shape, false);
  if (last) return shape.rank() == 4 && model == image_of(shape, true);
  return shape.rank() == 2 || model.size() == 1 || model == image_of(shape, false);
}

absl::Status TrainingData::Check(const std::string& path, const InputFlags& flags) {
  const auto type = [](const HostTensor& t) { return TensorType{t.dtype(), t.shape()}.ToString(); };
  const auto counted = [](const HostTensor& t) { return t.shape().rank() > 0 ? t.shape()[0] : 0; };
  count_ = counted(images_);
  if (flags.nhwc && HaveLayout(true)) {
    images_ = ToChannelsFirst(images_);
  } else if (!HaveLayout(false)) {
    return Rejected(
        path,
        absl::StrCat("images are ", type(images_), ", expected images as the model's, ",
                     types_.images.ToString(), ", or rows of ", image_elements_, " elements",
                     HaveLayout(true) ? "; --layout nhwc reads channels that come last" : ""));
  }
  if (counted(labels_) != count_ || labels_.num_elements() != count_ * label_elements_) {
    return Rejected(path, absl::StrCat("labels are ", type(labels_), ", expected ", label_elements_,
                                       " for each of ", Counted(count_, "image")));
  }
  for (int64_t i = 0; types_.classes > 0 && i < count_; ++i) {
    const double label = labels_.At(i);
    if (label >= 0 && label < static_cast<double>(types_.classes) &&
        label == static_cast<double>(static_cast<int64_t>(label))) {
      continue;
    }
    const std::string of_model =
        absl::StrCat("and the model has ", types_.classes, " classes (--classes makes others)");
    if (!class_names_.empty()) {
      return Rejected(path, absl::StrCat(class_names_.size(), " folders, one a class, ", of_model));
    }
    return Rejected(path, absl::StrCat("label ", i, " is ", label, ", ", of_model,
                                       ", whose labels are 0 to ", types_.classes - 1));
  }
  if (!class_names_.empty() || (flags.mean.empty() && flags.scale.empty())) {
    if (IsFloat(types_.images.dtype)) return absl::OkStatus();
    absl::StatusOr<HostTensor> converted = ConvertElements(images_, types_.images.dtype);
    if (!converted.ok()) return Rejected(path, converted.status().message());
    images_ = *std::move(converted);
    return absl::OkStatus();
  }
  const size_t channels =
      types_.images.shape.rank() > 1 ? static_cast<size_t>(types_.images.shape[1]) : 1;
  mean_.assign(channels, 0);
  scale_.assign(channels, 1);
  for (const auto& [given, values] : {std::pair{&flags.mean, &mean_}, {&flags.scale, &scale_}}) {
    if (given->size() > 1 && given->size() != channels) {
      return UsageError(absl::StrCat(given == &flags.mean ? "--mean" : "--scale", " has ",
                                     given->size(), " values, the model's images have ", channels,
                                     " channels"));
    }
    for (size_t c = 0; c < channels && !given->empty(); ++c) {
      (*values)[c] = static_cast<float>((*given)[given->size() == 1 ? 0 : c]);
    }
  }
  return absl::OkStatus();
}

void TrainingData::Fill(absl::Span<const int64_t> indices, void* images, void* labels) const {
  const DType dtype = types_.images.dtype;
  const int64_t bytes = image_elements_ * SizeOf(dtype);
  const bool plain = mean_.empty() && images_.dtype() == dtype;
  const int64_t channels = mean_.empty() ? 1 : static_cast<int64_t>(mean_.size());
  const int64_t plane = std::max<int64_t>(1, image_elements_ / channels);
  HostTensor image = HostTensor::Zeros(dtype, {image_elements_});
  char* to_image = static_cast<char*>(images);
  for (size_t n = 0; n < indices.size(); ++n, to_image += bytes) {
    const int64_t first = indices[n] * image_elements_;
    for (int64_t i = 0; i < image_elements_ && !plain; ++i) {
      const size_t c = static_cast<size_t>(i / plane % channels);
      const double value = images_.At(first + i);
      image.Set(i, mean_.empty() ? value : (static_cast<float>(value) - mean_[c]) * scale_[c]);
    }
    const char* const from = plain ? static_cast<const char*>(images_.raw()) + indices[n] * bytes
                                   : static_cast<const char*>(image.raw());
    std::memcpy(to_image, from, static_cast<size_t>(bytes));
    for (int64_t i = 0; i < label_elements_; ++i) {
      const int64_t to = static_cast<int64_t>(n) * label_elements_ + i;
      const double value = labels_.At(indices[n] * label_elements_ + i);
      if (types_.labels.dtype == DType::kInt32) {
        static_cast<int32_t*>(labels)[to] = static_cast<int32_t>(value);
      } else {
        static_cast<float*>(labels)[to] = static_cast<float>(value);
      }
    }
  }
}

uint64_t TrainingData::checksum() const {
  uint64_t sums[2];
  for (size_t i = 0; i < std::size(sums); ++i) {
    const HostTensor& tensor = i == 0 ? images_ : labels_;
    sums[i] = Checksum(tensor.raw(), static_cast<size_t>(tensor.bytes()));
  }
  return Checksum(sums, sizeof(sums));
}

}  // namespace ashlar
