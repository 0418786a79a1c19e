// Model files whose operators refuse their parameters or inputs.

#include <cmath>
#include <limits>

#include "tests/serialization/native/bad_model.h"
#include "tests/serialization/native/raw_model.h"

namespace ashlar {
namespace {

using testing::EncodeFile;
using testing::ExpectRefused;
using testing::kMax;
using testing::RawModel;
using testing::ReadBounded;
using testing::Refused;

TEST(BadOperators, ConvolutionsAreRefused) {
  const auto param = [](const char* name, ParamValue value) {
    return [=](RawModel& model) {
      for (auto& [key, old] : model.nodes[3].params) {
        if (key == name) old = value;
      }
    };
  };
  const auto filter = [](std::vector<int64_t> shape) {
    return [shape](RawModel& model) {
      model.nodes[1].outputs[0].shape = shape;
      uint64_t bytes = 4;
      for (int64_t dim : shape) bytes *= dim;
      model.nodes[1].value = {0, bytes};
    };
  };
  ExpectRefused({
      {"stride 0", param("stride_h", int64_t{0}), "stride_h is 0"},
      {"negative stride", param("stride_w", int64_t{-1}), "stride_w is -1"},
      {"stride of 2^63 - 1", param("stride_w", kMax), "stride_w"},
      {"dilation 0", param("dilate_h", int64_t{0}), "dilate_h is 0"},
      {"dilation of 2^63 - 1", param("dilate_h", kMax), "dilate_h"},
      {"dilation beyond the image", param("dilate_h", int64_t{1 << 30}), "larger than the padded"},
      {"more cropped than there is", param("pad_w", int64_t{-9}), "larger than the padded"},
      {"padding of -2^63 + 1", param("pad_w", -kMax), "pad_w is -9223372036854775807"},
      {"padding of 2^63 - 1", param("pad_w", kMax), "pad_w"},
      {"output of terabytes",
       [&](RawModel& model) {
         param("pad_h", int64_t{1 << 30})(model);
         param("pad_w", int64_t{1 << 30})(model);
       },
       "larger than"},
      {"wrong type", param("stride_h", std::string("1")), "'stride_h' has the wrong type"},
      {"unknown value", param("mode", std::string("99")), "unknown value '99'"},
      {"missing parameter", [](RawModel& model) { model.nodes[3].params.pop_back(); },
       "'nonlineMode' is missing"},
      {"a parameter more",
       [](RawModel& model) { model.nodes[3].params.emplace_back("evil", true); },
       "unknown parameter 'evil'"},
      {"a parameter twice",
       [](RawModel& model) { model.nodes[3].params.push_back(model.nodes[3].params[0]); }, ""},
      {"filter of other channels", filter({1, 3, 2, 3}), "channels"},
      {"filter of rank 3", filter({2, 3, 3}), ""},
      {"filter larger than the image", filter({1, 2, 5, 1}), "larger than the padded"},
      {"filter without channels", filter({1, 0, 3, 3}), ""},
      {"groups that do not divide",
       [&](RawModel& model) {
         filter({3, 1, 1, 3, 3})(model);
         model.nodes[1].value = {0, 108};
         param("sparse", std::string("GROUP"))(model);
       },
       ""},
      {"groups of nothing",
       [&](RawModel& model) {
         filter({0, 1, 1, 3, 3})(model);
         param("sparse", std::string("GROUP"))(model);
       },
       ""},
  });
}

TEST(BadOperators, OthersAreRefused) {
  using Ints = std::vector<int64_t>;
  struct {
    const char* name;
    const char* type;
    ParamList params;
    std::vector<Ints> inputs;
    const char* message;
  } const cases[] = {
      {"BatchNorm without channels",
       "BatchNorm",
       {{"epsilon", 1e-5}},
       {{4}, {4}, {4}, {4}, {4}},
       ""},
      {"BatchNorm of NaN",
       "BatchNorm",
       {{"epsilon", std::nan("")}},
       {{1, 4}, {4}, {4}, {4}, {4}},
       "epsilon"},
      {"BatchNorm of -1",
       "BatchNorm",
       {{"epsilon", -1.0}},
       {{1, 4}, {4}, {4}, {4}, {4}},
       "epsilon"},
      {"Concat beyond the rank", "Concat", {{"axis", int64_t{2}}}, {{1, 2}, {1, 2}}, "axis"},
      {"Concat of ranks", "Concat", {{"axis", int64_t{0}}}, {{1, 2}, {1}}, ""},
      {"Concat of nothing", "Concat", {{"axis", int64_t{0}}}, {}, ""},
      {"Dimshuffle that repeats", "Dimshuffle", {{"pattern", Ints{0, 0}}}, {{1, 2}}, ""},
      {"Dimshuffle beyond the rank", "Dimshuffle", {{"pattern", Ints{0, 2}}}, {{1, 2}}, ""},
      {"Dimshuffle that drops a dimension", "Dimshuffle", {{"pattern", Ints{0}}}, {{1, 2}}, ""},
      {"Dimshuffle to rank 100", "Dimshuffle", {{"pattern", Ints(100, -1)}}, {{1}}, ""},
      {"Elemwise of other shapes",
       "Elemwise",
       {{"mode", std::string("ADD")}},
       {{2}, {3}},
       "broadcast"},
      {"Elemwise of one input", "Elemwise", {{"mode", std::string("ADD")}}, {{2}}, "inputs"},
      {"LRN of 0 channels",
       "LRN",
       {{"size", int64_t{0}}, {"alpha", 1.0}, {"beta", 1.0}, {"bias", 1.0}},
       {{1, 1, 1, 1}},
       "size"},
      {"MatrixMul of nothing",
       "MatrixMul",
       {{"transposeA", false},
        {"transposeB", false},
        {"compute_mode", std::string("DEFAULT")},
        {"format", std::string("DEFAULT")}},
       {{2, 0}, {0, 2}},
       ""},
      {"Reduce beyond the rank",
       "Reduce",
       {{"mode", std::string("SUM")}, {"axis", int64_t{2}}, {"data_type", std::string("DEFAULT")}},
       {{1, 2}},
       "axis"},
      {"Reshape to what is only known later", "Reshape", {}, {{2}, {1}}, ""},
      {"Softmax of a scalar", "Softmax", {{"axis", int64_t{0}}}, {{}}, ""},
      {"Softmax of axis -2^63",
       "Softmax",
       {{"axis", std::numeric_limits<int64_t>::min()}},
       {{2}},
       "axis"},
      {"TypeCvt to 99", "TypeCvt", {{"dtype", std::string("99")}}, {{2}}, "unknown value '99'"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const RawModel model = RawModel::OneOperator(c.type, c.params, c.inputs, {1});
    EXPECT_TRUE(Refused(ReadBounded(EncodeFile(model)), c.message));
  }
}

TEST(BadOperators, PoolingIsRefused) {
  struct {
    const char* name;
    const char* param;
    int64_t value;
    const char* message;
  } const cases[] = {
      {"window 0", "window_h", 0, "window_h is 0"},
      {"stride 0", "stride_w", 0, "stride_w is 0"},
      {"window in the padding", "pad_h", 2, "wholly in the padding"},
      {"window of 2^63 - 1", "window_h", kMax, "window_h"},
      {"window beyond the image", "window_w", 5, "larger than the padded"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    ParamList params = {{"format", std::string("NCHW")}, {"mode", std::string("AVERAGE")}};
    for (const char* name : {"window_h", "window_w", "stride_h", "stride_w", "pad_h", "pad_w"}) {
      const int64_t fallback = name[0] == 'p' ? 0 : 2;
      params.emplace_back(name, std::string(name) == c.param ? c.value : fallback);
    }
    const RawModel model =
        RawModel::OneOperator("PoolingForward", params, {{1, 1, 4, 4}}, {1, 1, 2, 2});
    EXPECT_TRUE(Refused(ReadBounded(EncodeFile(model)), c.message));
  }
}

}  // namespace
}  // namespace ashlar
