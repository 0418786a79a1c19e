// Published trained models on pictures: their outputs, to 1e-4 of the largest one, or to the
// precision of a 16-bit float.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/cpu/cpu_device.h"
#include "serialization/image.h"
#include "serialization/mapped_file.h"
#include "serialization/npz.h"
#include "serialization/onnx/import/reader.h"
#include "tests/serialization/onnx/import/node_case.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

constexpr double kTolerance = 1e-4, kHalfTolerance = 1.0 / 2048;

using NamedOutputs = std::map<std::string, HostTensor>;

struct ModelRun {
  NamedOutputs outputs;
  int64_t arena = 0;  // bytes
};

// Plans and runs the model on the CPU.
ModelRun PlanAndRun(const std::string& path, const InputTensors& inputs,
                    const PlanRequest& request) {
  cpu::RegisterDevice();
  OnnxReadOptions options;
  for (const auto& [name, value] : inputs) options.shapes[name] = value.shape();
  absl::StatusOr<Graph> graph = ReadOnnx(path, options);
  EXPECT_TRUE(IsOk(graph.status()));
  if (!graph.ok()) return {};
  InputTensors given = inputs;
  for (const Binding& input : graph->inputs()) {
    given[input.name] = InDType(given.at(input.name), graph->var(input.var).type.dtype);
  }
  const auto executable = Value(Executable::Compile(*std::move(graph), request));
  const auto session = Value(Session::Create(executable));
  const std::vector<HostTensor> outputs = Value(BindTensors(*session, given));
  EXPECT_TRUE(IsOk(session->Run()));
  ModelRun run;
  run.arena = executable->planned().plan.plan.arena;
  for (size_t i = 0; i < outputs.size(); ++i) {
    run.outputs[executable->graph().outputs()[i].name] = outputs[i];
  }
  return run;
}

NamedOutputs RunModel(const std::string& path, const InputTensors& inputs) {
  return PlanAndRun(path, inputs, PlanRequest()).outputs;
}

// `noise`: the difference made by ONNX Runtime's own rewrites, if all outputs are near 0.
void ExpectOutputs(const NamedOutputs& got, const NamedTensors& want, double noise = 0) {
  for (const auto& [name, value] : want) {
    SCOPED_TRACE(name);
    const auto found = got.find(name);
    ASSERT_NE(found, got.end());
    ASSERT_EQ(found->second.shape(), value.shape());
    const std::vector<double> values = Values(value);
    const double largest = *std::max_element(
        values.begin(), values.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    const double tolerance = value.dtype() == DType::kFloat16 ? kHalfTolerance : kTolerance;
    EXPECT_LE(LargestDifference(found->second, value) * std::abs(largest),
              tolerance * std::abs(largest) + 2 * noise);
  }
}

Pixels ReadPicture(const std::string& path) {
  return Value(ParseImage(Value(MappedFile::Open(path))->bytes(), path));
}

// Returns the picture in the form that a model's description (JSON) asks for: order of channels,
// mean, factor.
HostTensor PictureOf(const nlohmann::json& description, const std::string& path) {
  ChannelOptions options;
  options.bgr = description["channels"] == "BGR";
  options.mean.fill(description["mean"].get<float>());
  options.scale.fill(description["scale"].get<float>());
  return ToPlanes(ReadPicture(path), options);
}

// A fixture for a folder that contains a trained model and its test data.
class OnnxModelTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "no ../shared/data/onnx/real";
  }
  const std::string folder_ = SharedData(std::string("data/onnx/real/") + GetParam());
  const std::string model_ = folder_ + "/model.onnx";
};

// A picture beside its model: its description, the inputs and the outputs.
struct PictureCase {
  nlohmann::json description;
  InputTensors inputs;
  NamedTensors outputs;
};

std::vector<PictureCase> ReadPictureCases(const std::string& folder) {
  std::vector<PictureCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    const nlohmann::json description = nlohmann::json::parse(file);
    const std::string stem = entry.path().parent_path() / entry.path().stem();
    cases.push_back({description,
                     {{description["input"], PictureOf(description, stem + "_input.png")}},
                     Value(ReadNpz(stem + "_output.npz"))});
  }
  return cases;
}

using OnnxRealModels = OnnxModelTest;

TEST_P(OnnxRealModels, AgreeWithOnnxRuntimeOnPictures) {
  const std::vector<PictureCase> pictures = ReadPictureCases(folder_);
  EXPECT_FALSE(pictures.empty());
  for (const PictureCase& picture : pictures) {
    SCOPED_TRACE(picture.description.dump());
    ExpectOutputs(RunModel(model_, picture.inputs), picture.outputs,
                  picture.description["max_abs_onnxruntime_with_rewrites"].get<double>());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxRealModels,
                         ::testing::Values("squeezenet", "squeezenet_fp16", "ultraface_rfb_320",
                                           "yolox_nano", "yunet_n_320", "ppocr_det"));

// Small pictures of CIFAR-10's classes; the description lists them, with means and deviations.
TEST(OnnxRealModel, ResNet20SeesPicturesOfCifar) {
  const std::string folder = "data/onnx/real/resnet_cifar10";
  if (!HasSharedData(folder)) GTEST_SKIP() << "no ../shared/data/onnx/real";
  std::ifstream file(SharedData(folder) + "/resnet20.json");
  const nlohmann::json description = nlohmann::json::parse(file);
  ChannelOptions options;
  for (size_t c = 0; c < 3; ++c) {
    options.mean[c] = description["mean"][c].get<float>();
    options.scale[c] = 1 / description["std"][c].get<float>();
  }
  for (const auto& [name, test] : description["cases"].items()) {
    SCOPED_TRACE(name);
    const std::vector<double> logits = test["logits"];
    const HostTensor picture =
        ToPlanes(ReadPicture(SharedData(folder) + "/" + name + "_32.png"), options);
    const NamedOutputs outputs =
        RunModel(SharedData(folder) + "/resnet20.onnx", {{description["input"], picture}});
    ASSERT_EQ(outputs.size(), 1u);
    const std::vector<double> got = Values(outputs.begin()->second);
    ASSERT_EQ(got.size(), logits.size());
    // The description has six digits.
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], logits[i], 1e-4 * 30) << i;
    EXPECT_EQ(description["classes"][std::max_element(got.begin(), got.end()) - got.begin()],
              test["seen"][0][0]);
  }
}

using OnnxModelsInHalf = OnnxModelTest;

// The models' outputs in half of the arena of their untiled plans.
TEST_P(OnnxModelsInHalf, SeeTheSame) {
  const std::vector<PictureCase> pictures = ReadPictureCases(folder_);
  ASSERT_FALSE(pictures.empty());
  const InputTensors& inputs = pictures[0].inputs;  // one picture suffices
  PlanRequest request;
  const ModelRun whole = PlanAndRun(model_, inputs, request);
  request.target.budget = MemoryBudget{whole.arena / 2};
  const ModelRun half = PlanAndRun(model_, inputs, request);
  EXPECT_LE(half.arena, whole.arena / 2);
  ExpectOutputs(half.outputs, {whole.outputs.begin(), whole.outputs.end()});
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxModelsInHalf,
                         ::testing::Values("squeezenet", "squeezenet_fp16", "ultraface_rfb_320",
                                           "yolox_nano", "yunet_n_320", "ppocr_det"));

using OnnxModelsWithData = OnnxModelTest;

TEST_P(OnnxModelsWithData, GiveTheirOutputsInHalfOfTheArenaToo) {
  const NodeCase test = Value(ReadNodeCase(folder_));
  PlanRequest request;
  const ModelRun whole = PlanAndRun(test.model, test.inputs, request);
  ExpectOutputs(whole.outputs, test.outputs);
  request.target.budget = MemoryBudget{whole.arena / 2};
  const ModelRun half = PlanAndRun(test.model, test.inputs, request);
  EXPECT_LE(half.arena, whole.arena / 2);
  ExpectOutputs(half.outputs, test.outputs);
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxModelsWithData,
                         ::testing::Values("mnist", "super_resolution"));

// All operators that a model needs and Ashlar lacks are listed in one error.
TEST(OnnxRealModel, StyleCandyIsRefusedWithAllNames) {
  const std::string path = "data/onnx/real/style_candy/model.onnx";
  if (!HasSharedData(path)) GTEST_SKIP() << "no ../shared/data/onnx/real";
  const absl::Status status = ReadOnnx(SharedData(path)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  for (const char* name : {"Affine", "Crop", "ImageScaler"}) {
    EXPECT_TRUE(FailsWith(status, name));
  }
}

}  // namespace
}  // namespace ashlar::testing
