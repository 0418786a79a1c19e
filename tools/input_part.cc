#include "tools/input_part.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "serialization/npy.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/input_array.h"

namespace ashlar {
namespace {

constexpr float kImageNetMean[] = {123.675f, 116.28f, 103.53f};
constexpr float kImageNetScale[] = {1 / 58.395f, 1 / 57.12f, 1 / 57.375f};

}  // namespace

absl::StatusOr<HostTensor> PartReader::Read(const InputFile& file, const TensorType& type) {
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
        file.name, ": unknown kind of picture; expected .png, .jpg or .ppm, or an array in .npy"));
  }
  return ReadRaw(file, type);
}

absl::StatusOr<HostTensor> PartReader::FromPixels(const Pixels& pixels, const TensorType& type,
                                                  const std::string& name) {
  const bool planes_come_first = type.shape.rank() == 4 && type.shape[1] == Pixels::kChannels;
  if (!planes_come_first && (type.shape.rank() != 4 || type.shape[3] != Pixels::kChannels)) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": a picture goes into {N,3,H,W} or {N,H,W,3}, and the input is ", type.ToString()));
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

absl::StatusOr<ChannelOptions> PartReader::Channels(DType dtype, const std::string& name) const {
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

absl::StatusOr<HostTensor> PartReader::ReadRaw(const InputFile& file, const TensorType& type) {
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

absl::StatusOr<HostTensor> PartReader::Prepared(HostTensor array, const TensorType& type,
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

absl::StatusOr<HostTensor> PartReader::WithStatistics(HostTensor array, const TensorType& type,
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

absl::Status PartReader::CheckStatistics(int64_t channels, const std::string& path) const {
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

}  // namespace ashlar
