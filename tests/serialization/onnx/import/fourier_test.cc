// Compares DFT and STFT with sums of complex numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using Complex = std::complex<double>;

std::string WholeNumber(const char* name, int64_t value) {
  return absl::StrCat("attribute { name: '", name, "' type: INT i: ", value, " } ");
}

// Computes an operator. `inputs` are names; `more` has vectors of integers and the rest of the
// graph.
HostTensor ComputedOf(const std::string& type, const std::string& inputs,
                      const std::string& attributes, const std::string& more, const HostTensor& x) {
  const absl::StatusOr<Graph> graph = ReadText(
      absl::StrCat("ir_version: 8 opset_import { version: 20 } graph { name: 'g' node { op_type: '",
                   type, "' input: [", inputs, "] output: 'y' ", attributes, "} ", more, " input ",
                   ValueText("x", x.shape()), "output { name: 'y' } }"));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? Value(EvaluateGraph(*graph, {{"x", x}}))[0] : HostTensor();
}

std::vector<Complex> Transformed(const std::vector<Complex>& x, bool inverse) {
  const auto n = static_cast<double>(x.size());
  std::vector<Complex> y;
  for (size_t k = 0; k < x.size(); ++k) {
    Complex sum = 0;
    for (size_t j = 0; j < x.size(); ++j) {
      const double turn = 2 * M_PI * static_cast<double>(j * k) / n;
      sum += x[j] * std::polar(1.0, inverse ? turn : -turn);
    }
    y.push_back(inverse ? sum / n : sum);
  }
  return y;
}

// Returns element j of a signal whose last dimension holds its parts; zero beyond the end.
Complex ElementOf(const HostTensor& x, int64_t first, int64_t step, int64_t j, int64_t count) {
  if (j >= count) return 0;
  const int64_t parts = x.shape()[x.shape().rank() - 1], at = first + j * step * parts;
  return {x.At(at), parts == 2 ? x.At(at + 1) : 0};
}

TEST(OnnxDft, IsASumOfTurns) {
  std::mt19937_64 random(1);
  for (const bool inverse : {false, true}) {
    for (const int64_t parts : {1, 2}) {
      for (const int64_t axis : {0, 1, -2}) {
        for (const int64_t length : {0, 5, 8}) {  // 0: not given
          SCOPED_TRACE(absl::StrCat("inverse ", inverse, ", parts ", parts, ", axis ", axis,
                                    ", length ", length));
          const HostTensor x = RandomTensor(random, {6, 7, parts});
          const bool one_side = !inverse && parts == 1 && length == 8;
          const HostTensor y = ComputedOf(
              "DFT", absl::StrCat("'x', ", length > 0 ? "'n'" : "''", ", 'axis'"),
              WholeNumber("inverse", inverse) + WholeNumber("onesided", one_side),
              absl::StrCat("initializer { name: 'n' data_type: 7 int64_data: ", length,
                           " } initializer { name: 'axis' data_type: 7 int64_data: ", axis, " }"),
              x);
          const bool rows = axis == 0;
          const int64_t count = rows ? 6 : 7, n = length > 0 ? length : count;
          const int64_t made = one_side ? n / 2 + 1 : n;
          ASSERT_EQ(y.shape(), rows ? Shape({made, 7, 2}) : Shape({6, made, 2}));
          for (int64_t other = 0; other < (rows ? 7 : 6); ++other) {
            std::vector<Complex> signal;
            for (int64_t j = 0; j < n; ++j) {
              signal.push_back(
                  ElementOf(x, other * (rows ? 1 : 7) * parts, rows ? 7 : 1, j, count));
            }
            const std::vector<Complex> expected = Transformed(signal, inverse);
            for (int64_t k = 0; k < made; ++k) {
              const int64_t at = rows ? k * 7 + other : other * made + k;
              const Complex want = expected[static_cast<size_t>(k)];
              EXPECT_NEAR(y.At(2 * at), want.real(), 1e-5);
              EXPECT_NEAR(y.At(2 * at + 1), want.imag(), 1e-5);
            }
          }
        }
      }
    }
  }
}

// The inverse of a real signal's one-sided transform gives the signal.
TEST(OnnxDft, OfOneSideIsUndone) {
  std::mt19937_64 random(2);
  for (const int64_t n : {1, 2, 7, 8}) {
    const HostTensor x = RandomTensor(random, {2, n, 1});
    const std::string more =
        absl::StrCat("initializer { name: 'n' data_type: 7 int64_data: ", n, " }");
    const HostTensor side = ComputedOf("DFT", "'x'", WholeNumber("onesided", 1), more, x);
    const HostTensor back = ComputedOf(
        "DFT", "'x', 'n'", WholeNumber("onesided", 1) + WholeNumber("inverse", 1), more, side);
    ASSERT_EQ(back.shape(), x.shape());
    for (int64_t i = 0; i < x.num_elements(); ++i) EXPECT_NEAR(back.At(i), x.At(i), 1e-5) << n;
  }
}

TEST(OnnxStft, TransformsFramesOfAWindow) {
  constexpr int64_t kLength = 21, kFrame = 8, kStep = 3, kFrames = (kLength - kFrame) / kStep + 1;
  std::mt19937_64 random(3);
  for (const int64_t parts : {1, 2}) {
    for (const bool windowed : {false, true}) {
      const HostTensor x = RandomTensor(random, {2, kLength, parts});
      const HostTensor y =
          ComputedOf("STFT", windowed ? "'x', 'step', 'w'" : "'x', 'step', '', 'n'",
                     WholeNumber("onesided", parts == 1),
                     "node { op_type: 'HannWindow' input: 'n' output: 'w' } initializer { name: "
                     "'n' data_type: "
                     "7 int64_data: 8 } initializer { name: 'step' data_type: 7 int64_data: 3 }",
                     x);
      const int64_t made = parts == 1 ? kFrame / 2 + 1 : kFrame;
      ASSERT_EQ(y.shape(), Shape({2, kFrames, made, 2}));
      for (int64_t frame = 0; frame < 2 * kFrames; ++frame) {
        const int64_t first = frame / kFrames * kLength + frame % kFrames * kStep;
        std::vector<Complex> signal;
        for (int64_t j = 0; j < kFrame; ++j) {
          const double sine = std::sin(M_PI * static_cast<double>(j) / kFrame);
          signal.push_back(ElementOf(x, first * parts, 1, j, kFrame) *
                           (windowed ? sine * sine : 1));
        }
        const std::vector<Complex> expected = Transformed(signal, false);
        for (int64_t k = 0; k < made; ++k) {
          const Complex want = expected[static_cast<size_t>(k)];
          EXPECT_NEAR(y.At(2 * (frame * made + k)), want.real(), 1e-5);
          EXPECT_NEAR(y.At(2 * (frame * made + k) + 1), want.imag(), 1e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
