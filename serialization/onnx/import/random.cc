// Imports operators of random numbers. They are drawn once, when the model is read, and are
// constants of the graph: every run has the same ones. ONNX names no generator; number i depends on
// i and a key only (opr/base/random_bits.h). Normal numbers are made by Box and Muller's transform
// (1958, "A Note on the Generation of Random Normal Deviates"), classes by Gumbel's (Maddison,
// Tarlow and Minka 2014, "A* Sampling").
#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "opr/arg_reduce.h"
#include "opr/base/dropout_mask.h"
#include "serialization/checksum.h"
#include "serialization/onnx/import/counted.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/import/values.h"

namespace ashlar {
namespace {

using F = ScalarFunction;
using Dims = absl::Span<const int64_t>;

// The key is the attribute `seed`, or the name of the node's first output if there is none. Calls
// and iterations of loops have numbers of their own.
uint64_t KeyOf(OnnxNode& node) {
  std::string text = absl::StrCat(node.scope(), " name ", node.first_output());
  if (node.has_attribute("seed")) {
    const uint64_t bits = node.type() == "Dropout" ? static_cast<uint64_t>(node.Int("seed", 0))
                                                   : std::bit_cast<uint64_t>(node.Float("seed", 0));
    text = absl::StrCat(node.scope(), " seed ", bits);
  }
  return Checksum(text.data(), text.size());
}

// Returns a number above 0 and below 1, which a double holds.
double Uniform(uint64_t key, int64_t i) {
  return (static_cast<double>(RandomBits(key, i) >> 1) + 0.5) * 0x1p-52;
}

void ExpectFloats(OnnxNode& node, absl::string_view what, DType dtype) {
  if (IsFloat(dtype)) return;
  node.Invalid(absl::StrCat(what, " is ", Name(dtype), ", expected floats"));
}

template <typename Draw>
OnnxVar Drawn(OnnxNode& node, DType dtype, Dims dims, const Draw& draw) {
  std::optional<HostTensor> numbers = node.NewTensor(dtype, dims);
  if (!numbers) return kNoOnnxVar;
  for (int64_t i = 0; i < numbers->num_elements(); ++i) numbers->Set(i, draw(i));
  return node.Constant(*std::move(numbers));
}

// Returns numbers from `low` on below `high`.
OnnxVar DrawnUniform(OnnxNode& node, DType dtype, Dims dims, double low, double high) {
  // A number that is rounded to Float32 could become `high`.
  const double last = dtype == DType::kFloat32
                          ? std::nextafter(static_cast<float>(high), static_cast<float>(low))
                          : std::nextafter(high, low);
  const auto [least, most] = std::minmax(low, last);
  const uint64_t key = KeyOf(node);
  return Drawn(node, dtype, dims, [&, least = least, most = most](int64_t i) {
    return std::clamp(low + (high - low) * Uniform(key, i), least, most);
  });
}

OnnxVar DrawnNormal(OnnxNode& node, DType dtype, Dims dims, double mean, double deviation) {
  const uint64_t key = KeyOf(node);
  return Drawn(node, dtype, dims, [&](int64_t i) {
    const double radius = std::sqrt(-2 * std::log(Uniform(key, 2 * i)));
    const double angle = 2 * std::numbers::pi * Uniform(key, 2 * i + 1);
    return mean + deviation * radius * std::cos(angle);
  });
}

using DrawFunction = OnnxVar (*)(OnnxNode& node, DType dtype, Dims dims, double a, double b);

// The two parameters of a distribution and their defaults.
struct Distribution {
  DrawFunction draw;
  const char *first, *second;
  double of_first, of_second;
};
constexpr Distribution kUniform = {DrawnUniform, "low", "high", 0, 1};
constexpr Distribution kNormal = {DrawnNormal, "mean", "scale", 0, 1};

OnnxVar DrawnFrom(OnnxNode& node, const Distribution& from, DType fallback, Dims dims) {
  const DType dtype = OnnxDTypeOr(node, fallback);
  const double first = node.Float(from.first, from.of_first);
  const double second = node.Float(from.second, from.of_second);
  ExpectFloats(node, "dtype", dtype);
  if (!node.ok()) return kNoOnnxVar;
  if (!std::isfinite(first) || !std::isfinite(second)) {
    return node.Invalid(absl::StrCat(from.first, " is ", first, " and ", from.second, " ", second,
                                     ", expected finite numbers"));
  }
  return from.draw(node, dtype, dims, first, second);
}

template <const Distribution& kFrom>
OnnxVars OfShape(OnnxNode& node) {
  if (!node.has_attribute("shape")) return node.Invalid("attribute 'shape' is missing");
  return DrawnFrom(node, kFrom, DType::kFloat32, node.Ints("shape"));
}

template <const Distribution& kFrom>
OnnxVars Like(OnnxNode& node) {
  const OnnxVar like = node.input(0);
  return DrawnFrom(node, kFrom, node.dtype(like), node.shape(like).dims());
}

OnnxVars Bernoulli(OnnxNode& node) {
  const OnnxVar probability = node.input(0);
  const DType of_draws = node.dtype(probability), dtype = OnnxDTypeOr(node, of_draws);
  ExpectFloats(node, "input 0", of_draws);
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar draws = DrawnUniform(node, of_draws, node.shape(probability).dims(), 0, 1);
  return node.Converted(node.Function(F::kLess, {draws, probability}), dtype);
}

// The class with the largest sum of its log probability and a number of Gumbel's distribution.
OnnxVars Multinomial(OnnxNode& node) {
  const OnnxVar logs = node.input(0);
  const int64_t samples = node.Int("sample_size", 1);
  const DType dtype = OnnxDTypeOr(node, DType::kInt32);
  ExpectFloats(node, "input 0", node.dtype(logs));
  if (!node.ok()) return kNoOnnxVar;
  const Shape& shape = node.shape(logs);
  if (shape.rank() != 2 || samples < 1) {
    return node.Invalid(absl::StrCat("sample_size is ", samples, " for ",
                                     node.type_of(logs).ToString(),
                                     ", expected 1 or more for a matrix"));
  }
  const int64_t batch = shape[0], classes = shape[1];
  const uint64_t key = KeyOf(node);
  const OnnxVar gumbel = Drawn(node, node.dtype(logs), {{batch, samples, classes}},
                               [&](int64_t i) { return -std::log(-std::log(Uniform(key, i))); });
  const OnnxVar sum = node.Sum(node.Reshaped(logs, {batch, 1, classes}), gumbel);
  const OnnxVar found = node.Add<ArgReduce>({ArgReduceMode::kMax, 2}, {sum});
  return node.Converted(node.Reshaped(found, {batch, samples}), dtype);
}

// In training, elements that stay are divided by the probability of staying.
OnnxVars ImportDropout(OnnxNode& node) {
  node.Ignore({"ratio", "seed", "is_test", "consumed_inputs"});
  const OnnxVar x = node.input(0);
  double ratio = 0;
  if (node.has(2) && node.KnownNumber(2, "training_mode") != 0) {
    ratio = node.has(1) ? node.KnownNumber(1, "ratio") : 0.5;
  }
  if (!node.ok()) return kNoOnnxVar;
  if (!(ratio >= 0 && ratio < 1)) {
    return node.Invalid(absl::StrCat("ratio is ", ratio, ", expected at least 0 and less than 1"));
  }
  const Dims dims = node.shape(x).dims();
  const uint64_t key = KeyOf(node), threshold = DropoutThreshold(ratio);
  OnnxVars outputs = x;
  if (ratio > 0) {
    ExpectFloats(node, "input 0", node.dtype(x));
    const double scale = 1 / (1 - ratio);
    outputs[0] = node.Product(x, Drawn(node, node.dtype(x), dims, [&](int64_t i) {
                                return DropoutKeeps(key, i, threshold) ? scale : 0;
                              }));
  }
  if (node.has_output(1)) {
    // The mask is Bool, or below operator set 10 the input's dtype.
    const DType dtype = node.version() < 10 ? node.dtype(x) : DType::kBool;
    outputs.push_back(Drawn(node, dtype, dims,
                            [&](int64_t i) { return DropoutKeeps(key, i, threshold) ? 1 : 0; }));
  }
  return outputs;
}

constexpr OnnxRow kRandomRows[] = {
    OnnxRow("Bernoulli", 1, 1, Bernoulli).CountedTwice(CountedElements),
    OnnxRow("Dropout", 1, 3, ImportDropout)
        .CountedTwice(CountedElements)
        .Limits("training_mode known before the run; the input itself without it"),
    OnnxRow("Multinomial", 1, 1, Multinomial).Counted(CountedBatch),
    OnnxRow("RandomNormal", 0, 0, OfShape<kNormal>),
    OnnxRow("RandomNormalLike", 1, 1, Like<kNormal>).OfShapes().CountedTwice(CountedElements),
    OnnxRow("RandomUniform", 0, 0, OfShape<kUniform>),
    OnnxRow("RandomUniformLike", 1, 1, Like<kUniform>).OfShapes().CountedTwice(CountedElements),
};

}  // namespace

absl::Span<const OnnxRow> OnnxRandomRows() { return kRandomRows; }

}  // namespace ashlar
