// The loop by which torchvision's Mask R-CNN pastes masks into images, one detection after another.
//
// Its body resizes a mask to the size of its box, which depends on data, and joins it with zeros to
// an image. Row y of the image takes rows of the mask by bilinear weights, which depend on y and
// the box alone, and so do columns. So all images are products of matrices, rows * mask * columns,
// of sizes that are known.
//
// The loop is recognised by the results of its body: it is evaluated for boxes of every kind,
// inside and across each border, and must give the same as the products.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/container/flat_hash_set.h"
#include "graph/status.h"
#include "opr/matrix_mul.h"
#include "opr/split.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/unroll.h"

namespace ashlar {

using onnx::NodeProto;
using F = ScalarFunction;

namespace {

constexpr double kTolerance = 1e-4;  // of values up to 1

// Whether the body may consist of such nodes, besides one Resize.
bool IsPartOfPasting(const std::string& type) {
  static const auto* const types = new absl::flat_hash_set<std::string>{
      "Add",    "Cast",      "Concat",   "Constant", "ConstantOfShape", "Equal",
      "Expand", "Gather",    "Identity", "Mul",      "Reshape",         "ReduceMax",
      "Shape",  "ReduceMin", "Slice",    "Sub",      "Where",           "Unsqueeze"};
  return types->count(type) != 0;
}

struct Box {
  int64_t x0, y0, x1, y1;  // the last pixel belongs to it
};

std::vector<Box> TrialBoxes(int64_t high, int64_t wide) {
  return {{wide / 4, high / 3, wide / 2, high / 2},  // inside
          {0, 0, wide - 1, high - 1},                // all
          {-3, -5, wide + 6, high + 2},              // more than all
          {-7, high / 2, wide / 3, high + 4},        // across two borders
          {wide / 2, -6, wide + 5, high / 5},        // across the others
          {wide / 3, high / 3, wide / 3, high / 3},  // one pixel
          {wide / 5, high / 7, wide / 5 + 1, high - 2}};
}

// Returns the weight of element k of `size` at pixel i of a box [from, to].
double Weight(int64_t i, int64_t from, int64_t to, int64_t k, int64_t size) {
  if (i < from || i > to) return 0;
  const double length = static_cast<double>(std::max<int64_t>(to - from + 1, 1));
  const double at =
      (static_cast<double>(i - from) + 0.5) * static_cast<double>(size) / length - 0.5;
  const double clamped = std::clamp(at, 0.0, static_cast<double>(size - 1));
  return std::max(0.0, 1 - std::abs(clamped - static_cast<double>(k)));
}

// Whether an image is the mask pasted into the box.
bool IsPasted(const HostTensor& image, const HostTensor& mask, const Box& box) {
  const int64_t high = image.shape()[1], wide = image.shape()[2];
  const int64_t rows = mask.shape()[2], columns = mask.shape()[3];
  for (int64_t y = 0; y < high; ++y) {
    std::vector<double> row(static_cast<size_t>(columns), 0);
    for (int64_t k = 0; k < rows; ++k) {
      const double weight = Weight(y, box.y0, box.y1, k, rows);
      for (int64_t c = 0; weight != 0 && c < columns; ++c) {
        row[static_cast<size_t>(c)] += weight * mask.At(k * columns + c);
      }
    }
    for (int64_t x = 0; x < wide; ++x) {
      double value = 0;
      for (int64_t c = 0; c < columns; ++c) {
        value += row[static_cast<size_t>(c)] * Weight(x, box.x0, box.x1, c, columns);
      }
      if (!(std::abs(image.At(y * wide + x) - value) <= kTolerance)) return false;
    }
  }
  return true;
}

// Returns the weights [boxes, pixels, size] by the first and the last pixel of each box.
OnnxVar Weights(OnnxNode& at, OnnxVar from, OnnxVar to, int64_t pixels, int64_t size) {
  const auto numbers = [&](int64_t count, const Shape& shape) {
    HostTensor values = HostTensor::Zeros(DType::kFloat32, shape);
    for (int64_t i = 0; i < count; ++i) values.Set(i, static_cast<double>(i));
    return at.Constant(std::move(values));
  };
  const int64_t boxes = at.shape(from).num_elements();
  const OnnxVar first = at.Converted(at.Reshaped(from, {boxes, 1, 1}), DType::kFloat32);
  const OnnxVar last = at.Converted(at.Reshaped(to, {boxes, 1, 1}), DType::kFloat32);
  const OnnxVar pixel = numbers(pixels, {1, pixels, 1}), element = numbers(size, {1, 1, size});
  const OnnxVar length = at.Greatest(at.Sum(at.Difference(last, first), 1), 1);
  const OnnxVar scale = at.Quotient(at.Scalar(static_cast<double>(size), DType::kFloat32), length);
  const OnnxVar source = at.Sum(at.Product(at.Sum(at.Difference(pixel, first), 0.5), scale), -0.5);
  const OnnxVar clamped = at.Least(at.Greatest(source, 0), static_cast<double>(size - 1));
  const OnnxVar distance = at.Function(F::kAbs, {at.Difference(clamped, element)});
  const OnnxVar weight = at.Greatest(at.Difference(at.Scalar(1, DType::kFloat32), distance), 0);
  const OnnxVar inside = at.Product(at.Function(F::kLessOrEqual, {first, pixel}),
                                    at.Function(F::kLessOrEqual, {pixel, last}));
  return at.Product(weight, inside);
}

}  // namespace

absl::StatusOr<OnnxVar> OnnxNodeReader::PastedMasks(Unrolled& loop, OnnxScope& scope) {
  OnnxNode& at = loop.at;
  if (loop.states.size() != 1 || !loop.axes.empty() || loop.most < 1) return kNoOnnxVar;
  const OnnxVar state = loop.states[0];
  const HostTensor* const none = import_.constant(state);
  if (none == nullptr || none->dtype() != DType::kFloat32 || none->shape().rank() != 3 ||
      none->shape()[0] != 0) {
    return kNoOnnxVar;
  }
  const int64_t high = none->shape()[1], wide = none->shape()[2];
  // The values around the body that it reads.
  std::set<std::string> own, around;
  for (const onnx::ValueInfoProto& input : loop.body.input()) own.insert(input.name());
  for (const onnx::TensorProto& tensor : loop.body.initializer()) own.insert(tensor.name());
  int resizes = 0;
  for (const NodeProto& node : loop.body.node()) {
    own.insert(node.output().begin(), node.output().end());
    resizes += node.op_type() == "Resize";
    if (node.op_type() != "Resize" && !IsPartOfPasting(node.op_type())) return kNoOnnxVar;
  }
  if (resizes != 1) return kNoOnnxVar;
  for (const NodeProto& node : loop.body.node()) {
    for (const std::string& input : node.input()) {
      if (!input.empty() && own.count(input) == 0) around.insert(input);
    }
  }
  OnnxVar masks = kNoOnnxVar, boxes = kNoOnnxVar;
  std::map<std::string, HostTensor> known;
  std::string masks_name, boxes_name;
  for (const std::string& name : around) {
    ASHLAR_ASSIGN_OR_RETURN(const OnnxVar var, Find(name, scope));
    if (import_.unknown(var) || import_.sequence(var) != nullptr) return kNoOnnxVar;
    const TensorType& type = import_.type(var);
    if (const HostTensor* const value = import_.constant(var)) {
      known.emplace(name, *value);
    } else if (masks == kNoOnnxVar && type.dtype == DType::kFloat32 && type.shape.rank() == 4 &&
               type.shape[1] == 1 && type.shape[2] > 0 && type.shape[3] > 0) {
      masks = var;
      masks_name = name;
    } else if (boxes == kNoOnnxVar && type.dtype == DType::kInt64 && type.shape.rank() == 2 &&
               type.shape[1] == 4) {
      boxes = var;
      boxes_name = name;
    } else {
      return kNoOnnxVar;
    }
  }
  if (masks == kNoOnnxVar || boxes == kNoOnnxVar) return kNoOnnxVar;
  for (const OnnxVar var : {masks, boxes}) {
    const OnnxCount* const count = import_.count(var);
    const bool two = import_.second_count(var) != nullptr;
    if (two || (count != nullptr && count->axis != 0)) return kNoOnnxVar;
  }
  const int64_t rows = import_.type(masks).shape[2], columns = import_.type(masks).shape[3];

  for (const Box& box : TrialBoxes(high, wide)) {
    OnnxReadOptions silent;
    OnnxNodeReader trial(model_, silent, external_);
    OnnxScope values;
    values.sets = scope.sets;
    for (const auto& [name, value] : known) values.vars[name] = trial.import_.AddConstant(value);
    HostTensor mask = HostTensor::Zeros(DType::kFloat32, {1, 1, rows, columns});
    for (int64_t i = 0; i < mask.num_elements(); ++i) {
      mask.Set(i, static_cast<double>(i * 7919 % 1009) / 1009);
    }
    values.vars[masks_name] = trial.import_.AddConstant(mask);
    values.vars[boxes_name] = trial.import_.AddConstant(HostTensor::FromValues<int64_t>(
        DType::kInt64, {1, 4}, std::vector<int64_t>{box.x0, box.y0, box.x1, box.y1}));
    OnnxNode node(loop.node, kNewestOperatorSet, {}, {}, trial.import_, external_);
    HostTensor holds = HostTensor::Zeros(DType::kBool, {});
    holds.Set(0, 1);
    Unrolled once = {loop.node, loop.body, node};
    for (const onnx::ValueInfoProto& output : loop.body.output()) {
      once.outputs.push_back(output.name());
    }
    ASHLAR_ASSIGN_OR_RETURN(once.order, OrderOf(loop.body.node(), once.outputs));
    OnnxScope inside = values.Inside("");
    onnx::GraphProto tensors;
    ASHLAR_RETURN_IF_ERROR(trial.AddTensorsOf(loop.body, tensors, inside));
    const absl::StatusOr<std::vector<OnnxVar>> outputs = trial.ReadIteration(
        once, {node.Integer(0), node.Constant(std::move(holds)), trial.import_.AddConstant(*none)},
        0, inside);
    if (!outputs.ok()) return kNoOnnxVar;
    const auto value = [&](size_t i) { return trial.import_.constant((*outputs)[i]); };
    if (value(0) == nullptr || value(0)->num_elements() != 1 || value(0)->At(0) == 0 ||
        value(1) == nullptr || value(1)->dtype() != DType::kFloat32 ||
        value(1)->shape() != Shape({1, high, wide}) || !IsPasted(*value(1), mask, box)) {
      return kNoOnnxVar;
    }
  }

  import_.BeginNode(absl::StrCat(scope.prefix, NameOfOnnx(loop.node)));
  OnnxVar count = loop.count != kNoOnnxVar ? loop.count : at.Integer(loop.most);
  int64_t images = loop.most;
  // The loop reads as many masks and boxes as it has iterations.
  for (const OnnxVar var : {masks, boxes}) {
    images = std::min(images, at.shape(var)[0]);
    count = Checked(at, count, CountAlong(at, var, 0), "the number of masks to paste", true);
  }
  masks = at.Reshaped(FirstPlaces(at, masks, 0, images), {images, rows, columns});
  const OnnxVars sides = at.AddOperator(std::make_shared<const Split>(SplitParam{1, {1, 1, 1, 1}}),
                                        {FirstPlaces(at, boxes, 0, images)});
  if (!at.ok()) return kNoOnnxVar;
  const OnnxVar across = Weights(at, sides[0], sides[2], wide, columns);
  const OnnxVar down = Weights(at, sides[1], sides[3], high, rows);
  const OnnxVar pasted =
      at.Add<MatrixMul>({false, true}, {at.Add<MatrixMul>({false, false}, {down, masks}), across});
  if (!at.ok()) return kNoOnnxVar;
  return at.Counted(pasted, {count, 0});
}

}  // namespace ashlar
