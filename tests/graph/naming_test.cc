#include "graph/naming.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "opr/concat.h"
#include "opr/elemwise.h"
#include "opr/immutable_tensor.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

constexpr const char* kDump = "data/megengine-resnet50-b10.profile.json";

TEST(AutomaticName, ListsInputsWithoutTheirParentheses) {
  const Elemwise add({ScalarFunction::kAdd});
  EXPECT_EQ(AutomaticName(add, {"FUSE_ADD_RELU(a,conv(b)[2])[619]", "x"}, 7),
            "ADD(FUSE_ADD_RELU[619],x)[7]");
  EXPECT_EQ(AutomaticName(add, {"odd)name(", "x"}, 7), "ADD(odd)name(,x)[7]");
  EXPECT_EQ(AutomaticName(add, {}, 7), "ADD[7]");
}

TEST(AutomaticName, ListsNoMoreFrom64CharactersOn) {
  const Concat concat({0});
  const std::string a(56, 'a');  // "concat(" + 56 + "," is 64
  EXPECT_EQ(AutomaticName(concat, {a, "b", "c"}, 1), "concat(" + a + ",...)[1]");
  EXPECT_EQ(AutomaticName(concat, {a.substr(1), "b", "c"}, 1),
            "concat(" + a.substr(1) + ",b,...)[1]");
}

TEST(AutomaticName, Constants) {
  const auto name = [](const HostTensor& value) {
    return AutomaticName(ImmutableTensor(value), {}, 5);
  };
  EXPECT_EQ(name(HostTensor::Zeros(DType::kFloat32, {1000, 2048})), "const{1000,2048}[5]");
  EXPECT_EQ(name(HostTensor::FromValues<int32_t>(DType::kInt32, {1}, {-1})), "const<-1>[5]");
  EXPECT_EQ(name(HostTensor::FromValues<float>(DType::kFloat32, {}, {0.12345f})),
            "const<0.123>{}[5]");
  EXPECT_EQ(name(HostTensor::FromValues<float>(DType::kFloat32, {1, 1}, {2})), "const<2>{1,1}[5]");
}

// An operator of which only the base name matters.
class Named final : public Operator {
 public:
  explicit Named(std::string base_name) : base_name_(std::move(base_name)) {}
  absl::string_view type() const override { return "Named"; }
  std::string base_name() const override { return base_name_; }
  ParamList params() const override { return {}; }
  absl::StatusOr<std::vector<TensorType>> Infer(absl::Span<const InputInfo>) const override {
    return std::vector<TensorType>();
  }
  absl::StatusOr<std::vector<HostTensor>> Evaluate(absl::Span<const HostTensor>) const override {
    return std::vector<HostTensor>();
  }

 private:
  std::string base_name_;
};

TEST(AutomaticName, IsThatOfMegEngine) {
  const nlohmann::json graph =
      nlohmann::json::parse(std::ifstream(SharedData(kDump))).at("graph_exec");
  int compared = 0;
  for (const auto& [id, node] : graph.at("operator").items()) {
    const std::string type = node.at("type"), name = node.at("name");
    if (node.at("input").empty()) continue;
    std::vector<std::string> inputs;
    for (const std::string input : node.at("input")) {
      inputs.push_back(graph.at("var").at(input).at("name"));
    }
    if (type == "Reshape" || type == "Subtensor") inputs.resize(1);  // others are host values
    const Named op(name.substr(0, name.find('(')));
    std::vector<std::string> names = {AutomaticName(op, inputs, std::stoi(id))};
    if (type == "Elemwise") {  // MegEngine reorders the inputs of a few after naming
      std::reverse(inputs.begin(), inputs.end());
      names.push_back(AutomaticName(op, inputs, std::stoi(id)));
    }
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end())
        << name << ", got " << names[0];
    ++compared;
  }
  EXPECT_EQ(compared, 132);
}

}  // namespace
}  // namespace ashlar::testing
