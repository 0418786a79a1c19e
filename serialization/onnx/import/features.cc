// Imports operators of ai.onnx.ml that compute with numbers: they select and scale features, encode
// labels, and predict by lines. Strings have no dtype.
#include <cmath>
#include <utility>

#include "opr/arg_reduce.h"
#include "opr/gather.h"
#include "opr/matrix_mul.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/values.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
constexpr char kDomain[] = "ai.onnx.ml";

OnnxVars ArrayFeatureExtractor(OnnxNode& node) {
  const OnnxVar x = node.input(0), places = node.input(1);
  if (!node.ok()) return kNoOnnxVar;
  Shape to = node.shape(x);
  if (to.rank() == 0) return node.Invalid("expected rank 1 or more");
  const int64_t count = node.shape(places).num_elements();
  const OnnxVar y = node.Add<Gather>({to.rank() - 1}, {x, node.Reshaped(places, {count})});
  to[to.rank() - 1] = count;
  return node.Reshaped(y, to.rank() == 1 ? Shape{1, count} : to);
}

OnnxVars Binarizer(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  double threshold = node.Float("threshold", 0);
  if (!IsFloat(node.dtype(x))) threshold = std::floor(threshold);  // as good for integers
  return node.Function(F::kLess, {node.Scalar(threshold, node.dtype(x)), x});
}

// Returns the input in doubles if it has them, otherwise in Float32.
OnnxVar FloatsOf(OnnxNode& node) {
  const OnnxVar x = node.input(0);
  return node.dtype(x) == DType::kFloat64 ? x : node.Converted(x, DType::kFloat32);
}

// Returns numbers of an attribute: one, or one for each of the last dimension of x.
OnnxVar PerFeature(OnnxNode& node, absl::string_view name, OnnxVar x) {
  const std::vector<float> values = node.Floats(name);
  const Shape& shape = node.shape(x);
  const int64_t count = static_cast<int64_t>(values.size());
  if (count != 1 && (shape.rank() == 0 || count != shape[shape.rank() - 1])) {
    return node.Invalid(absl::StrCat(name, " has ", count, " elements for ", shape.ToString()));
  }
  const Shape of_values = count == 1 ? Shape{} : Shape{count};
  return node.Converted(
      node.Constant(HostTensor::FromValues<float>(DType::kFloat32, of_values, values)),
      node.dtype(x));
}

OnnxVars Scaler(OnnxNode& node) {
  const OnnxVar x = FloatsOf(node);
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar centred = node.Difference(x, PerFeature(node, "offset", x));
  return node.Converted(node.Product(centred, PerFeature(node, "scale", x)), DType::kFloat32);
}

OnnxVars LinearRegressor(OnnxNode& node) {
  const OnnxVar x = node.Converted(node.input(0), DType::kFloat32);
  const int64_t targets = node.Int("targets", 1);
  const std::vector<float> weights = node.Floats("coefficients");
  const std::vector<float> intercepts = node.Floats("intercepts");
  const std::string after = node.Text("post_transform", "NONE");
  if (!node.ok()) return kNoOnnxVar;
  if (after != "NONE") return node.Unsupported("post_transform");
  const Shape& shape = node.shape(x);
  const int64_t count = static_cast<int64_t>(weights.size());
  const bool fits = shape.rank() == 2 && targets > 0 && count % targets == 0 &&
                    count / targets == shape[1] &&
                    (intercepts.empty() || static_cast<int64_t>(intercepts.size()) == targets);
  if (!fits) {
    return node.Invalid(absl::StrCat(count, " coefficients and ", intercepts.size(),
                                     " intercepts of ", targets, " targets for ",
                                     shape.ToString()));
  }
  const OnnxVar lines =
      node.Constant(HostTensor::FromValues<float>(DType::kFloat32, {targets, shape[1]}, weights));
  const OnnxVar y = node.Add<MatrixMul>({false, true}, {x, lines});
  if (intercepts.empty()) return y;
  return node.Sum(
      y, node.Constant(HostTensor::FromValues<float>(DType::kFloat32, {targets}, intercepts)));
}

// Returns the list in one of the attributes <name>_tensor, <name>_int64s and <name>_floats.
HostTensor ListOf(OnnxNode& node, const std::string& name) {
  if (node.has_attribute(name + "_strings")) node.Unsupported("of strings");
  if (std::optional<HostTensor> list = node.Tensor(name + "_tensor")) return *list;
  const std::vector<int64_t> integers = node.Ints(name + "_int64s");
  const std::vector<float> floats = node.Floats(name + "_floats");
  if (!integers.empty()) {
    return HostTensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(integers.size())},
                                           integers);
  }
  return HostTensor::FromValues<float>(DType::kFloat32, {static_cast<int64_t>(floats.size())},
                                       floats);
}

// Replaces keys by values: finds the place of the last key that an element equals, after place 0 of
// the default.
OnnxVars LabelEncoder(OnnxNode& node) {
  node.Ignore({"default_string"});
  const OnnxVar x = node.input(0);
  const HostTensor keys = ListOf(node, "keys"), values = ListOf(node, "values");
  node.Ignore({"default_float", "default_int64"});
  HostTensor otherwise = HostTensor::Zeros(values.dtype(), {});
  if (const std::optional<HostTensor> given = node.Tensor("default_tensor")) {
    if (given->num_elements() != 1 || given->dtype() != values.dtype()) {
      return node.Invalid("the default has not the type of a value");
    }
    otherwise = *given;
  } else if (IsFloat(values.dtype())) {
    otherwise.Set(0, node.Float("default_float", -0.0));
  } else {
    otherwise.SetInteger(0, node.Int("default_int64", -1));
  }
  if (!node.ok()) return kNoOnnxVar;
  const int64_t count = keys.num_elements();
  Shape spread = node.shape(x);
  if (count == 0 || values.num_elements() != count || keys.dtype() != node.dtype(x)) {
    return node.Invalid(absl::StrCat(count, " keys of ", Name(keys.dtype()), " and ",
                                     values.num_elements(), " values for elements of ",
                                     Name(node.dtype(x))));
  }
  if (spread.rank() == Shape::kMaxRank) return node.Unsupported("of this rank");
  std::optional<HostTensor> table = node.NewTensor(values.dtype(), {count + 1});
  if (!table) return kNoOnnxVar;
  CopyElement(otherwise, 0, *table, 0);
  int64_t of_nan = 0;
  for (int64_t i = 0; i < count; ++i) {
    CopyElement(values, i, *table, i + 1);
    if (IsFloat(keys.dtype()) && std::isnan(keys.At(i))) of_nan = i + 1;
  }
  spread.push_back(1);
  const OnnxVar equal = node.Converted(
      node.Function(F::kEqual, {node.Reshaped(x, spread), node.Constant(keys.Reshaped({count}))}),
      DType::kFloat32);
  const int axis = spread.rank() - 1;
  OnnxVar place = node.Reshaped(
      node.Add<ArgReduce>({ArgReduceMode::kMax, axis, true}, {node.Padded(equal, axis, 1, 0, 0.5)}),
      node.shape(x));
  if (of_nan > 0) {
    const OnnxVar is_number = node.Converted(node.Function(F::kEqual, {x, x}), DType::kInt64);
    place = node.Function(F::kSelect, {is_number, place, node.Integer(of_nan)});
  }
  return node.Add<Gather>({0}, {node.Constant(*std::move(table)), place});
}

constexpr OnnxRow kFeatureRows[] = {
    OnnxRow("ArrayFeatureExtractor", 2, 2, ArrayFeatureExtractor).In(kDomain),
    OnnxRow("Binarizer", 1, 1, Binarizer).In(kDomain),
    OnnxRow("LabelEncoder", 1, 1, LabelEncoder).Since(2).In(kDomain).Limits("of numbers"),
    OnnxRow("LinearRegressor", 1, 1, LinearRegressor)
        .In(kDomain)
        .Limits("without a function after it; Float32"),
    OnnxRow("Scaler", 1, 1, Scaler).In(kDomain),
};

}  // namespace

absl::Span<const OnnxRow> OnnxFeatureRows() { return kFeatureRows; }

}  // namespace ashlar
