// The loop that pastes masks, as torchvision's Mask R-CNN has it, against a plain loop over pixels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/model/loaded_model.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr int64_t kHigh = 9, kWide = 12, kSide = 4, kMasks = 5;

std::string Pasting(const std::string& type, const std::vector<std::string>& inputs,
                    const std::string& output, const std::string& attributes = "") {
  std::string text = absl::StrCat("node { op_type: '", type, "' ");
  for (const std::string& input : inputs) absl::StrAppend(&text, "input: '", input, "' ");
  return absl::StrCat(text, "output: '", output, "' ", attributes, "} ");
}

std::string Along(int64_t axis) {
  return absl::StrCat("attribute { name: 'axis' type: INT i: ", axis, " } ");
}

std::string PastingModel(const std::string& coordinates) {
  const std::string flat = "attribute { name: 'keepdims' type: INT i: 0 } ";
  std::string body;
  const auto add = [&](const std::string& type, const std::vector<std::string>& inputs,
                       const std::string& output, const std::string& attributes = "") {
    body += Pasting(type, inputs, output, attributes);
  };
  const auto row = [&](const std::string& scalar) {  // as a vector
    add("Unsqueeze", {scalar, "front"}, scalar + "_row");
    return scalar + "_row";
  };
  add("Gather", {"masks", "i"}, "mi");
  add("Gather", {"mi", "at0"}, "mask");
  add("Gather", {"boxes", "i"}, "box");
  for (int k = 0; k < 4; ++k) {
    static constexpr const char* kNames[] = {"x0", "y0", "x1", "y1"};
    add("Gather", {"box", absl::StrCat("at", k)}, kNames[k]);
  }
  for (const std::string axis : {"x", "y"}) {
    add("Sub", {axis + "1", axis + "0"}, axis + "_less");
    add("Add", {axis + "_less", "one"}, axis + "_size");
    add("Concat", {axis + "_size", "one"}, axis + "_sizes", Along(0));
    add("ReduceMax", {axis + "_sizes"}, axis + "_length", flat);
    add("Concat", {row(axis + "0"), "zero"}, axis + "_begins", Along(0));
    add("ReduceMax", {axis + "_begins"}, axis + "_begin", flat);
    add("Add", {row(axis + "1"), "one"}, axis + "_behind");
    add("Concat", {axis + "_behind", axis + "_whole"}, axis + "_ends", Along(0));
    add("ReduceMin", {axis + "_ends"}, axis + "_end", flat);
    add("Sub", {axis + "_begin", axis + "0"}, axis + "_first");
    add("Sub", {axis + "_end", axis + "0"}, axis + "_last");
    add("Sub", {axis + "_whole", axis + "_end"}, axis + "_rest");  // [1]
  }
  add("Unsqueeze", {"mask", "fronts"}, "image");
  add("Concat", {"ones", row("y_length"), row("x_length")}, "sizes", Along(0));
  add("Resize", {"image", "", "", "sizes"}, "resized",
      absl::StrCat("attribute { name: 'mode' type: STRING s: 'linear' } attribute { name: "
                   "'coordinate_transformation_mode' type: STRING s: '",
                   coordinates, "' } "));
  add("Gather", {"resized", "at0"}, "plane");
  add("Gather", {"plane", "at0"}, "large");
  add("Slice", {"large", row("y_first"), row("y_last"), "zero"}, "high_part");
  add("Slice", {"high_part", row("x_first"), row("x_last"), "one"}, "part");
  add("Shape", {"part"}, "part_shape");
  add("Gather", {"part_shape", "at1"}, "width");
  add("Concat", {row("y_begin"), row("width")}, "above_shape", Along(0));
  add("ConstantOfShape", {"above_shape"}, "above");
  add("Concat", {"y_rest", "width_row"}, "below_shape", Along(0));
  add("ConstantOfShape", {"below_shape"}, "below");
  add("Concat", {"above", "part", "below"}, "tall", Along(0));
  add("Concat", {"y_whole", row("x_begin")}, "left_shape", Along(0));
  add("ConstantOfShape", {"left_shape"}, "left");
  add("Concat", {"y_whole", "x_rest"}, "right_shape", Along(0));
  add("ConstantOfShape", {"right_shape"}, "right");
  add("Concat", {"left", "tall", "right"}, "pasted", Along(1));
  add("Unsqueeze", {"pasted", "front"}, "one_image");
  add("Concat", {"all", "one_image"}, "next", Along(0));
  add("Identity", {"c"}, "goes");
  std::string constants = IntsText("zero", {0}) + IntsText("one", {1}) + IntsText("front", {0}) +
                          IntsText("fronts", {0, 1}) + IntsText("ones", {1, 1}) +
                          IntsText("x_whole", {kWide}) + IntsText("y_whole", {kHigh});
  for (int k = 0; k < 4; ++k) {
    absl::StrAppend(&constants, "initializer { name: 'at", k, "' data_type: 7 int64_data: ", k,
                    " } ");
  }
  absl::StrAppend(&constants, "initializer { name: 'trips' data_type: 7 int64_data: ", kMasks,
                  " } initializer { name: 'none' data_type: 1 dims: [0, ", kHigh, ", ", kWide,
                  "] } ");
  return absl::StrCat(
      "ir_version: 8 opset_import { version: 17 } graph { name: 'g' ", constants,
      "node { op_type: 'Loop' name: 'the_Loop' input: 'trips' input: '' input: 'none' output: 'y' ",
      "attribute { name: 'body' type: GRAPH g { name: 'b' ", body,
      "input { name: 'i' } input { name: 'c' } input { name: 'all' } output { name: 'goes' } ",
      "output { name: 'next' } } } } input ", ValueText("masks", {kMasks, 1, kSide, kSide}),
      "input ", ValueText("boxes", {kMasks, 4}, 7), "output { name: 'y' } }");
}

// The value of a mask at a pixel of its box, by ONNX's text of Resize.
double Sampled(const HostTensor& masks, int64_t mask, double y, double x) {
  const auto clamped = [](double at) { return std::clamp(at, 0.0, kSide - 1.0); };
  y = clamped(y);
  x = clamped(x);
  const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  const int64_t bottom = std::min(top + 1, kSide - 1), right = std::min(left + 1, kSide - 1);
  const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
  const auto at = [&](int64_t r, int64_t c) { return masks.At((mask * kSide + r) * kSide + c); };
  return (1 - down) * ((1 - across) * at(top, left) + across * at(top, right)) +
         down * ((1 - across) * at(bottom, left) + across * at(bottom, right));
}

TEST(PastedMasks, AreProductsOfMatrices) {
  const Graph graph = Value(ReadText(PastingModel("half_pixel")));
  int products = 0, resizes = 0;
  for (const OperatorNode& node : graph.nodes()) {
    products += std::string(node.op->type()) == "MatrixMul" ? 1 : 0;
    resizes += std::string(node.op->type()) == "Resize" ? 1 : 0;
  }
  EXPECT_EQ(products, 2);
  EXPECT_EQ(resizes, 0);
  HostTensor masks = HostTensor::Zeros(DType::kFloat32, {kMasks, 1, kSide, kSide});
  for (int64_t i = 0; i < masks.num_elements(); ++i) {
    masks.Set(i, 0.5 + 0.5 * std::sin(3.0 * static_cast<double>(i)));
  }
  const std::vector<int64_t> corners = {1,  2,  7, 6, -2, -3, 3, 4, 5,  4,
                                        14, 11, 6, 1, 6,  8,  0, 0, 11, 8};
  const HostTensor boxes = HostTensor::FromValues<int64_t>(DType::kInt64, {kMasks, 4}, corners);
  for (const auto& results : {Value(EvaluateGraph(graph, {{"masks", masks}, {"boxes", boxes}})),
                              LoadedModel(graph).Run({{"masks", masks}, {"boxes", boxes}})}) {
    ASSERT_EQ(results[0].shape(), Shape({kMasks, kHigh, kWide}));
    for (int64_t m = 0; m < kMasks; ++m) {
      const int64_t* const box = corners.data() + m * 4;
      for (int64_t y = 0; y < kHigh; ++y) {
        for (int64_t x = 0; x < kWide; ++x) {
          double expected = 0;
          if (x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]) {
            const auto source = [](int64_t at, int64_t from, int64_t to) {
              return (static_cast<double>(at - from) + 0.5) * static_cast<double>(kSide) /
                         static_cast<double>(to - from + 1) -
                     0.5;
            };
            expected = Sampled(masks, m, source(y, box[1], box[3]), source(x, box[0], box[2]));
          }
          EXPECT_NEAR(results[0].At((m * kHigh + y) * kWide + x), expected, 1e-5)
              << "mask " << m << " row " << y << " column " << x;
        }
      }
    }
  }
}

// The same nodes that compute something else are no pasting, and refused.
TEST(PastedMasks, OtherLoopsAreNotTakenForThem) {
  const absl::Status status = ReadText(PastingModel("align_corners")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(FailsWith(status, "Resize"));
}

}  // namespace
}  // namespace ashlar::testing
