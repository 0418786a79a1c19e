#include "library/pixel_input.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/graph_builder.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "library/join_models.h"
#include "opr/dimshuffle.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/reshape.h"
#include "opr/resize.h"
#include "opr/subtensor.h"
#include "opr/table.h"
#include "opr/type_cvt.h"

namespace ashlar {
namespace {

absl::StatusOr<std::vector<double>> ParseStatistic(absl::string_view part, absl::string_view text) {
  absl::StatusOr<std::vector<double>> numbers =
      ParseNumbers(absl::StrReplaceAll(text, {{",", "?"}, {"/", ","}}));
  if (numbers.ok()) return numbers;
  return absl::InvalidArgumentError(
      absl::StrCat("'", part.substr(0, 80), "': expected a number, or one for each channel, as in ",
                   "mean:123.7/116.3/103.5"));
}

// Builds the graph that converts pixels to floats {N,C,H,W} of a type, or then to {N,H,W,C}.
class Conversion {
 public:
  Conversion(const Binding& input, const TensorType& type, bool channels_last,
             const PixelInput& pixels)
      : input_(input), type_(type), channels_last_(channels_last), pixels_(pixels) {}

  absl::StatusOr<Graph> Build() && {
    const int64_t channels = type_.shape[1], height = type_.shape[2], width = type_.shape[3];
    const auto [from_height, from_width] = pixels_.size.value_or(std::array{height, width});
    const bool yuv = pixels_.yuv.has_value();
    InputParam bytes{DType::kUint8, {type_.shape[0], from_height, from_width, channels}};
    if (yuv) bytes.shape = {type_.shape[0], from_height * 3 / 2, from_width};
    int x = Add(std::make_shared<const Host2DeviceCopy>(bytes), {}, input_.name);
    if (yuv) {
      x = AddColours(x, from_height, from_width);
    } else {
      if (pixels_.bgr) x = AddReversed(x);
      x = Add<Dimshuffle>({{0, 3, 1, 2}}, {x}, "planes");
      x = AddFloats(x, "floats");
    }
    if (from_height != height || from_width != width) x = AddResized(x, height, width);
    x = AddStatistic(ScalarFunction::kSub, pixels_.mean, x, "mean");
    x = AddStatistic(ScalarFunction::kMul, pixels_.scale, x, "scale");
    if (channels_last_) x = Add<Dimshuffle>({{0, 2, 3, 1}}, {x}, "channels_last");
    Add(std::make_shared<const OutputCallback>(OutputParam()), {x}, input_.name);
    ASHLAR_RETURN_IF_ERROR(status_);
    return std::move(builder_).Build();
  }

 private:
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs, const std::string& name) {
    return Add(std::make_shared<const Op>(std::move(param)), std::move(inputs), name);
  }
  // Adds an operator, and returns its first output; after an error, nothing.
  int Add(OperatorPtr op, std::vector<int> inputs, const std::string& name) {
    if (!status_.ok()) return 0;
    GraphBuilder::NodeOptions options;
    const bool border = op->role() == Role::kInput || op->role() == Role::kOutput;
    options.name = border ? absl::StrCat("pixels/", name, op->role() == Role::kInput ? "" : ":out")
                          : absl::StrCat("pixels/", name);
    if (border) options.binding = name;
    absl::StatusOr<std::vector<int>> made =
        builder_.Add(std::move(op), std::move(inputs), std::move(options));
    if (!made.ok()) status_ = made.status();
    return made.ok() && !made->empty() ? (*made)[0] : 0;
  }
  int Constant(HostTensor value, const std::string& name) {
    return Add(Operators().MakeConstant(std::move(value)), {}, name);
  }

  int Integers(const std::vector<int64_t>& values, const std::string& name) {
    const Shape length = {static_cast<int64_t>(values.size())};
    return Constant(HostTensor::FromValues<int64_t>(DType::kInt64, length, values), name);
  }

  int AddReversed(int x) {
    const SubtensorParam param{.axis = {3}, .begin = {1}, .end = {0}, .step = {1}, .idx = {0}};
    return Add<Subtensor>(
        param, {x, Integers({type_.shape[1] - 1}, "last"), Integers({-1}, "back")}, "reversed");
  }

  int AddResized(int x, int64_t height, int64_t width) {
    ResizeParam param;
    param.axes = {2, 3};
    param.mode = ResizeMode::kLinear;
    param.antialias = param.exclude_outside = true;  // as Pillow and PyTorch do
    return Add<Resize>(param, {x, Integers({height, width}, "size")}, "resized");
  }

  int AddFloats(int x, const std::string& name) { return Add<TypeCvt>({type_.dtype}, {x}, name); }

  // Returns a box of {N,1,H,W} bytes: rows from `begin` to `end`, and every `step`th column from
  // `first`.
  int AddBytes(int frame, int64_t begin, int64_t end, int64_t first, int64_t step,
               const std::string& name) {
    const auto integer = [&](int64_t value, const char* of) {
      return Integers({value}, absl::StrCat(name, "/", of));
    };
    const SubtensorParam param{
        .axis = {2, 3}, .begin = {1, 1}, .end = {1, 0}, .step = {0, 1}, .idx = {0, 0}};
    return Add<Subtensor>(param,
                          {frame, integer(begin, "begin"), integer(end, "end"),
                           integer(first, "first"), integer(step, "step")},
                          name);
  }

  // Returns {N,1,H/2,W/2} floats: plane 0 or 1 of a frame's chroma.
  int AddChroma(int frame, int plane, int64_t height, int64_t width, const std::string& name) {
    const int64_t end = height * 3 / 2;
    if (pixels_.yuv->layout.interleaved) {
      return AddFloats(AddBytes(frame, height, end, plane, 2, name), absl::StrCat(name, "/floats"));
    }
    // A row of the frame is two rows of a plane.
    const int rows = AddBytes(frame, height, end, 0, 1, absl::StrCat(name, "/rows"));
    const int planes = Add<class Reshape>(  // a function has this name, too
        {.follows = true},
        {rows, Integers({-1, 2, height / 2, width / 2}, absl::StrCat(name, "/shape"))},
        absl::StrCat(name, "/planes"));
    const SubtensorParam param{.axis = {1}, .begin = {1}, .end = {1}, .step = {0}, .idx = {0}};
    const int bytes = Add<Subtensor>(param,
                                     {planes, Integers({plane}, absl::StrCat(name, "/begin")),
                                      Integers({plane + 1}, absl::StrCat(name, "/end"))},
                                     name);
    return AddFloats(bytes, absl::StrCat(name, "/floats"));
  }

  // Returns the colours of a frame, {N,3,H,W} floats from 0 to 255. What chroma adds is computed
  // for each of its elements, and then repeated for four pixels.
  int AddColours(int frame, int64_t height, int64_t width) {
    const YuvSums sums = SumsOf(*pixels_.yuv);
    frame = Add<Dimshuffle>({{0, -1, 1, 2}}, {frame}, "frame");
    const auto by_channel = [&](std::array<double, 3> values) {
      if (pixels_.bgr) std::swap(values[0], values[2]);
      return std::vector<double>(values.begin(), values.end());
    };
    const bool v_first = pixels_.yuv->layout.starts_with_v;
    const int u = AddChroma(frame, v_first ? 1 : 0, height, width, "u");
    const int v = AddChroma(frame, v_first ? 0 : 1, height, width, "v");
    const int of_u = AddStatistic(ScalarFunction::kMul, by_channel(sums.u), u, "of_u");
    const int of_v = AddStatistic(ScalarFunction::kMul, by_channel(sums.v), v, "of_v");
    int chroma = Add<Elemwise>({ScalarFunction::kAdd}, {of_u, of_v}, "of_u_and_v");
    chroma = AddStatistic(ScalarFunction::kAdd, by_channel(sums.offset), chroma, "chroma");
    ResizeParam twice;
    twice.axes = {2, 3};
    twice.mode = ResizeMode::kNearest;
    twice.coordinates = ResizeCoordinates::kAsymmetric;
    twice.rounding = ResizeRounding::kFloor;
    chroma = Add<Resize>(twice, {chroma, Integers({height, width}, "twice")}, "chroma/twice");
    int luma = AddFloats(AddBytes(frame, 0, height, 0, 1, "luma"), "luma/floats");
    luma = AddStatistic(ScalarFunction::kMul, {sums.luma}, luma, "of_luma");
    const int colours = Add<Elemwise>({ScalarFunction::kAdd}, {chroma, luma}, "sums");
    return Add<Elemwise>({ScalarFunction::kClamp, {0, 255}}, {colours}, "colours");
  }

  // Computes with a constant: one value for each channel, or one for all.
  int AddStatistic(ScalarFunction function, const std::vector<double>& values, int x,
                   const std::string& name) {
    if (values.empty()) return x;
    HostTensor tensor =
        HostTensor::Zeros(type_.dtype, {1, static_cast<int64_t>(values.size()), 1, 1});
    for (size_t i = 0; i < values.size(); ++i) tensor.Set(static_cast<int64_t>(i), values[i]);
    const int constant = Constant(std::move(tensor), absl::StrCat(name, "/values"));
    return Add<Elemwise>({function}, {x, constant}, name);
  }

  const Binding& input_;
  const TensorType& type_;
  const bool channels_last_;
  const PixelInput& pixels_;
  GraphBuilder builder_;
  absl::Status status_;
};

absl::StatusOr<Binding> FindInput(const Graph& graph, const std::string& name) {
  const std::vector<Binding>& inputs = graph.inputs();
  if (name.empty() && inputs.size() == 1) return inputs[0];
  for (const Binding& input : inputs) {
    if (input.name == name) return input;
  }
  const std::string names = absl::StrJoin(
      inputs, ", ", [](std::string* out, const Binding& input) { out->append(input.name); });
  return absl::InvalidArgumentError(
      name.empty() ? absl::StrCat("expected NAME=..., as the model has the inputs ", names)
                   : absl::StrCat("no input '", name.substr(0, 80), "'; the model has: ", names));
}

// Tells a photograph's {N,H,W,C} from {N,C,H,W} by its few channels.
bool AreChannelsLast(const Shape& shape) {
  const auto few = [](int64_t size) { return size == 1 || size == 3 || size == 4; };
  return few(shape[3]) && !few(shape[1]);
}

absl::Status CheckStatistic(absl::string_view name, const std::vector<double>& values,
                            int64_t channels) {
  const auto count = static_cast<int64_t>(values.size());
  if (count <= 1 || count == channels) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", count, " values, and the input ", channels, " channels"));
}

absl::Status CheckFrame(const std::string& input, const TensorType& type,
                        const PixelInput& pixels) {
  const char* const layout = pixels.yuv->layout.name;
  if (type.shape[1] != 3) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input, "' is ", type.ToString(),
                                                   ", expected 3 channels for ", layout));
  }
  const auto [height, width] = pixels.size.value_or(std::array{type.shape[2], type.shape[3]});
  if (height % 2 == 0 && width % 2 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input '", input, "': pictures of ", height, "x",
                                                 width, ", expected an even height and width for ",
                                                 layout));
}

}  // namespace

absl::StatusOr<PixelInput> ParsePixelInput(absl::string_view text) {
  PixelInput pixels;
  const size_t equals = text.rfind('=');
  if (equals != absl::string_view::npos) pixels.input = std::string(text.substr(0, equals));
  const absl::string_view parts =
      equals == absl::string_view::npos ? text : text.substr(equals + 1);
  absl::string_view bt709 = "", full = "";              // these parts, if they are given
  std::map<absl::string_view, absl::string_view> said;  // parts by what they say
  absl::Status twice;
  const auto says = [&](absl::string_view what, absl::string_view part) {
    const auto [before, is_new] = said.emplace(what, part);
    if (is_new) return;
    twice.Update(
        absl::InvalidArgumentError(absl::StrCat("'", before->second.substr(0, 80), "' and '",
                                                part.substr(0, 80), "' both say the ", what)));
  };
  for (absl::string_view part : absl::StrSplit(parts, ',')) {
    absl::string_view rest = part;
    if (absl::ConsumePrefix(&rest, "mean:")) {
      says("mean", part);
      ASHLAR_ASSIGN_OR_RETURN(pixels.mean, ParseStatistic(part, rest));
    } else if (absl::ConsumePrefix(&rest, "scale:")) {
      says("scale", part);
      ASHLAR_ASSIGN_OR_RETURN(pixels.scale, ParseStatistic(part, rest));
    } else if (part == "imagenet") {
      says("mean", part);
      says("scale", part);
      pixels.mean = {123.675, 116.28, 103.53};
      pixels.scale = {1 / 58.395, 1 / 57.12, 1 / 57.375};
    } else if (part == "rgb" || part == "bgr") {
      says("order of colours", part);
      pixels.bgr = part == "bgr";
    } else if (const YuvLayout* const layout = FindYuvLayout(part)) {
      says("layout", part);
      pixels.yuv = YuvFrame{*layout};
    } else if (part == "bt601" || part == "bt709") {
      says("coding", part);
      bt709 = part;
    } else if (part == "limited" || part == "full") {
      says("range", part);
      full = part;
    } else {
      const absl::StatusOr<Shape> size = ParseShape(part);
      if (!size.ok() || size->rank() != 2 || size->num_elements() == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", part.substr(0, 80),
                         "' is no part of pixels; expected a size such as 480x640, rgb, ",
                         "bgr, imagenet, mean:R/G/B, scale:R/G/B, or nv12, nv21, i420, yv12 with ",
                         "bt601 or bt709, limited or full"));
      }
      says("size", part);
      pixels.size = {(*size)[0], (*size)[1]};
    }
  }
  ASHLAR_RETURN_IF_ERROR(twice);
  for (const absl::string_view coding : {bt709, full}) {
    if (coding.empty() || pixels.yuv) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("'", coding, "' without a layout: expected nv12, nv21, i420 or yv12, too"));
  }
  if (pixels.yuv) {
    pixels.yuv->bt709 = bt709 == "bt709";
    pixels.yuv->full = full == "full";
  }
  return pixels;
}

absl::StatusOr<Model> WithPixelInput(Model model, const PixelInput& pixels) {
  ASHLAR_ASSIGN_OR_RETURN(const Binding input, FindInput(model.graph, pixels.input));
  TensorType type = model.graph.var(input.var).type;
  if (!IsFloat(type.dtype) || type.shape.rank() != 4) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is ", type.ToString(),
                                                   ", expected floats {N,C,H,W} for pixels"));
  }
  const bool channels_last = model.channels_last || AreChannelsLast(type.shape);
  if (channels_last) {
    const Shape given = type.shape;
    type.shape = {given[0], given[3], given[1], given[2]};
  }
  ASHLAR_RETURN_IF_ERROR(CheckStatistic("mean", pixels.mean, type.shape[1]));
  ASHLAR_RETURN_IF_ERROR(CheckStatistic("scale", pixels.scale, type.shape[1]));
  if (pixels.yuv) ASHLAR_RETURN_IF_ERROR(CheckFrame(input.name, type, pixels));
  Model conversion;
  ASHLAR_ASSIGN_OR_RETURN(conversion.graph, Conversion(input, type, channels_last, pixels).Build());
  const bool all_last = model.channels_last;
  ASHLAR_ASSIGN_OR_RETURN(model, JoinModels(std::move(conversion), std::move(model)));
  model.channels_last = all_last;
  return model;
}

}  // namespace ashlar
