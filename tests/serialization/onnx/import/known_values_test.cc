// Compares composed ONNX operators with values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/serialization/onnx/read_text.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using Tensors = absl::flat_hash_map<std::string, HostTensor>;

HostTensor Floats(const Shape& shape, const std::vector<float>& values) {
  return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
}
HostTensor Ints(const std::vector<int64_t>& values) {
  return HostTensor::FromValues<int64_t>(DType::kInt64, {static_cast<int64_t>(values.size())},
                                         values);
}

// Returns the model's text. `inputs` become inputs (Float32, Int64 and Bool), `known` become
// initializers, and y is the output.
std::string ModelOf(const std::string& nodes, const Tensors& inputs, const Tensors& known,
                    int version) {
  std::string text = absl::StrCat("ir_version: 8 opset_import { version: ", version,
                                  " } opset_import { domain: 'com.microsoft' version: 1 } graph { "
                                  "name: 'g' ",
                                  nodes);
  for (const auto& [name, tensor] : inputs) {
    const int type = IsFloat(tensor.dtype()) ? 1 : tensor.dtype() == DType::kBool ? 9 : 7;
    absl::StrAppend(&text, " input ", ValueText(name, tensor.shape(), type));
  }
  for (const auto& [name, tensor] : known) {
    absl::StrAppend(&text, " initializer { name: '", name,
                    "' data_type: ", tensor.dtype() == DType::kInt64 ? 7 : 1);
    for (const int64_t dim : tensor.shape().dims()) absl::StrAppend(&text, " dims: ", dim);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      absl::StrAppend(
          &text, tensor.dtype() == DType::kInt64 ? " int64_data: " : " float_data: ", tensor.At(i));
    }
    absl::StrAppend(&text, " }");
  }
  return absl::StrCat(text, " output { name: 'y' } }");
}

absl::StatusOr<HostTensor> Computed(const std::string& nodes, const Tensors& inputs,
                                    const Tensors& known = {}, int version = 24) {
  const absl::StatusOr<Graph> graph = ReadText(ModelOf(nodes, inputs, known, version));
  if (!graph.ok()) return graph.status();
  const absl::StatusOr<std::vector<HostTensor>> outputs = EvaluateGraph(*graph, inputs);
  if (!outputs.ok()) return outputs.status();
  return (*outputs)[0];
}

std::string NodeText(const std::string& type, const std::string& inputs,
                     const std::string& attributes = "", const std::string& outputs = "'y'") {
  return absl::StrCat("node { op_type: '", type, "' input: [", inputs, "] output: [", outputs, "] ",
                      attributes, " } ");
}
std::string TextAttribute(const std::string& name, const std::string& value) {
  return absl::StrCat("attribute { name: '", name, "' type: STRING s: '", value, "' } ");
}

TEST(OnnxKnownValues, OfCompositions) {
  const HostTensor rows = Floats({2, 3}, {3, 1, 2, 1, 5, 5});
  const HostTensor four = Floats({4}, {2, 3, 4, 5});
  const Tensors axis = {{"axis", Ints({0})}};
  const auto products = [](const char* way) {
    return NodeText("CumProd", "'x', 'axis'", IntAttribute(way, 1));
  };
  const struct {
    const char* name;
    std::string nodes;
    Tensors inputs, known;
    std::vector<double> y;
    int version = 24;
  } kCases[] = {
      {"Hardmax", NodeText("Hardmax", "'x'"), {{"x", rows}}, {}, {1, 0, 0, 0, 1, 0}},
      {"Hardmax of old",
       NodeText("Hardmax", "'x'", IntAttribute("axis", 0)),
       {{"x", rows}},
       {},
       {0, 0, 0, 0, 1, 0},
       11},
      {"CumProd", NodeText("CumProd", "'x', 'axis'"), {{"x", four}}, axis, {2, 6, 24, 120}, 26},
      {"CumProd, exclusive", products("exclusive"), {{"x", four}}, axis, {1, 2, 6, 24}, 26},
      {"CumProd, reverse", products("reverse"), {{"x", four}}, axis, {120, 60, 20, 5}, 26},
      {"CenterCropPad",
       NodeText("CenterCropPad", "'x', 'to'"),
       {{"x", rows}},
       {{"to", Ints({3, 1})}},
       {1, 5, 0}},
      {"ReverseSequence",
       NodeText("ReverseSequence", "'x', 'n'",
                IntAttribute("batch_axis", 0) + IntAttribute("time_axis", 1)),
       {{"x", rows}},
       {{"n", Ints({2, 3})}},
       {1, 3, 2, 5, 5, 1}},
      {"ReverseSequence, time first",
       NodeText("ReverseSequence", "'x', 'n'"),
       {{"x", rows}},
       {{"n", Ints({1, 2, 1})}},
       {3, 5, 2, 1, 1, 5}},
      {"SpaceToDepth, depth first",
       NodeText("SpaceToDepth", "'x'", IntAttribute("blocksize", 2) + TextAttribute("mode", "CRD")),
       {{"x", Floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})}},
       {},
       {0, 1, 2, 3, 4, 5, 6, 7},
       28},
      // A filter of one tap, offset by a row and half a column, and weighted.
      {"DeformConv",
       NodeText("DeformConv", "'x', 'w', 'by', 'b', 'm'"),
       {{"x", Floats({1, 1, 2, 2}, {1, 2, 3, 5})},
        {"by", Floats({1, 2, 2, 2}, {1, 0, 0, -1, 0.5, 0, -1, 0})},
        {"m", Floats({1, 1, 2, 2}, {1, 1, 1, 0.5})}},
       {{"w", Floats({1, 1, 1, 1}, {10})}, {"b", Floats({1}, {1})}},
       {41, 21, 1, 11}},
      {"RoiAlign",
       NodeText("RoiAlign", "'x', 'boxes', 'of'",
                IntAttribute("output_height", 1) + IntAttribute("output_width", 2) +
                    IntAttribute("sampling_ratio", 1)),
       {{"x", Floats({1, 1, 2, 4}, {0, 1, 2, 3, 10, 11, 12, 13})},
        {"boxes", Floats({2, 4}, {0, 0, 4, 2, 9, 0, 11, 2})},
        {"of", Ints({0, 0})}},
       {},
       {5.5, 7.5, 0, 0}},
      {"RoiAlign of several images, not by half pixels",
       NodeText("RoiAlign", "'x', 'boxes', 'of'",
                IntAttribute("sampling_ratio", 2) +
                    TextAttribute("coordinate_transformation_mode", "output_half_pixel")),
       {{"x", Floats({2, 1, 1, 3}, {0, 1, 2, 10, 11, 12})},
        {"boxes", Floats({2, 4}, {0, 0, 1, 0, 1, 0, 1, 0})},
        {"of", Ints({1, 0})}},
       {},
       {10.5, 1.5}},
      // Rows 0 and 1, and columns 0 to 3; 0 to 2; 0, 0.75 and 1.58; none.
      {"RoiAlign with a sample for each pixel",
       NodeText("RoiAlign", "'x', 'boxes', 'of'"),
       {{"x", Floats({1, 1, 2, 4}, {0, 1, 2, 3, 10, 11, 12, 13})},
        {"boxes", Floats({4, 4}, {0, 0, 4, 2, 0, 0, 3, 2, 0, 0, 2.5, 2, 1, 1, 1, 1})},
        {"of", Ints({0, 0, 0, 0})}},
       {},
       {6.5, 6, 52.0 / 9, 0}},
      // Columns 0.5 and 1.5; -0.5 and 0.5, beside two further outside.
      {"RoiAlign with a sample for each pixel of several images, not by half pixels",
       NodeText("RoiAlign", "'x', 'boxes', 'of'",
                TextAttribute("coordinate_transformation_mode", "output_half_pixel")),
       {{"x", Floats({2, 1, 1, 3}, {0, 1, 2, 10, 11, 12})},
        {"boxes", Floats({2, 4}, {0, 0, 2, 0, -3, 0, 1, 0})},
        {"of", Ints({1, 0})}},
       {},
       {11, 0.125}},
      // The second box has one bin within the image, the third is of the second image.
      {"MaxRoiPool",
       NodeText("MaxRoiPool", "'x', 'boxes'",
                "attribute { name: 'pooled_shape' type: INTS ints: [2, 2] } "),
       {{"x", Floats({2, 1, 3, 4}, {0, 1, 2,  3,  4, 5,  6,  7,  8,  9,  10, 11,
                                    0, 0, -1, -2, 0, -9, -3, -4, -1, -1, -5, -6})},
        {"boxes", Floats({3, 5}, {0, 0, 0, 3, 2, 0, 3, 2, 9, 9, 1, 0.6, 0.5, 3.4, 2.2})}},
       {},
       {5, 7, 9, 11, 11, 0, 0, 0, -3, -3, -1, -5}},
      {"GlobalLpPool",
       NodeText("GlobalLpPool", "'x'"),
       {{"x", Floats({1, 2, 1, 2}, {3, 4, -6, 8})}},
       {},
       {5, 10}},
      {"GlobalLpPool of magnitudes",
       NodeText("GlobalLpPool", "'x'", IntAttribute("p", 1)),
       {{"x", Floats({1, 2, 2}, {3, 4, -6, 8})}},
       {},
       {7, 14}},
      {"Det",
       NodeText("Det", "'x'"),
       {{"x", Floats({2, 3, 3}, {2, 0, 1, 1, 3, 0, 0, 1, 4, 1, 2, 3, 4, 5, 6, 7, 8, 10})}},
       {},
       {25, -3}},
      {"Pow of integers",
       NodeText("Pow", "'x', 'e'"),
       {{"x", Ints({3, 2, -1})}, {"e", Ints({33, 0, 3})}},
       {},
       {5559060566555523, 1, -1}},
      {"Pow of integers by floats",
       NodeText("Pow", "'x', 'e'"),
       {{"x", Ints({2, 9, 3})}, {"e", Floats({3}, {3, 0.5, -1})}},
       {},
       {8, 3, 0}},
      {"Cast between bytes with and without signs",
       NodeText("Cast", "'x'", IntAttribute("to", 2), "'b'") +
           NodeText("Cast", "'b'", IntAttribute("to", 3)),
       {{"x", Ints({200, 5})}},
       {},
       {-56, 5}},
      {"BitwiseNot", NodeText("BitwiseNot", "'x'"), {{"x", Ints({0, 5})}}, {}, {-1, -6}},
      {"BitShift",
       NodeText("BitShift", "'x', 'by'", TextAttribute("direction", "LEFT")),
       {{"x", Ints({3, 1})}, {"by", Ints({2, 64})}},
       {},
       {12, 0},
       28},
      {"A list of rows: the last erased, the first put behind it twice",
       NodeText("SplitToSequence", "'x'", IntAttribute("keepdims", 0), "'s'") +
           NodeText("SequenceErase", "'s'", "", "'t'") +
           NodeText("SequenceAt", "'s', 'first'", "", "'row'") +
           NodeText("SequenceInsert", "'t', 'row'", "", "'u'") +
           NodeText("SequenceInsert", "'u', 'row', 'first'", "", "'v'") +
           NodeText("ConcatFromSequence", "'v'",
                    IntAttribute("axis", 0) + IntAttribute("new_axis", 1)),
       {{"x", Floats({2, 2}, {1, 2, 3, 4})}},
       {{"first", Ints({-2})}},
       {1, 2, 1, 2, 1, 2}},
      {"Pieces of two, their number and a list made anew",
       NodeText("SplitToSequence", "'x', 'two'", "", "'s'") +
           NodeText("SequenceLength", "'s'", "", "'n'") +
           NodeText("SequenceAt", "'s', 'two'", "", "'rest'") +
           NodeText("Cast", "'n'", IntAttribute("to", 1), "'count'") +
           NodeText("Mul", "'rest', 'count'", "", "'product'") +
           NodeText("SequenceConstruct", "'product', 'x'", "", "'t'") +
           NodeText("ConcatFromSequence", "'t'", IntAttribute("axis", 0)),
       {{"x", Floats({5}, {1, 2, 3, 4, 5})}},
       {{"two", HostTensor::FromValues<int64_t>(DType::kInt64, {}, {2})}},
       {15, 1, 2, 3, 4, 5}},
      {"MaxUnpool",
       NodeText("MaxUnpool", "'x', 'i'",
                "attribute { name: 'kernel_shape' type: INTS ints: [2, 2] } "
                "attribute { name: 'strides' type: INTS ints: [2, 2] }"),
       {{"x", Floats({1, 1, 1, 2}, {7, 8})},
        {"i", HostTensor::FromValues<int64_t>(DType::kInt64, {1, 1, 1, 2}, {5, 2})}},
       {},
       {0, 0, 8, 0, 0, 7, 0, 0}},
      // Scales are 4/3 and 1/5. The smaller one holds for both axes, and for the coordinates.
      {"Resize that keeps the ratio, within sizes",
       NodeText("Resize", "'x', '', '', 'to'",
                TextAttribute("mode", "linear") + IntsAttribute("axes", {0, 1}) +
                    TextAttribute("keep_aspect_ratio_policy", "not_larger")),
       {{"x", Floats({3, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})}},
       {{"to", Ints({4, 1})}},
       {12}},
      {"Resize that keeps the ratio, to half an element",
       NodeText("Resize", "'x', '', '', 'to'",
                TextAttribute("coordinate_transformation_mode", "asymmetric") +
                    TextAttribute("mode", "linear") + IntsAttribute("axes", {0, 1}) +
                    TextAttribute("keep_aspect_ratio_policy", "not_smaller")),
       {{"x", Floats({2, 1}, {3, 6})}},
       {{"to", Ints({1, 3})}},
       {3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6}},
      {"Resize about the middle, to elements exactly",
       NodeText("Resize", "'x', '', 's'",
                TextAttribute("coordinate_transformation_mode", "half_pixel_symmetric") +
                    TextAttribute("nearest_mode", "floor")),
       {{"x", Floats({3}, {1, 2, 3})}},
       {{"s", Floats({1}, {1.5f})}},
       {1, 1, 2, 3}},
      {"IsInf of neither sign",
       NodeText("IsInf", "'x'",
                IntAttribute("detect_negative", 0) + IntAttribute("detect_positive", 0), "'b'") +
           NodeText("Cast", "'b'", IntAttribute("to", 1)),
       {{"x", Floats({3}, {INFINITY, -INFINITY, NAN})}},
       {},
       {0, 0, 0}},
      {"ReverseSequence by computed lengths",
       NodeText("ReverseSequence", "'x', 'n'"),
       {{"x", rows}, {"n", Ints({1, 2, 1})}},
       {},
       {3, 5, 2, 1, 1, 5}},
      {"ReverseSequence by computed lengths, images first",
       NodeText("ReverseSequence", "'x', 'n'",
                IntAttribute("batch_axis", 0) + IntAttribute("time_axis", 1)),
       {{"x", rows}, {"n", Ints({2, 3})}},
       {},
       {1, 3, 2, 5, 5, 1}},
      // In ONNX Runtime's layout: A is [M, batch, K], or [M, batch, 1] with the last two swapped.
      {"FusedMatMul of batches that come second",
       NodeText("FusedMatMul", "'x', 'b'",
                "domain: 'com.microsoft' " + IntAttribute("transBatchA", 1) +
                    "attribute { name: 'alpha' type: FLOAT f: 2 } "),
       {{"x", Floats({2, 2, 1}, {1, 2, 3, 4})}, {"b", Floats({2, 1, 1}, {10, 100})}},
       {},
       {20, 60, 400, 800}},
      {"FusedMatMul of such batches, turned",
       NodeText(
           "FusedMatMul", "'x', 'b'",
           "domain: 'com.microsoft' " + IntAttribute("transBatchA", 1) + IntAttribute("transA", 1)),
       {{"x", Floats({2, 2, 1}, {1, 2, 3, 4})}, {"b", Floats({2, 2, 1}, {1, 10, 1, 10})}},
       {},
       {1 + 30, 2 + 40}},
      {"SkipLayerNormalization, and its sum",
       NodeText("SkipLayerNormalization", "'x', 'more', 'scale', 'shift', 'bias'",
                "domain: 'com.microsoft' ", "'normal', '', '', 'sum'") +
           NodeText("Add", "'normal', 'sum'"),
       {{"x", Floats({1, 1, 2}, {1, 2})}, {"more", Floats({1, 1, 2}, {1, 2})}},
       {{"scale", Floats({2}, {1, 2})},
        {"shift", Floats({2}, {0, 1})},
        {"bias", Floats({2}, {0, 1})}},
       {-1 + 2, 2 + 1 + 5}},
      {"SwiGLU",
       NodeText("SwiGLU", "'x', 'x'"),
       {{"x", Floats({2}, {1, -2})}},
       {},
       {1 / (1 + std::exp(-1.0)), 4 / (1 + std::exp(2.0))},
       28},
      {"the loss of classes, one ignored",
       NodeText("NegativeLogLikelihoodLoss", "'x', 't', 'w'", IntAttribute("ignore_index", -1)),
       {{"x", rows}, {"t", Ints({2, -1})}},
       {{"w", Floats({3}, {1, 2, 4})}},
       {-2}},
      {"the loss of classes, weighted",
       NodeText("NegativeLogLikelihoodLoss", "'x', 't', 'w'"),
       {{"x", rows}, {"t", Ints({0, 2})}},
       {{"w", Floats({3}, {1, 2, 4})}},
       {-(3 * 1 + 5 * 4) / 5.0}},
      {"the loss of a softmax",
       NodeText("SoftmaxCrossEntropyLoss", "'x', 't'", TextAttribute("reduction", "sum")),
       {{"x", Floats({2, 2}, {0, 0, 0, std::log(3.0F)})}, {"t", Ints({0, 1})}},
       {},
       {std::log(2.0) + std::log(4.0 / 3)}},
      {"an Int32 of an Int64 loses its upper bits",
       NodeText("Cast", "'i'", IntAttribute("to", 6)),
       {{"i", Ints({5, -1, int64_t{1} << 31, -(int64_t{1} << 31) - 1, (int64_t{1} << 40) + 7})}},
       {},
       {5, -1, -2147483648.0, 2147483647.0, 7}},
      {"an Int8 of an Int32 loses its upper bits",
       NodeText("Cast", "'i'", IntAttribute("to", 6), "'s'") +
           NodeText("Cast", "'s'", IntAttribute("to", 3)),
       {{"i", Ints({127, 128, -129, 2147483647, -2147483648})}},
       {},
       {127, -128, 127, -1, 0}},
      {"a Uint8 of an Int64 loses its upper bits",
       NodeText("Cast", "'i'", IntAttribute("to", 2)),
       {{"i", Ints({255, 256, -1, -255})}},
       {},
       {255, 0, 255, 1}},
      {"a float of a computed type",
       NodeText("Add", "'x', 'x'", "", "'like'") + NodeText("CastLike", "'i', 'like'"),
       {{"x", four}, {"i", Ints({3, 4})}},
       {},
       {3, 4}},
      {"the greatest of no truth is false",
       NodeText("ConstantOfShape", "'s'",
                "attribute { name: 'value' type: TENSOR t { data_type: 9 dims: 1 int32_data: 0 } }",
                "'none'") +
           NodeText("ReduceMax", "'none'", IntAttribute("keepdims", 0), "'m'") +
           NodeText("Cast", "'m'", IntAttribute("to", 1), "'f'") + NodeText("Add", "'f', 'x'"),
       {{"x", Floats({1}, {0})}},
       {{"s", Ints({0, 2})}},
       {0}},
      {"BatchNormalization in training",
       NodeText(
           "BatchNormalization", "'x', 's', 'b', 'm', 'v'",
           IntAttribute("training_mode", 1) + "attribute { name: 'epsilon' type: FLOAT f: 0 }"),
       {{"x", Floats({2, 2}, {1, 10, 3, 30})}},
       {{"s", Floats({2}, {1, 2})},
        {"b", Floats({2}, {0, 1})},
        {"m", Floats({2}, {0, 0})},
        {"v", Floats({2}, {1, 1})}},
       {-1, -1, 1, 3}},
      {"RotaryEmbedding",
       NodeText("RotaryEmbedding", "'x', 'c', 's'"),
       {{"x", Floats({1, 1, 1, 4}, {1, 2, 3, 4})}},
       {{"c", Floats({1, 1, 2}, {0.5, 0})}, {"s", Floats({1, 1, 2}, {2, 1})}},
       {0.5 - 6, -4, 2 + 1.5, 2}},
      {"RotaryEmbedding, interleaved, of a part",
       NodeText("RotaryEmbedding", "'x', 'c', 's'",
                IntAttribute("interleaved", 1) + IntAttribute("rotary_embedding_dim", 2)),
       {{"x", Floats({1, 1, 1, 4}, {1, 2, 3, 4})}},
       {{"c", Floats({1, 1, 1}, {0.5})}, {"s", Floats({1, 1, 1}, {2})}},
       {0.5 - 4, 2 + 1, 3, 4}},
      {"Col2Im, dilated blocks of two channels",
       NodeText("Col2Im", "'x', 'image', 'block'", IntsAttribute("dilations", {2})),
       {{"x", Floats({1, 4, 1}, {1, 2, 3, 4})}},
       {{"image", Ints({3})}, {"block", Ints({2})}},
       {1, 0, 2, 3, 0, 4}},
      {"Col2Im, dilated blocks that overlap",
       NodeText("Col2Im", "'x', 'image', 'block'", IntsAttribute("dilations", {2})),
       {{"x", Floats({1, 2, 3}, {1, 2, 3, 10, 20, 30})}},
       {{"image", Ints({5})}, {"block", Ints({2})}},
       {1, 2, 3 + 10, 20, 30}},
      {"Col2Im, a dilated block of three dimensions",
       NodeText("Col2Im", "'x', 'image', 'block'", IntsAttribute("dilations", {1, 1, 2})),
       {{"x", Floats({1, 4, 1}, {1, 2, 3, 4})}},
       {{"image", Ints({1, 2, 3})}, {"block", Ints({1, 2, 2})}},
       {1, 0, 2, 3, 0, 4}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const absl::StatusOr<HostTensor> y = Computed(c.nodes, c.inputs, c.known, c.version);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_TRUE(Near(*y, c.y, 1e-6));
  }
}

TEST(OnnxKnownValues, OfOneHead) {
  // Products of queries 1 and 2 with keys 1, 2 and 3; the values make the weights visible.
  const Tensors inputs = {{"q", Floats({1, 1, 2, 1}, {1, 2})},
                          {"k", Floats({1, 1, 3, 1}, {1, 2, 3})},
                          {"v", Floats({1, 1, 3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1})}};
  const double inf = INFINITY;
  const struct {
    const char* name;
    std::string attributes, more;
    Tensors known;
    double cap;
    std::vector<double> mask;  // by query and key
  } kCases[] = {
      {"all", "", "", {}, 0, {0, 0, 0, 0, 0, 0}},
      {"capped", "attribute { name: 'softcap' type: FLOAT f: 2 } ", "", {}, 2, {0, 0, 0, 0, 0, 0}},
      {"capped and causal",
       "attribute { name: 'softcap' type: FLOAT f: 2 } " + IntAttribute("is_causal", 1),
       "",
       {},
       2,
       {0, -inf, -inf, 0, 0, -inf}},
      {"a window",
       IntAttribute("left_window_size", 0) + IntAttribute("right_window_size", 1),
       "",
       {},
       0,
       {0, 0, -inf, -inf, 0, 0}},
      {"two valid keys",
       "",
       ", '', '', '', 'valid'",
       {{"valid", Ints({2})}},
       0,
       {0, 0, -inf, 0, 0, -inf}},
      {"two valid keys, causal",
       IntAttribute("is_causal", 1),
       ", '', '', '', 'valid'",
       {{"valid", Ints({2})}},
       0,
       {0, -inf, -inf, 0, 0, -inf}},
      {"a short mask",
       "",
       ", 'mask'",
       {{"mask", Floats({2, 2}, {0, 1, 0, 0})}},
       0,
       {0, 1, -inf, 0, 0, -inf}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    const absl::StatusOr<HostTensor> y = Computed(
        NodeText("Attention", "'q', 'k', 'v'" + c.more, c.attributes), inputs, c.known, 25);
    ASSERT_TRUE(y.ok()) << y.status();
    std::vector<double> expected;
    for (int i = 0; i < 2; ++i) {
      std::vector<double> weights;
      double sum = 0;
      for (int j = 0; j < 3; ++j) {
        const double product = (i + 1) * (j + 1);
        const double capped = c.cap == 0 ? product : c.cap * std::tanh(product / c.cap);
        weights.push_back(std::exp(capped + c.mask[static_cast<size_t>(3 * i + j)]));
        sum += weights.back();
      }
      for (const double weight : weights) expected.push_back(weight / sum);
    }
    EXPECT_TRUE(Near(*y, expected, 1e-6));
  }
}

TEST(OnnxKnownValues, HeadsOfQueriesShareHeadsOfKeysInOrder) {
  // Products are multiples of ln 2, so that the second key has 2/3, 4/5, 1/5 and 1/17 of the
  // weight. Heads 0 and 1 of the queries share head 0 of the keys, 2 and 3 share head 1.
  const float ln2 = std::log(2.0f);
  const HostTensor mask = HostTensor::FromValues<bool>(
      DType::kBool, {1, 4, 1, 2}, {true, true, false, true, true, false, false, false});
  const std::string heads = IntAttribute("q_num_heads", 4) + IntAttribute("kv_num_heads", 2);
  const auto capped_share = [](double tanh) { return 1 / (1 + std::exp(-tanh)); };
  const struct {
    const char* name;
    std::string more, attributes;
    std::vector<double> y;
  } kCases[] = {
      {"all", "", "", {10, 12, 17, 5}},
      {"a mask by head of the queries, the last of which sees nothing",
       ", 'mask'",
       "",
       {10, 15, 0, 0}},
      {"capped at 1",  // tanh(ln 2) = 3/5, tanh(2 ln 2) = 15/17, tanh(4 ln 2) = 255/257
       "",
       "attribute { name: 'softcap' type: FLOAT f: 1 } ",
       {15 * capped_share(0.6), 15 * capped_share(15 / 17.0), 85 * capped_share(-15 / 17.0),
        85 * capped_share(-255 / 257.0)}},
  };
  for (const auto& c : kCases) {
    for (const bool joined : {false, true}) {
      SCOPED_TRACE(absl::StrCat(c.name, joined ? ", 3 dimensions" : ""));
      Tensors inputs = {{"q", Floats({1, 4, 1, 1}, {ln2, 2 * ln2, ln2, 2 * ln2})},
                        {"k", Floats({1, 2, 2, 1}, {0, 1, 2, 0})},
                        {"v", Floats({1, 2, 2, 1}, {0, 15, 0, 85})}};
      if (joined) {
        inputs = {{"q", Floats({1, 1, 4}, {ln2, 2 * ln2, ln2, 2 * ln2})},
                  {"k", Floats({1, 2, 2}, {0, 2, 1, 0})},
                  {"v", Floats({1, 2, 2}, {0, 0, 15, 85})}};
      }
      if (!c.more.empty()) inputs.emplace("mask", mask);
      const HostTensor y = Value(Computed(
          NodeText("Attention", "'q', 'k', 'v'" + c.more, c.attributes + (joined ? heads : "")),
          inputs));
      EXPECT_EQ(y.shape(), (joined ? Shape{1, 1, 4} : Shape{1, 4, 1, 1}));
      EXPECT_TRUE(Near(y, c.y, 1e-5));
    }
  }
}

TEST(OnnxKnownValues, QueriesBehindAPastSeeItAndNoKeyAfterThem) {
  // One query after a past of one key: it sees the past, whose value is 2, and the first new key.
  for (const int64_t keys : {1, 2}) {
    std::vector<float> zeros(static_cast<size_t>(keys)), values = {4, 9};
    values.resize(static_cast<size_t>(keys));
    const Tensors inputs = {{"q", Floats({1, 1, 1, 1}, {1})},
                            {"k", Floats({1, 1, keys, 1}, zeros)},
                            {"v", Floats({1, 1, keys, 1}, values)},
                            {"pk", Floats({1, 1, 1, 1}, {0})},
                            {"pv", Floats({1, 1, 1, 1}, {2})}};
    const HostTensor y = Value(Computed(
        NodeText("Attention", "'q', 'k', 'v', '', 'pk', 'pv'", IntAttribute("is_causal", 1)),
        inputs));
    EXPECT_TRUE(Near(y, std::vector<double>{3}, 1e-6)) << keys << " new keys";
  }
}

// Sums over all letters, the slow way.
HostTensor EinsumByHand(const std::vector<std::string>& terms, const std::string& result,
                        const std::vector<HostTensor>& operands) {
  std::map<char, int64_t> sizes, at;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t axis = 0; axis < terms[i].size(); ++axis) {
      sizes[terms[i][axis]] = operands[i].shape()[static_cast<int>(axis)];
    }
  }
  Shape shape;
  for (const char letter : result) shape.push_back(sizes[letter]);
  HostTensor y = HostTensor::Zeros(DType::kFloat32, shape);
  int64_t all = 1;
  for (const auto& [letter, size] : sizes) all *= size;
  const auto place = [&](const std::string& letters) {
    int64_t index = 0;
    for (const char letter : letters) index = index * sizes[letter] + at[letter];
    return index;
  };
  for (int64_t i = 0; i < all; ++i) {
    int64_t rest = i;
    for (const auto& [letter, size] : sizes) {
      at[letter] = rest % size;
      rest /= size;
    }
    double product = 1;
    for (size_t o = 0; o < terms.size(); ++o) product *= operands[o].At(place(terms[o]));
    y.Set(place(result), y.At(place(result)) + product);
  }
  return y;
}

TEST(OnnxKnownValues, Einsum) {
  const struct {
    const char* equation;
    std::vector<std::string> terms;  // without ellipses
    std::string result;
  } kCases[] = {
      {"ij->ji", {"ij"}, "ji"},
      {"ij->i", {"ij"}, "i"},
      {"ij->", {"ij"}, ""},
      {"ii->i", {"ii"}, "i"},
      {"...ii->...i", {"abii"}, "abi"},
      {"ii", {"ii"}, ""},
      {"i,i", {"i", "i"}, ""},
      {"ba,cb", {"ba", "cb"}, "ac"},
      {"ij,jk->ik", {"ij", "jk"}, "ik"},
      {"bij, bkj -> bik", {"bij", "bkj"}, "bik"},
      {"...ij,...jk->...ik", {"abij", "abjk"}, "abik"},
      {"...ij,jk->...ik", {"abij", "jk"}, "abik"},
      {"ij,kl->ijkl", {"ij", "kl"}, "ijkl"},
      {"ijk,jl->il", {"ijk", "jl"}, "il"},
      {"ij,jk,kl->il", {"ij", "jk", "kl"}, "il"},
      {"bhqd,bhkd->bhqk", {"bhqd", "bhkd"}, "bhqk"},
  };
  std::mt19937_64 random(1);
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.equation);
    Tensors inputs;
    std::vector<HostTensor> operands;
    std::string names;
    for (size_t i = 0; i < c.terms.size(); ++i) {
      Shape shape;
      for (const char letter : c.terms[i]) shape.push_back(2 + letter % 3);
      operands.push_back(RandomTensor(random, shape));
      inputs[absl::StrCat("x", i)] = operands.back();
      absl::StrAppend(&names, i == 0 ? "" : ", ", "'x", i, "'");
    }
    const absl::StatusOr<HostTensor> y =
        Computed(NodeText("Einsum", names, TextAttribute("equation", c.equation)), inputs);
    ASSERT_TRUE(y.ok()) << y.status();
    const HostTensor expected = EinsumByHand(c.terms, c.result, operands);
    EXPECT_EQ(y->shape(), expected.shape());
    EXPECT_TRUE(Near(*y, expected, 1e-5));
  }
  const Tensors one = {{"x", Floats({2}, {1, 2})}};
  for (const char* const wrong : {"i,j->ij", "ij->i", "i->ii", "i->k", "i1->i"}) {
    EXPECT_FALSE(Computed(NodeText("Einsum", "'x'", TextAttribute("equation", wrong)), one).ok())
        << wrong;
  }
}

// Dimensions of 0 that a file declares: results follow the specification and numpy.
TEST(OnnxKnownValues, OfTensorsWithoutElements) {
  const HostTensor images = HostTensor::Zeros(DType::kFloat32, {0, 2, 4, 4});
  const auto floats = [](const Shape& shape) { return HostTensor::Zeros(DType::kFloat32, shape); };
  const std::string two = "'x', 'w'";
  const struct {
    std::string nodes;
    HostTensor x;
    Tensors known;
    Shape shape;
    double value;  // of all elements
  } kRows[] = {
      {NodeText("MatMul", two), floats({2, 0}), {{"w", floats({0, 3})}}, {2, 3}, 0},
      {NodeText("MatMul", two), floats({0, 2}), {{"w", floats({2, 3})}}, {0, 3}, 0},
      {NodeText("Gemm", "'x', 'w', 'b'"),
       floats({2, 0}),
       {{"w", floats({0, 3})}, {"b", Floats({3}, {5, 5, 5})}},
       {2, 3},
       5},
      {NodeText("Conv", two), images, {{"w", floats({5, 2, 3, 3})}}, {0, 5, 2, 2}, 0},
      {NodeText("MaxPool", "'x'", IntsAttribute("kernel_shape", {2, 2})),
       images,
       {},
       {0, 2, 3, 3},
       0},
      {NodeText("GlobalAveragePool", "'x'"), images, {}, {0, 2, 1, 1}, 0},
      {NodeText("Softmax", "'x'"), floats({3, 0}), {}, {3, 0}, 0},
      {NodeText("LogSoftmax", "'x'"), floats({3, 0}), {}, {3, 0}, 0},
      {NodeText("Relu", "'x'"), floats({0, 7}), {}, {0, 7}, 0},
      {NodeText("Concat", two, IntAttribute("axis", 0)),
       floats({0, 2}),
       {{"w", Floats({1, 2}, {4, 4})}},
       {1, 2},
       4},
      {NodeText("ReduceSum", two, IntAttribute("keepdims", 0)),
       floats({0, 3}),
       {{"w", Ints({0})}},
       {3},
       0},
      {NodeText("ReduceProd", two, IntAttribute("keepdims", 0)),
       floats({0, 3}),
       {{"w", Ints({0})}},
       {3},
       1},
      {NodeText("ReduceMax", two, IntAttribute("keepdims", 0)),
       floats({0, 3}),
       {{"w", Ints({0})}},
       {3},
       -INFINITY},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.nodes);
    const absl::StatusOr<HostTensor> y =
        Computed(row.nodes, {{"x", row.x}}, row.known, /*version=*/18);
    ASSERT_TRUE(y.ok()) << y.status();
    EXPECT_EQ(y->shape(), row.shape);
    for (int64_t i = 0; i < y->num_elements(); ++i) EXPECT_EQ(y->At(i), row.value);
  }
}

// "In case 'indices' is of non-integer type, the values will be casted to int64 before use", and so
// is the depth. Regression: fractions hit no place.
TEST(OnnxKnownValues, OneHotCastsIndicesAndDepthToIntegers) {
  const Tensors indices = {{"x", Floats({4}, {1.9F, -1.2F, 0.5F, -0.5F})}};
  const Tensors rest = {{"depth", Floats({1}, {3.7F})}, {"values", Floats({2}, {5, 7})}};
  const std::string node = NodeText("OneHot", "'x', 'depth', 'values'");
  Tensors all = rest;
  all.insert(indices.begin(), indices.end());
  for (const auto& [inputs, known] : {std::pair(indices, rest), std::pair(Tensors(), all)}) {
    const HostTensor y = Value(Computed(node, inputs, known));
    EXPECT_EQ(y.shape(), (Shape{4, 3}));
    const std::vector<double> expected = {5, 7, 5, 5, 5, 7, 7, 5, 5, 7, 5, 5};
    for (int64_t i = 0; i < y.num_elements(); ++i) EXPECT_EQ(y.At(i), expected[i]) << i;
  }
}

// Regression: the only point along an axis was at -1 (scripts/differential.py --seed 7757).
TEST(OnnxKnownValues, AffineGridOfOnePointIsInTheMiddle) {
  const Tensors theta = {{"x", Floats({1, 2, 3}, {1, 0, 0, 0, 1, 0})}};
  const Tensors size = {{"size", Ints({1, 1, 1, 3})}};
  for (const int corners : {0, 1}) {
    const std::string node =
        NodeText("AffineGrid", "'x', 'size'", IntAttribute("align_corners", corners));
    const HostTensor y = Value(Computed(node, theta, size));
    const double most = corners ? 1 : 2.0 / 3;
    const std::vector<double> expected = {-most, 0, 0, 0, most, 0};
    ASSERT_EQ(y.shape(), (Shape{1, 1, 3, 2}));
    for (int64_t i = 0; i < 6; ++i) EXPECT_NEAR(y.At(i), expected[i], 1e-6) << corners << " " << i;
  }
}

// Regression: no boxes ended the process, by a division by 0.
TEST(OnnxKnownValues, MaxRoiPoolOfNoBoxesIsEmpty) {
  const Tensors inputs = {{"x", Floats({2, 3, 4, 4}, std::vector<float>(96, 1))},
                          {"boxes", Floats({0, 5}, {})}};
  const std::string node =
      NodeText("MaxRoiPool", "'x', 'boxes'", IntsAttribute("pooled_shape", {2, 3}));
  const HostTensor y = Value(Computed(node, inputs));
  EXPECT_EQ(y.dtype(), DType::kFloat32);
  EXPECT_EQ(y.shape(), (Shape{0, 3, 2, 3}));
}

// Operators of language models that carry a state from run to run.
TEST(OnnxKnownValues, StatesOfLanguageModels) {
  const std::string heads = IntAttribute("q_num_heads", 1) + IntAttribute("kv_num_heads", 1);
  const auto attention = [&](const std::string& rest) {
    return NodeText("LinearAttention", "'q', 'k', 'v'" + rest, heads);
  };
  const auto positions = [](std::vector<float> values) { return Floats({1, 2, 1}, values); };
  const Tensors qkv = {
      {"q", positions({2, 3})}, {"k", positions({1, 2})}, {"v", positions({5, 7})}};
  Tensors all = qkv;
  all["decay"] = positions({0, std::log(2.0F)});
  all["beta"] = positions({1, 0.5});
  all["past"] = Floats({1, 1, 1, 1}, {4});
  const Tensors causal = {{"x", Floats({1, 1, 3}, {1, 2, 3})},
                          {"w", Floats({1, 1, 2}, {10, 1})},
                          {"past", Floats({1, 1, 1}, {5})}};
  const Tensors cache = {
      {"x", Floats({1, 3, 1}, {1, 2, 3})}, {"u", Floats({1, 2, 1}, {8, 9})}, {"at", Ints({2})}};
  const struct {
    std::string node;
    Tensors inputs;
    std::vector<double> y;
  } kCases[] = {
      {NodeText("CausalConvWithState", "'x', 'w', '', 'past'"), causal, {51, 12, 23}},
      {NodeText("CausalConvWithState", "'x', 'w', '', 'past'", "", "'z', 'y'"), causal, {3}},
      {NodeText("CausalConvWithState", "'x', 'w'"), causal, {1, 12, 23}},
      {NodeText("TensorScatter", "'x', 'u', 'at'", TextAttribute("mode", "circular")),
       cache,
       {9, 2, 8}},
      {NodeText("TensorScatter", "'x', 'u'"), cache, {8, 9, 3}},
      // S = 5, then 5 + 2 * 7.
      {NodeText("LinearAttention", "'q', 'k', 'v'", heads + TextAttribute("update_rule", "linear")),
       qkv,
       {10, 57}},
      // S = 5; then it is doubled, and 2 * (7 - 2 * 10) / 2 is added.
      {attention(", '', 'decay', 'beta'"), all, {10, -9}},
      // S = 4 + 1 * (5 - 4), and so on.
      {attention(", 'past', 'decay', 'beta'"), all, {10, -9}},
      {NodeText("LinearAttention", "'q', 'k', 'v', '', 'decay', 'beta'", heads, "'z', 'y'"),
       all,
       {-3}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.node);
    Tensors used;
    for (const auto& [name, tensor] : c.inputs) {
      if (c.node.find("'" + name + "'") != std::string::npos) used[name] = tensor;
    }
    const absl::StatusOr<HostTensor> y = Computed(c.node, used, {}, 27);
    ASSERT_TRUE(IsOk(y.status()));
    EXPECT_TRUE(Near(*y, c.y, 1e-5));
  }
  EXPECT_TRUE(
      FailsWith(Computed(NodeText("LinearAttention", "'q', 'k', 'v'",
                                  IntAttribute("q_num_heads", 3) + IntAttribute("kv_num_heads", 2) +
                                      TextAttribute("update_rule", "linear")),
                         qkv, {}, 27)
                    .status(),
                "3 heads of queries for 2 of keys"));
}

TEST(OnnxKnownValues, RefusesSequencesWhereTensorsAreNeeded) {
  const Tensors x = {{"x", Floats({2}, {1, 2})}};
  const std::string list = NodeText("SequenceConstruct", "'x', 'x'", "", "'s'");
  EXPECT_TRUE(
      FailsWith(Computed(list + NodeText("Relu", "'s'"), x).status(), "of a sequence of tensors"));
  EXPECT_TRUE(FailsWith(Computed(NodeText("SequenceConstruct", "'x', 'x'"), x).status(),
                        "output 'y' is a sequence of tensors"));
  EXPECT_TRUE(FailsWith(Computed(NodeText("SequenceLength", "'x'"), x).status(),
                        "input 0 is a tensor, expected a sequence"));
}

}  // namespace
}  // namespace ashlar::testing
