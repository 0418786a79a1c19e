// Compares footprints with a real run of MegEngine: ResNet-50, batch 10.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "opr/table.h"
#include "tests/support/operators.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

constexpr const char* kDump = "data/megengine-resnet50-b10.profile.json";

ParamList ParamsOf(const nlohmann::json& object) {
  ParamList params;
  for (const auto& [name, value] : object.items()) {
    if (value.is_boolean()) {
      params.emplace_back(name, value.get<bool>());
    } else if (value.is_number_integer()) {
      params.emplace_back(name, value.get<int64_t>());
    } else {
      params.emplace_back(name, value.get<std::string>());
    }
  }
  return params;
}

std::vector<TensorType> TypesOf(const nlohmann::json& shapes) {
  std::vector<TensorType> types;
  for (const nlohmann::json& shape : shapes) {
    types.push_back({DType::kFloat32, Shape(shape.get<std::vector<int64_t>>())});
  }
  return types;
}

TEST(Footprint, IsThatOfMegEngine) {
  std::ifstream file(SharedData(kDump));
  const nlohmann::json dump = nlohmann::json::parse(file);
  std::map<std::string, Footprint> totals = {{"ConvolutionForward", {}},
                                             {"Elemwise", {}},
                                             {"MatrixMul", {}},
                                             {"PoolingForward", {}},
                                             {"Reduce", {}}};
  for (const auto& [id, footprint] : dump["profiler"]["opr_footprint"].items()) {
    const nlohmann::json& node = dump["graph_exec"]["operator"][id];
    const std::string type = node["type"];
    const auto total = totals.find(type);
    if (total == totals.end()) continue;
    SCOPED_TRACE(node["name"].get<std::string>());
    const auto op = Operators().Make(type, ParamsOf(footprint["param"]));
    ASSERT_TRUE(op.ok()) << op.status();
    const std::vector<TensorType> inputs = TypesOf(footprint["in_shapes"]);
    std::vector<InputInfo> infos;
    for (const TensorType& input : inputs) infos.push_back({input});
    const auto outputs = (*op)->Infer(infos);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(*outputs, TypesOf(footprint["out_shapes"]));
    const Footprint actual = FootprintOf(**op, OwnedSite{infos, *outputs});
    EXPECT_EQ(actual.memory, footprint["memory"].get<int64_t>());
    EXPECT_EQ(actual.computation, footprint["computation"].get<int64_t>());
    total->second.memory += actual.memory;
    total->second.computation += actual.computation;
  }
  EXPECT_EQ(totals["ConvolutionForward"].computation, 81'742'725'120);
  EXPECT_EQ(totals["ConvolutionForward"].memory, 964'875'008);
  EXPECT_EQ(totals["Elemwise"].computation, 151'320'640);
  EXPECT_EQ(totals["Elemwise"].memory, 1'431'434'480);
  EXPECT_EQ(totals["PoolingForward"].computation, 19'066'880);
  EXPECT_EQ(totals["PoolingForward"].memory, 44'236'800);
  EXPECT_EQ(totals["MatrixMul"].computation, 40'960'000);
  EXPECT_EQ(totals["MatrixMul"].memory, 8'313'920);
  EXPECT_EQ(totals["Reduce"].computation, 20'000);
  EXPECT_EQ(totals["Reduce"].memory, 80'080);
}

}  // namespace
}  // namespace ashlar::testing
