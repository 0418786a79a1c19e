// Col2Im: adds each element of each block at its place.
#include <gtest/gtest.h>

#include <random>

#include "tests/serialization/onnx/import/sliding_axis.h"
#include "tests/serialization/onnx/read_text.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

SlidingAxis RandomBlocks(std::mt19937& random) {
  SlidingAxis axis = RandomAxis(random, 4, 6);
  axis.before = Draw(random, 0, 2);
  axis.behind = Draw(random, 0, 2);
  return axis;
}

// Adds up x, {N, C block, places}, by a second formula.
std::vector<double> AddedByHand(const HostTensor& x, const std::vector<SlidingAxis>& axes) {
  int64_t block = 1, places = 1, image = 1;
  for (const SlidingAxis& axis : axes) {
    block *= axis.window;
    places *= axis.places();
    image *= axis.input;
  }
  const int64_t planes = x.shape()[0] * x.shape()[1] / block;
  std::vector<double> sums(static_cast<size_t>(planes * image));
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    int64_t place = i % places, tap = i / places % block, step = 1, at = 0;
    bool inside = true;
    for (size_t a = axes.size(); a-- > 0;) {
      const SlidingAxis& axis = axes[a];
      const int64_t o =
          place % axis.places() * axis.stride + tap % axis.window * axis.dilation - axis.before;
      inside = inside && o >= 0 && o < axis.input;
      at += o * step;
      step *= axis.input;
      place /= axis.places();
      tap /= axis.window;
    }
    if (inside) sums[static_cast<size_t>(i / places / block * image + at)] += x.At(i);
  }
  return sums;
}

TEST(OnnxCol2Im, IsASumOfBlocks) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    std::vector<SlidingAxis> axes;
    for (uint32_t i = 0; i <= seed % 3; ++i) axes.push_back(RandomBlocks(random));
    std::vector<int64_t> image, block, strides, dilations, before, behind;
    Shape x = {2, 3, 1};
    for (const SlidingAxis& axis : axes) {
      image.push_back(axis.input);
      block.push_back(axis.window);
      strides.push_back(axis.stride);
      dilations.push_back(axis.dilation);
      before.push_back(axis.before);
      behind.push_back(axis.behind);
      x = {x[0], x[1] * axis.window, x[2] * axis.places()};
    }
    before.insert(before.end(), behind.begin(), behind.end());
    const std::string node =
        absl::StrCat("node { op_type: 'Col2Im' input: ['x', 'image', 'block'] output: 'y' ",
                     IntsAttribute("strides", strides), IntsAttribute("dilations", dilations),
                     IntsAttribute("pads", before), "} ");
    const absl::StatusOr<Graph> graph =
        ReadText(absl::StrCat("ir_version: 8 opset_import { version: 18 } graph { name: 'g' ", node,
                              IntsText("image", image), IntsText("block", block), " input ",
                              ValueText("x", x), "output { name: 'y' } }"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    std::mt19937_64 numbers(seed);
    const HostTensor values = RandomTensor(numbers, x);
    const HostTensor y = Value(EvaluateGraph(*graph, {{"x", values}}))[0];
    const std::vector<double> expected = AddedByHand(values, axes);
    ASSERT_EQ(y.num_elements(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(y.At(static_cast<int64_t>(i)), expected[i], 1e-5) << i;
    }
  }
}

}  // namespace
}  // namespace ashlar::testing
