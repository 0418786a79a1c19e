// The Triton backend on a stand-in for the server (host.h): requests, batches, configurations.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "tests/library/c/library_test.h"
#include "tests/library/triton/host.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {
namespace {

using triton::testing::Taken;
using Json = nlohmann::json;

// A model, served the way that the server does it.
class BackendTest : public LibraryTest {
 protected:
  void SetUp() override {
    LibraryTest::SetUp();
    model_.location = path_ + ".repository";
    std::filesystem::create_directories(model_.location + "/1");
    std::filesystem::copy_file(path_, model_.location + "/1/model.ash",
                               std::filesystem::copy_options::overwrite_existing);
    ASSERT_EQ(Taken(TRITONBACKEND_Initialize(nullptr)), "");
    output_ = Model(path_).NewPlan().Outputs()[0].name;
  }
  void TearDown() override {
    if (instance_.state != nullptr) {
      EXPECT_EQ(Taken(TRITONBACKEND_ModelInstanceFinalize(&instance_)), "");
    }
    if (model_.state != nullptr) {
      EXPECT_EQ(Taken(TRITONBACKEND_ModelFinalize(&model_)), "");
    }
    std::filesystem::remove_all(model_.location);
    LibraryTest::TearDown();
  }

  std::string Serve(const Json& config) {
    model_.config = config.dump();
    std::string error = Taken(TRITONBACKEND_ModelInitialize(&model_));
    if (!error.empty()) return error;
    instance_.model = &model_;
    return Taken(TRITONBACKEND_ModelInstanceInitialize(&instance_));
  }

  // Returns a request with the rows of the seeds, in pieces of so many floats.
  TRITONBACKEND_Request RequestOf(const std::vector<int>& seeds, size_t piece = SIZE_MAX) const {
    std::vector<float> all;
    for (const int seed : seeds) {
      const std::vector<float> row = InputOf(seed);
      all.insert(all.end(), row.begin(), row.end());
    }
    TRITONBACKEND_Request request;
    TRITONBACKEND_Input& input = request.inputs["data"];
    input.shape = {static_cast<int64_t>(seeds.size()), 3, 16, 16};
    for (size_t begin = 0; begin < all.size(); begin += std::min(piece, all.size())) {
      const size_t end = begin + std::min(piece, all.size() - begin);
      input.buffers.emplace_back(all.begin() + static_cast<int64_t>(begin),
                                 all.begin() + static_cast<int64_t>(end));
    }
    request.wanted = {output_};
    return request;
  }

  void Execute(std::vector<TRITONBACKEND_Request>& requests) {
    std::vector<TRITONBACKEND_Request*> given;
    for (TRITONBACKEND_Request& request : requests) given.push_back(&request);
    ASSERT_EQ(Taken(TRITONBACKEND_ModelInstanceExecute(&instance_, given.data(),
                                                       static_cast<uint32_t>(given.size()))),
              "");
    for (const TRITONBACKEND_Request& request : requests) {
      EXPECT_EQ(request.response.sent, 1);
      EXPECT_EQ(request.released, 1);
    }
  }

  void ExpectRows(const TRITONBACKEND_Request& request, const std::vector<int>& seeds) {
    ASSERT_EQ(request.response.error, "");
    ASSERT_EQ(request.response.outputs.size(), 1u);
    const TRITONBACKEND_Output& output = request.response.outputs.front();
    EXPECT_EQ(output.shape[0], static_cast<int64_t>(seeds.size()));
    ASSERT_EQ(output.data.size(), seeds.size() * kOutputs);
    Session alone = Model(path_).NewPlan(Threads(1)).NewSession();
    for (size_t row = 0; row < seeds.size(); ++row) {
      const std::vector<float> expected = RunOnce(alone, InputOf(seeds[row]));
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(output.data[row * kOutputs + i], expected[i], 1e-5) << row << ", " << i;
      }
    }
  }

  TRITONBACKEND_Model model_;
  TRITONBACKEND_ModelInstance instance_;
  std::string output_;
};

TEST_F(BackendTest, RequestsRunTogetherInTheLeastBatchThatHoldsThem) {
  ASSERT_EQ(Serve({{"max_batch_size", 4}}), "");
  // Requests in place, in pieces, and padded. 1 + 2 rows fit together; 4 fit, and 3.
  const std::vector<std::vector<int>> seeds = {{1}, {2, 3}, {4, 5, 6, 7}, {8, 9, 10}};
  std::vector<TRITONBACKEND_Request> requests;
  for (size_t i = 0; i < seeds.size(); ++i) {
    requests.push_back(RequestOf(seeds[i], i % 2 == 0 ? SIZE_MAX : 100));
  }
  Execute(requests);
  for (size_t i = 0; i < seeds.size(); ++i) ExpectRows(requests[i], seeds[i]);
  EXPECT_EQ(instance_.batches, (std::vector<uint64_t>{3, 4, 3}));
  EXPECT_EQ(instance_.succeeded, 4);
}

TEST_F(BackendTest, OneRequestARunWithoutBatches) {
  ASSERT_EQ(Serve({{"max_batch_size", 0}, {"parameters", {{"budget", {{"string_value", "min"}}}}}}),
            "");
  std::vector<TRITONBACKEND_Request> requests = {RequestOf({1}), RequestOf({2}, 7), RequestOf({3})};
  requests[2].wanted.clear();  // nobody wants the result
  Execute(requests);
  ExpectRows(requests[0], {1});
  ExpectRows(requests[1], {2});
  EXPECT_TRUE(requests[2].response.outputs.empty());
  EXPECT_EQ(instance_.batches, (std::vector<uint64_t>{1, 1, 1}));
}

// Requests of any declared size, each at its own point; others are refused with the declared sizes.
TEST_F(BackendTest, TheShapesOfARequestChooseThePoint) {
  const char* const sizes = "data={1,3}x3x{16,24}x16";
  const Json config = {{"max_batch_size", 0},
                       {"parameters", {{"shape", {{"string_value", sizes}}}}}};
  ASSERT_EQ(Serve(config), "");
  EXPECT_EQ(Json::parse(model_.config)["input"][0]["dims"], (Json{-1, 3, -1, 16}));
  const Model model(path_);
  std::vector<TRITONBACKEND_Request> requests;
  std::vector<std::vector<float>> expected;
  for (const auto& [rows, height] :
       std::vector<std::pair<int, int>>{{1, 16}, {3, 24}, {1, 24}, {3, 16}, {1, 16}}) {
    TRITONBACKEND_Request& request = requests.emplace_back(RequestOf({1}));
    TRITONBACKEND_Input& input = request.inputs["data"];
    input.shape = {rows, 3, height, 16};
    std::vector<float> x(static_cast<size_t>(rows * 3 * height * 16));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000) / 1000;
    input.buffers = {x};
    auto options = Threads(1);
    ashlar_shape shape = {"data", 4, {rows, 3, height, 16}};
    options.shapes = &shape;
    options.num_shapes = 1;
    Session alone = model.NewPlan(options).NewSession();
    std::vector<float>& y = expected.emplace_back(static_cast<size_t>(rows) * kOutputs);
    alone.Input(x.data(), x.size()).Output(y.data(), y.size()).Run();
  }
  Execute(requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(requests[i].response.error, "") << i;
    const std::vector<float>& data = requests[i].response.outputs.front().data;
    ASSERT_EQ(data.size(), expected[i].size());
    for (size_t k = 0; k < data.size(); ++k) EXPECT_NEAR(data[k], expected[i][k], 1e-5) << i;
  }
  EXPECT_EQ(instance_.batches, std::vector<uint64_t>(5, 1));
  std::vector<TRITONBACKEND_Request> wrong = {RequestOf({1}), RequestOf({1, 2}), RequestOf({1})};
  wrong[2].inputs["data"].shape = {1, 3, 16};
  Execute(wrong);
  ExpectRows(wrong[0], {1});
  for (const size_t i : {1, 2}) {
    EXPECT_NE(wrong[i].response.error.find(sizes), std::string::npos) << wrong[i].response.error;
  }
}

Json WithStates(Json config) {
  config["parameters"]["states"]["string_value"] = "sum=a";
  return config;
}

// An instance has one sequence at a time. Its sums begin anew with the next, whose first request
// may be wrong.
TEST_F(BackendTest, StatesPassFromRequestToRequestOfASequence) {
  GraphMaker maker;
  const int x = maker.Input("x", {4}), a = maker.Input("a", {4});
  const int sum = maker.Add<Elemwise>({ScalarFunction::kAdd}, {a, x}, "sum");
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kSub}, {x, sum}, "y"));
  maker.Output(sum);
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), model_.location + "/1/model.ash")));
  ASSERT_EQ(Serve(WithStates({{"sequence_batching", {{"direct", Json::object()}}}})), "");
  EXPECT_EQ(Json::parse(model_.config)["input"].size(), 1u);
  struct Step {
    bool starts;
    float x, y;
    bool wrong = false;
  };
  const Step steps[] = {{true, 1, 0},   {false, 2, -1},     {false, 5, -3}, {true, 4, 0},
                        {false, 1, -4}, {true, 7, 0, true}, {false, 2, 0}};
  std::vector<TRITONBACKEND_Request> requests;
  for (const Step& step : steps) {
    TRITONBACKEND_Request& request = requests.emplace_back();
    request.flags = step.starts ? TRITONSERVER_REQUEST_FLAG_SEQUENCE_START : 0;
    request.inputs["x"].shape = {step.wrong ? 3 : 4};
    request.inputs["x"].buffers = {std::vector<float>(4, step.x)};
    request.wanted = {"y"};
  }
  Execute(requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    const TRITONBACKEND_Response& response = requests[i].response;
    EXPECT_EQ(response.error.empty(), !steps[i].wrong) << i << ": " << response.error;
    if (steps[i].wrong) continue;
    EXPECT_EQ(response.outputs.front().data, std::vector<float>(4, steps[i].y)) << i;
  }
}

TEST_F(BackendTest, TheServerIsToldInputsAndOutputs) {
  for (const int64_t most : {0, 2}) {
    ASSERT_EQ(Serve({{"max_batch_size", most}}), "");
    const Json config = Json::parse(model_.config);
    const Json dims = most == 0 ? Json{1, 3, 16, 16} : Json{3, 16, 16};
    EXPECT_EQ(config["input"],
              (Json::array({{{"name", "data"}, {"data_type", "TYPE_FP32"}, {"dims", dims}}})));
    EXPECT_EQ(config["output"][0]["name"], output_);
    TearDown();
    instance_ = {};
    model_ = {};
    SetUp();
  }
  const Json own = {{"max_batch_size", 2}, {"input", {{{"name", "mine"}}}}};
  model_.complete = false;
  ASSERT_EQ(Serve(own), "");
  EXPECT_EQ(Json::parse(model_.config), own);
}

TEST_F(BackendTest, ARequestThatIsWrongSpoilsNoOther) {
  ASSERT_EQ(Serve({{"max_batch_size", 2}}), "");
  struct Case {
    const char* message;
    void (*spoil)(TRITONBACKEND_Request&);
  };
  const Case cases[] = {
      {"data", [](auto& request) { request.inputs.clear(); }},
      {"got type 8", [](auto& r) { r.inputs["data"].type = TRITONSERVER_TYPE_INT32; }},
      {"[1,3,16,15]",
       [](auto& r) {
         r.inputs["data"].shape = {1, 3, 16, 15};
       }},
      {"[1,3]",
       [](auto& r) {
         r.inputs["data"].shape = {1, 3};
       }},
      {"[3,3,16,16]", [](auto& r) { r.inputs["data"].shape[0] = 3; }},
      {"bytes", [](auto& r) { r.inputs["data"].buffers[0].pop_back(); }},
      {"none", [](auto& request) { request.wanted = {"none"}; }},
      {"GPU", [](auto& r) { r.inputs["data"].memory = TRITONSERVER_MEMORY_GPU; }},
  };
  for (const Case& one : cases) {
    std::vector<TRITONBACKEND_Request> requests = {RequestOf({1, 2}), RequestOf({3, 4}),
                                                   RequestOf({5, 6})};
    one.spoil(requests[1]);
    Execute(requests);
    ExpectRows(requests[0], {1, 2});
    EXPECT_NE(requests[1].response.error.find(one.message), std::string::npos)
        << one.message << ": " << requests[1].response.error;
    ExpectRows(requests[2], {5, 6});
  }
}

TEST_F(BackendTest, ConfigurationsThatWillNotDoSayWhy) {
  const auto with = [](const char* name, const char* value) {
    return Json{{"parameters", {{name, {{"string_value", value}}}}}};
  };
  Json sizes = with("batch", "1,8");
  sizes["max_batch_size"] = 2;
  Json not_sizes = with("batch", "1,,2");
  not_sizes["max_batch_size"] = 2;
  Json both = with("shape", "data={1,2}x3x16x16");
  both["max_batch_size"] = 2;
  const Json sequences = {{"sequence_batching", {{"direct", Json::object()}}}};
  Json batches_of_sequences = sequences;
  batches_of_sequences["max_batch_size"] = 2;
  Json sizes_of_sequences = with("shape", "data={1,2}x3x16x16");
  sizes_of_sequences.update(sequences);
  const std::pair<Json, const char*> cases[] = {
      {WithStates({}), "sequence_batching"},
      {WithStates({{"sequence_batching", {{"oldest", Json::object()}}}}), "direct"},
      {WithStates(batches_of_sequences), "max_batch_size"},
      {WithStates(sizes_of_sequences), "shape"},
      {WithStates(sequences), "sum"},
      {both, "max_batch_size"},
      {with("shape", "data={}x3x16x16"), "no members"},
      {with("shape", "none={1,2}x3"), "none"},
      {with("luck", "1"), "luck"},
      {with("budget", "1000"), "smallest"},
      {with("budget", "3MB"), "budget"},
      {with("threads", "0"), "threads"},
      {with("prefer", "luck"), "prefer"},
      {with("tile", "some"), ""},
      {with("batch", "2"), "max_batch"},
      {sizes, "max_batch"},
      {not_sizes, "batch"},
      {{{"default_model_filename", "none.ash"}}, "none.ash"},
      {{{"max_batch_size", "two"}}, "two"}};
  for (const auto& [config, message] : cases) {
    const std::string error = Serve(config);
    EXPECT_NE(error, "") << config;
    if (config.contains("max_batch_size") && config["max_batch_size"] == "two") continue;
    EXPECT_NE(error.find(message), std::string::npos) << config << ": " << error;
    EXPECT_EQ(model_.state, nullptr);
  }
}

}  // namespace
}  // namespace ashlar::testing
