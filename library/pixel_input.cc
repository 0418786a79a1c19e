#include "library/pixel_input.h"

#include <algorithm>
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

// Builds the graph that converts pixels.
class Conversion {
 public:
  Conversion(const Binding& input, const TensorType& type, const PixelInput& pixels)
      : input_(input), type_(type), pixels_(pixels) {}

  absl::StatusOr<Graph> Build() && {
    const int64_t channels = type_.shape[1], height = type_.shape[2], width = type_.shape[3];
    const auto [from_height, from_width] = pixels_.size.value_or(std::array{height, width});
    const InputParam bytes{DType::kUint8, {type_.shape[0], from_height, from_width, channels}};
    int x = Add(std::make_shared<const Host2DeviceCopy>(bytes), {}, input_.name);
    if (pixels_.bgr) x = AddReversed(x);
    x = Add<Dimshuffle>({{0, 3, 1, 2}}, {x}, "planes");
    x = Add<TypeCvt>({type_.dtype}, {x}, "floats");
    if (from_height != height || from_width != width) x = AddResized(x, height, width);
    x = AddStatistic(ScalarFunction::kSub, pixels_.mean, x, "mean");
    x = AddStatistic(ScalarFunction::kMul, pixels_.scale, x, "scale");
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

absl::Status CheckStatistic(absl::string_view name, const std::vector<double>& values,
                            int64_t channels) {
  const auto count = static_cast<int64_t>(values.size());
  if (count <= 1 || count == channels) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", count, " values, and the input ", channels, " channels"));
}

}  // namespace

absl::StatusOr<PixelInput> ParsePixelInput(absl::string_view text) {
  PixelInput pixels;
  const size_t equals = text.rfind('=');
  if (equals != absl::string_view::npos) pixels.input = std::string(text.substr(0, equals));
  const absl::string_view parts =
      equals == absl::string_view::npos ? text : text.substr(equals + 1);
  for (absl::string_view part : absl::StrSplit(parts, ',')) {
    absl::string_view rest = part;
    if (absl::ConsumePrefix(&rest, "mean:")) {
      ASHLAR_ASSIGN_OR_RETURN(pixels.mean, ParseStatistic(part, rest));
    } else if (absl::ConsumePrefix(&rest, "scale:")) {
      ASHLAR_ASSIGN_OR_RETURN(pixels.scale, ParseStatistic(part, rest));
    } else if (part == "imagenet") {
      pixels.mean = {123.675, 116.28, 103.53};
      pixels.scale = {1 / 58.395, 1 / 57.12, 1 / 57.375};
    } else if (part == "rgb" || part == "bgr") {
      pixels.bgr = part == "bgr";
    } else {
      const absl::StatusOr<Shape> size = ParseShape(part);
      if (!size.ok() || size->rank() != 2 || size->num_elements() == 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("'", part.substr(0, 80),
                         "' is no part of pixels; expected a size such as 480x640, rgb, ",
                         "bgr, imagenet, mean:R/G/B or scale:R/G/B"));
      }
      pixels.size = {(*size)[0], (*size)[1]};
    }
  }
  return pixels;
}

absl::StatusOr<Model> WithPixelInput(Model model, const PixelInput& pixels) {
  ASHLAR_ASSIGN_OR_RETURN(const Binding input, FindInput(model.graph, pixels.input));
  const TensorType type = model.graph.var(input.var).type;
  if (!IsFloat(type.dtype) || type.shape.rank() != 4) {
    return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "' is ", type.ToString(),
                                                   ", expected floats {N,C,H,W} for pixels"));
  }
  ASHLAR_RETURN_IF_ERROR(CheckStatistic("mean", pixels.mean, type.shape[1]));
  ASHLAR_RETURN_IF_ERROR(CheckStatistic("scale", pixels.scale, type.shape[1]));
  Model conversion;
  ASHLAR_ASSIGN_OR_RETURN(conversion.graph, Conversion(input, type, pixels).Build());
  return JoinModels(std::move(conversion), std::move(model));
}

}  // namespace ashlar
