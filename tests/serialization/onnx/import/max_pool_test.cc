// MaxPool's second output, the places of the maxima, compared with a search in each window.
#include <gtest/gtest.h>

#include <random>

#include "tests/serialization/onnx/import/sliding_axis.h"
#include "tests/serialization/onnx/read_text.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

SlidingAxis RandomWindows(std::mt19937& random) {
  SlidingAxis axis = RandomAxis(random, 3, 4);
  axis.before = Draw(random, 0, axis.window - 1);
  axis.behind = Draw(random, 0, axis.window - 1);
  return axis;
}

// Returns the first place of each window's greatest element in {1,2,h,w}.
std::vector<int64_t> PlacesByHand(const HostTensor& x, const SlidingAxis& h, const SlidingAxis& w,
                                  bool column_major) {
  std::vector<int64_t> places;
  for (int64_t c = 0; c < x.shape()[1]; ++c) {
    for (int64_t o = 0; o < h.places() * w.places(); ++o) {
      const int64_t top = o / w.places() * h.stride - h.before;
      const int64_t left = o % w.places() * w.stride - w.before;
      int64_t best = -1, place = -1;
      for (int64_t i = 0; i < h.window * w.window; ++i) {
        const int64_t row = top + i / w.window * h.dilation;
        const int64_t column = left + i % w.window * w.dilation;
        if (row < 0 || row >= h.input || column < 0 || column >= w.input) continue;
        const int64_t at = (c * h.input + row) * w.input + column;
        if (best >= 0 && x.At(at) <= x.At(best)) continue;
        best = at;
        place = c * h.input * w.input +
                (column_major ? row + column * h.input : row * w.input + column);
      }
      places.push_back(place);
    }
  }
  return places;
}

TEST(OnnxMaxPool, Places) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const SlidingAxis h = RandomWindows(random), w = RandomWindows(random);
    const bool column_major = seed % 2 == 0;
    const absl::StatusOr<Graph> graph = ReadText(
        absl::StrCat("ir_version: 8 opset_import { version: 12 } graph { input ",
                     ValueText("x", {1, 2, h.input, w.input}),
                     "node { op_type: 'MaxPool' input: 'x' output: ['y', 'places'] ",
                     IntsAttribute("kernel_shape", {h.window, w.window}),
                     IntsAttribute("strides", {h.stride, w.stride}),
                     IntsAttribute("dilations", {h.dilation, w.dilation}),
                     IntsAttribute("pads", {h.before, w.before, h.behind, w.behind}),
                     "attribute { name: 'storage_order' type: INT i: ", column_major ? 1 : 0,
                     " } } output { name: 'y' } output { name: 'places' } }"));
    if (!graph.ok()) {  // a window lies entirely in the padding
      EXPECT_TRUE(FailsWith(graph.status(), "padding"));
      continue;
    }
    HostTensor x = HostTensor::Zeros(DType::kFloat32, {1, 2, h.input, w.input});
    // Few distinct numbers, so that many are equal, including the least number, which is the
    // padding.
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      x.Set(i, random() % 4 == 0 ? -INFINITY : static_cast<double>(random() % 3));
    }
    const std::vector<HostTensor> outputs = Value(EvaluateGraph(*graph, {{"x", x}}));
    const absl::Span<const int64_t> places = outputs[1].data<int64_t>();
    EXPECT_EQ(outputs[1].shape(), outputs[0].shape());
    EXPECT_EQ(std::vector<int64_t>(places.begin(), places.end()),
              PlacesByHand(x, h, w, column_major));
  }
}

}  // namespace
}  // namespace ashlar::testing
