// Imports DFT and STFT as products with matrices of cosines and sines, which are known before the
// run; and the window functions that weight frames.
#include <algorithm>
#include <cmath>

#include "opr/convolution.h"
#include "opr/matrix_mul.h"
#include "serialization/onnx/import/axes.h"
#include "serialization/onnx/import/table.h"
#include "serialization/onnx/tensors.h"

namespace ashlar {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 26;  // in a matrix
constexpr double kPi = 3.14159265358979323846;

struct Transform {
  int64_t length;   // signal length
  int64_t in, out;  // elements read and produced: all, or the half that determines the rest
  bool from_complex, to_complex;
  bool inverse;

  int64_t rows() const { return in * (from_complex ? 2 : 1); }
  int64_t columns() const { return out * (to_complex ? 2 : 1); }
  // Returns the matrix element of input j in output k; parts are 0 (real) and 1 (imaginary).
  double Factor(int64_t j, int part_j, int64_t k, int part_k) const {
    const double turn = 2 * kPi * static_cast<double>(j * k % length) / static_cast<double>(length);
    const double sine = inverse ? std::sin(turn) : -std::sin(turn);
    const double value = part_j == part_k ? std::cos(turn) : part_k == 1 ? sine : -sine;
    if (!inverse) return value;
    // For a real result, an element also represents its mirror image.
    const bool twice = !to_complex && j != 0 && 2 * j != length;
    return (twice ? 2 : 1) * value / static_cast<double>(length);
  }
};

// Returns the matrix, by input element and part, then output element and part; outputs first if
// `transposed`.
std::optional<HostTensor> MatrixOf(OnnxNode& node, const Transform& t, DType dtype,
                                   bool transposed) {
  if (t.length < 1 || t.length > kMostElements || t.rows() > kMostElements / t.columns()) {
    node.Unsupported(absl::StrCat("of ", t.length, " elements"));
    return std::nullopt;
  }
  const int of_in = t.from_complex ? 2 : 1, of_out = t.to_complex ? 2 : 1;
  const Shape shape = transposed ? Shape{t.columns(), t.rows()} : Shape{t.rows(), t.columns()};
  std::optional<HostTensor> matrix = node.NewTensor(dtype, shape.dims());
  for (int64_t row = 0; matrix && row < t.rows(); ++row) {
    for (int64_t column = 0; column < t.columns(); ++column) {
      matrix->Set(transposed ? column * t.rows() + row : row * t.columns() + column,
                  t.Factor(row / of_in, static_cast<int>(row % of_in), column / of_out,
                           static_cast<int>(column % of_out)));
    }
  }
  return matrix;
}

int64_t IntegerOr(OnnxNode& node, int i, absl::string_view what, int64_t otherwise) {
  return node.has(i) ? node.KnownInteger(i, what) : otherwise;
}

// Whether the last dimension of a signal says that it is complex; reports an error if it is neither
// 1 nor 2.
bool IsComplex(OnnxNode& node, const Shape& signal) {
  const int64_t parts = signal[signal.rank() - 1];
  if (parts != 1 && parts != 2) {
    node.Invalid(absl::StrCat("a signal ", signal.ToString(), ", expected 1 or 2 parts"));
  }
  return parts == 2;
}

OnnxVars Dft(OnnxNode& node) {
  OnnxVar x = node.input(0);
  if (!node.ok()) return kNoOnnxVar;
  const Shape shape = node.shape(x);
  const int rank = shape.rank();
  if (rank < 2 || !IsFloat(node.dtype(x))) return node.Invalid("expected floats of rank 2 or more");
  Transform t;
  t.from_complex = IsComplex(node, shape);
  t.inverse = node.Int("inverse", 0) != 0;
  const bool one_side = node.Int("onesided", 0) != 0;
  const int axis = node.Axis(
      node.version() < 20 ? node.Int("axis", 1) : IntegerOr(node, 2, "the axis", -2), rank);
  if (!node.ok()) return kNoOnnxVar;
  if (axis == rank - 1) return node.Invalid("the axis holds the real and imaginary parts");
  const bool to_real = one_side && t.inverse;
  if (one_side && t.from_complex != t.inverse) {
    return node.Unsupported("of one side of what has two");
  }
  t.length = IntegerOr(node, 1, "dft_length", to_real ? 2 * (shape[axis] - 1) : shape[axis]);
  t.to_complex = !to_real;
  t.in = std::min(shape[axis], to_real ? t.length / 2 + 1 : t.length);
  t.out = one_side && !to_real ? t.length / 2 + 1 : t.length;
  if (t.in < 1 || t.length < 1) return node.Invalid(absl::StrCat("of ", t.length, " elements"));
  const std::optional<HostTensor> matrix = MatrixOf(node, t, node.dtype(x), false);
  if (!matrix) return kNoOnnxVar;

  if (t.in < shape[axis]) x = node.Padded(x, axis, 0, t.in - shape[axis]);
  // Moves the axis after all others except the parts, and back.
  std::vector<int64_t> there = AllAxes(rank), back = there;
  std::rotate(there.begin() + axis, there.begin() + axis + 1, there.end() - 1);
  std::rotate(back.begin() + axis, back.end() - 2, back.end() - 1);
  x = node.Permuted(x, std::move(there));
  Shape made = node.shape(x);
  const int64_t signals = made.num_elements() / t.rows();
  OnnxVar y =
      node.Add<MatrixMul>({}, {node.Reshaped(x, {signals, t.rows()}), node.Constant(*matrix)});
  made[rank - 2] = t.out;
  made[rank - 1] = t.to_complex ? 2 : 1;
  return node.Permuted(node.Reshaped(y, made), std::move(back));
}

// Frames at equal steps are a convolution, whose filters are the matrix weighted by the window.
OnnxVars Stft(OnnxNode& node) {
  OnnxVar x = node.input(0);
  if (!node.ok()) return kNoOnnxVar;
  const Shape shape = node.shape(x);
  if (shape.rank() != 3 || !IsFloat(node.dtype(x)))
    return node.Invalid("expected floats of rank 3");
  Transform t;
  t.from_complex = IsComplex(node, shape);
  t.to_complex = true;
  t.inverse = false;
  const bool one_side = node.Int("onesided", 1) != 0;
  const int64_t step = node.KnownInteger(1, "frame_step");
  const OnnxVar window = node.has(2) ? node.input(2) : kNoOnnxVar;
  t.length = IntegerOr(node, 3, "frame_length",
                       window == kNoOnnxVar ? shape[1] : node.shape(window).num_elements());
  if (!node.ok()) return kNoOnnxVar;
  if (one_side && t.from_complex) return node.Unsupported("of one side of what has two");
  if (step < 1 || t.length < 1 || t.length > shape[1] ||
      (window != kNoOnnxVar && node.shape(window).num_elements() != t.length)) {
    return node.Invalid(
        absl::StrCat("frames of ", t.length, ", ", step, " apart, of a signal ", shape.ToString()));
  }
  t.in = t.length;
  t.out = one_side ? t.length / 2 + 1 : t.length;
  std::optional<HostTensor> matrix = MatrixOf(node, t, node.dtype(x), true);
  if (!matrix) return kNoOnnxVar;
  const int64_t parts = shape[2];
  OnnxVar filters = node.Reshaped(node.Constant(*std::move(matrix)), {t.columns(), t.in, parts});
  if (window != kNoOnnxVar) {
    filters = node.Product(filters, node.Reshaped(window, {t.in, 1}));
  }
  filters = node.Permuted(node.Reshaped(filters, {t.columns(), 1, t.in, parts}), {0, 3, 1, 2});
  ConvolutionParam param;
  param.stride_w = std::min(step, shape[1]);  // a longer step is beyond the signal, too
  x = node.Reshaped(node.Permuted(x, {0, 2, 1}), {shape[0], parts, 1, shape[1]});
  const OnnxVar y = node.Add<ConvolutionForward>(param, {x, filters});
  const int64_t frames = node.shape(y)[3];
  return node.Reshaped(node.Permuted(node.Reshaped(y, {shape[0], t.columns(), frames}), {0, 2, 1}),
                       {shape[0], frames, t.out, 2});
}

// Triangles of weights, whose corners are at equal distances in mels: from the linear bins of a
// transform to bins of mels.
OnnxVars MelWeightMatrix(OnnxNode& node) {
  const int64_t bins = node.KnownInteger(0, "num_mel_bins");
  const int64_t length = node.KnownInteger(1, "dft_length");
  const double rate = node.KnownNumber(2, "sample_rate");
  const double low = node.KnownNumber(3, "lower_edge_hertz");
  const double high = node.KnownNumber(4, "upper_edge_hertz");
  const auto dtype = ComputedAs(node.Int("output_datatype", 1));
  if (!node.ok()) return kNoOnnxVar;
  if (!dtype.ok()) return node.Fail(dtype.status());
  if (bins < 1 || length < 1 || bins > kMostElements || length > kMostElements) {
    return node.Invalid(absl::StrCat(bins, " bins of mels for a length of ", length,
                                     ", expected 1 to ", kMostElements));
  }
  if (!std::isfinite(rate) || !std::isfinite(high) || !(rate > 0) || !(low >= 0) ||
      !(high >= low)) {
    return node.Invalid(
        absl::StrCat("bins of mels from ", low, " to ", high, " Hz at a sample rate of ", rate));
  }
  std::optional<HostTensor> weights = node.NewTensor(*dtype, {length / 2 + 1, bins});
  if (!weights) return kNoOnnxVar;
  const auto mels = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mels(high) - mels(low)) / static_cast<double>(bins + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double mel = static_cast<double>(i) * step + mels(low);
    const double hertz = 700 * (std::pow(10, mel / 2595) - 1);
    const double corner = std::floor(static_cast<double>(length + 1) * hertz / rate);
    if (!(corner <= static_cast<double>(length / 2))) {
      return node.Invalid("a frequency beyond half of the sample rate");
    }
    corners.push_back(std::max<int64_t>(static_cast<int64_t>(corner), 0));
  }
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t *const at = &corners[static_cast<size_t>(i)], left = at[0], peak = at[1];
    for (int64_t j = left; j < peak; ++j) {
      weights->Set(j * bins + i, static_cast<double>(j - left) / static_cast<double>(peak - left));
    }
    weights->Set(peak * bins + i, 1);
    for (int64_t j = peak; j < at[2]; ++j) {
      weights->Set(j * bins + i,
                   static_cast<double>(at[2] - j) / static_cast<double>(at[2] - peak));
    }
  }
  return node.Constant(*std::move(weights));
}

// Returns the sum of cosines with 0, 1 and 2 periods over the window, with these factors.
template <int kFirst, int kSecond, int kThird, int kWhole>
OnnxVars WindowOf(OnnxNode& node) {
  const int64_t size = node.KnownInteger(0, "the size");
  const bool periodic = node.Int("periodic", 1) != 0;
  if (node.Int("output_datatype", 1) != 1) return node.Unsupported("of other than Float32");
  std::optional<HostTensor> values = node.NewTensor(DType::kFloat32, {size});
  if (!values) return kNoOnnxVar;
  const auto turns = static_cast<double>(periodic ? size : std::max<int64_t>(size - 1, 1));
  for (int64_t i = 0; i < size; ++i) {
    const double turn = 2 * kPi * static_cast<double>(i) / turns;
    values->Set(i, (kFirst - kSecond * std::cos(turn) + kThird * std::cos(2 * turn)) / kWhole);
  }
  return node.Constant(*std::move(values));
}

constexpr OnnxRow kFourierRows[] = {
    OnnxRow("BlackmanWindow", 1, 1, WindowOf<42, 50, 8, 100>).Limits("a size known before the run"),
    OnnxRow("DFT", 1, 3, Dft).Limits("a length known before the run"),
    OnnxRow("HammingWindow", 1, 1, WindowOf<25, 21, 0, 46>).Limits("a size known before the run"),
    OnnxRow("HannWindow", 1, 1, WindowOf<1, 1, 0, 2>).Limits("a size known before the run"),
    OnnxRow("MelWeightMatrix", 5, 5, MelWeightMatrix).Limits("of numbers known before the run"),
    OnnxRow("STFT", 2, 4, Stft).Limits("sizes known before the run"),
};

}  // namespace

absl::Span<const OnnxRow> OnnxFourierRows() { return kFourierRows; }

}  // namespace ashlar
