// Opens models, makes and reads plans, and checks the errors of both.
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/library/c/c_program.h"
#include "tests/library/c/library_test.h"
#include "tests/support/shared_data.h"

namespace ashlar::testing {
namespace {

using ModelLibraryTest = LibraryTest;
using PlanLibraryTest = LibraryTest;

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

// Cancels planning at the first call, and keeps the progress that was reported.
int Cancel(void* told, const ashlar_progress* progress) {
  *static_cast<ashlar_progress*>(told) = *progress;
  return 1;
}

TEST_F(ModelLibraryTest, HasNotesAboutValuesThatAreComputedOtherwise) {
  const Model model(SharedData("data/models/half_softmax.onnx"));
  EXPECT_EQ(model.Notes(), std::vector<std::string>{"float16 is computed as Float32"});
  for (int i = 0; i < 2; ++i) model.NewPlan(Threads(1));
  EXPECT_EQ(model.Notes().size(), 1u);
  EXPECT_TRUE(Model(path_).Notes().empty());
  EXPECT_EQ(ashlar_model_note(nullptr, 0), nullptr);
}

// Results of data-dependent sizes along different axes, and one of two such axes.
TEST_F(PlanLibraryTest, HasTheCountsOfSeveralOutputs) {
  const Model model(SharedData("data/models/two_counts.onnx"));
  const Plan plan = model.NewPlan(Threads(1));
  std::vector<std::string> counted;
  for (const ashlar_counted& c : plan.Counted()) {
    counted.push_back(std::string(plan.Outputs()[static_cast<size_t>(c.output)].name) + " " +
                      std::to_string(c.axis) + " " +
                      plan.Outputs()[static_cast<size_t>(c.count)].name);
  }
  EXPECT_EQ(counted, (std::vector<std::string>{"kept 0 kept.count", "places 1 places.count1",
                                               "pairs 0 pairs.count", "pairs 1 pairs.count1"}));
  Session session = plan.NewSession();
  float x[] = {0, 3, -1, -2, 5, -4}, kept[6] = {}, pairs[6][6] = {};
  int64_t places[6] = {}, counts[4] = {-1, -1, -1, -1};
  session.Input(x, 6).Output(kept, 6, "kept").Output(places, 6, "places");
  session.Output(&pairs[0][0], 36, "pairs");
  session.Output(&counts[0], 1, "kept.count").Output(&counts[1], 1, "places.count1");
  session.Output(&counts[2], 1, "pairs.count").Output(&counts[3], 1, "pairs.count1");
  session.Run();
  EXPECT_EQ((std::vector<int64_t>(counts, counts + 4)), (std::vector<int64_t>{2, 3, 2, 3}));
  EXPECT_EQ((std::vector<float>(kept, kept + 2)), (std::vector<float>{3, 5}));
  EXPECT_EQ((std::vector<int64_t>(places, places + 3)), (std::vector<int64_t>{2, 3, 5}));
  EXPECT_EQ((std::vector<float>(pairs[0], pairs[0] + 3)), (std::vector<float>{-3, -6, -12}));
  EXPECT_EQ((std::vector<float>(pairs[1], pairs[1] + 3)), (std::vector<float>{-5, -10, -20}));
  for (float& value : x) value = 1;
  session.Run();
  EXPECT_EQ((std::vector<int64_t>(counts, counts + 4)), (std::vector<int64_t>{6, 0, 6, 0}));
}

// A result whose size depends on data is a buffer and a count beside it.
TEST_F(PlanLibraryTest, HasTheCountsOfItsOutputs) {
  const std::string path = SharedData("data/models/non_zero.onnx");
  for (const bool bounded : {false, true}) {
    const Model model = bounded ? Model(path, {{"found", 2}}) : Model(path);
    const Plan plan = model.NewPlan(Threads(1));
    ASSERT_EQ(plan.Outputs().size(), 4u);
    EXPECT_STREQ(plan.Outputs()[0].name, "y");
    EXPECT_EQ(plan.Outputs()[0].shape[0], bounded ? 2 : 6);
    ASSERT_EQ(plan.Counted().size(), 1u);  // z.count is an output as others
    EXPECT_EQ(plan.Counted()[0].output, 0);
    EXPECT_EQ(plan.Counted()[0].count, 3);
    EXPECT_EQ(plan.Counted()[0].axis, 0);
    Session session = plan.NewSession();
    float x[] = {0, 3, 0, 0, 5, 0};
    int64_t y[6] = {}, size = 0, found = -1;
    float z[6];
    session.Input(x, 6).Output(y, bounded ? 2 : 6, "y").Output(z, 6, "z");
    session.Output(&size, 1, "z.count").Output(&found, 1, plan.Outputs()[3].name);
    session.Run();
    EXPECT_EQ(found, 2);
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[1], 4);
    EXPECT_EQ(size, 6);
    x[1] = x[4] = 0;
    session.Run();
    EXPECT_EQ(found, 0);
    x[0] = x[1] = x[2] = 1;
    if (bounded) {
      EXPECT_NE(StatusOf([&] { session.Run(); }), ASHLAR_OK);
      const std::string message = ashlar_error_message();
      EXPECT_NE(message.find("found"), std::string::npos) << message;
      EXPECT_NE(message.find("more than the 2 that are planned for"), std::string::npos) << message;
    } else {
      session.Run();
      EXPECT_EQ(found, 3);
    }
  }
  EXPECT_EQ(StatusOf([&] {
              Model(path, {{"nobody", 2}}).NewPlan(Threads(1));
            }),
            ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { Model(path, {{"found", -1}}); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { Model(path_, {{"found", 1}}); }), ASHLAR_INVALID_ARGUMENT);
  const std::string bytes = ReadWhole(path);
  const ashlar_bound bound = {"found", 2};
  ashlar_open_options options = Sized<ashlar_open_options>();
  options.bounds = &bound;
  options.num_bounds = 1;
  ashlar_model* model = nullptr;
  ASSERT_EQ(ashlar_model_open_bytes_with(bytes.data(), bytes.size(), &options, &model), ASHLAR_OK);
  ashlar_plan* plan = nullptr;
  ASSERT_EQ(ashlar_model_plan(model, nullptr, &plan), ASHLAR_OK);
  const ashlar_tensor* outputs = nullptr;
  size_t count = 0;
  ASSERT_EQ(ashlar_plan_outputs(plan, &outputs, &count), ASHLAR_OK);
  EXPECT_EQ(outputs[0].shape[0], 2);
  ashlar_plan_release(plan);
  ashlar_model_release(model);
}

TEST_F(ModelLibraryTest, AnInputMayBecomeAConstant) {
  const std::string path = SharedData("data/models/streaming.onnx");
  const double numbers[] = {0.5, 1, 1.5, 2, 2.5, 3};
  ashlar_input_value value = {"memory", numbers, 6};
  ashlar_open_options options = Sized<ashlar_open_options>();
  options.values = &value;
  options.num_values = 1;
  const Model whole(path), known(path, options);
  const size_t inputs = whole.NewPlan(Threads(1)).Inputs().size();
  EXPECT_EQ(known.NewPlan(Threads(1)).Inputs().size(), inputs - 1);
  const ashlar_tensor* declared = nullptr;
  size_t count = 0;
  ASSERT_EQ(ashlar_model_inputs(known.get(), &declared, &count), ASHLAR_OK);
  EXPECT_EQ(count, inputs - 1);
  for (size_t i = 0; i < count; ++i) EXPECT_NE(std::string(declared[i].name), "memory");
  const auto fails = [&](const char* input, size_t size) {
    value = {input, numbers, size};
    return StatusOf([&] { Model(path, options).NewPlan(Threads(1)); });
  };
  EXPECT_EQ(fails("memory", 5), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(fails("nobody", 6), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(StatusOf([&] { Model(path_, options); }), ASHLAR_INVALID_ARGUMENT) << "no ONNX file";
}

// Files in memory are the library's from the call on, so it releases them even if it refuses them.
TEST_F(ModelLibraryTest, ReleasesFilesThatItDoesNotRead) {
  const std::string onnx = ReadWhole(SharedData("data/models/non_zero.onnx"));
  int released = 0;
  ashlar_file file = {"w", &released, sizeof(released),
                      [](void* count) { ++*static_cast<int*>(count); }, &released};
  ashlar_open_options options = Sized<ashlar_open_options>();
  options.files = &file;
  options.num_files = 1;
  ashlar_model* model = nullptr;
  const auto open = [&](const std::string& bytes) {
    return ashlar_model_open_bytes_with(bytes.data(), bytes.size(), &options, &model);
  };
  EXPECT_EQ(open("no model"), ASHLAR_REJECTED_FILE);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(ashlar_model_open_with(path_.c_str(), &options, &model), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(released, 2);
  file.name = nullptr;
  EXPECT_EQ(open(onnx), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(released, 3);
  file.name = "w";
  ASSERT_EQ(open(onnx), ASHLAR_OK) << ashlar_error_message();
  EXPECT_EQ(released, 3);  // plans for other shapes may read it
  ashlar_model_release(model);
  EXPECT_EQ(released, 4);
}

TEST_F(PlanLibraryTest, IsCancelledOrEndsInTime) {
  auto options = Threads(1);
  const ashlar_shape shape = {"data", 4, {64, 3, 16, 16}};  // planning takes seconds
  options.shapes = &shape;
  options.num_shapes = 1;
  options.memory_budget = ASHLAR_LEAST;
  const Model model(path_);
  const auto cancelled = [&](const ashlar_plan_options& given) {
    EXPECT_EQ(StatusOf([&] { model.NewPlan(given); }), ASHLAR_CANCELLED);
    ashlar_training_options training = Sized<ashlar_training_options>();
    training.plan = &given;
    EXPECT_EQ(StatusOf([&] { model.Train(training); }), ASHLAR_CANCELLED);
    EXPECT_EQ(StatusOf([&] { model.Pack(path_ + ".packed.ash", given); }), ASHLAR_CANCELLED);
  };
  ashlar_progress told = {};
  options.progress = Cancel;
  options.progress_context = &told;
  cancelled(options);
  EXPECT_EQ(told.size, sizeof(told));
  EXPECT_GT(told.seconds, 0);
  options.progress = nullptr;
  options.time_limit = 0.03;
  EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_OUT_OF_TIME);
  EXPECT_NE(std::string(ashlar_error_message()).find("0.03 seconds"), std::string::npos);
  options.time_limit = -1;
  EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_INVALID_ARGUMENT);
  // With a callback, the plan and the errors are the same as without.
  options.memory_budget = 0;
  options.time_limit = 0;
  const ashlar_memory plain = model.NewPlan(options).Memory();
  options.time_limit = 1e300;
  EXPECT_EQ(model.NewPlan(options).Memory().arena, plain.arena);
  options.tile = "nonsense";
  EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_INVALID_ARGUMENT);
}

TEST_F(ModelLibraryTest, DeclaresItsTensorsBeforeAPlan) {
  const Model model(path_);
  const Plan plan = model.NewPlan(Threads(1));
  const ashlar_tensor* first = nullptr;
  size_t count = 0;
  ASSERT_EQ(ashlar_model_inputs(model.get(), &first, &count), ASHLAR_OK);
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(first[0].name, plan.Inputs()[0].name);
  EXPECT_EQ(first[0].bytes, plan.Inputs()[0].bytes);
  ASSERT_EQ(ashlar_model_outputs(model.get(), &first, &count), ASHLAR_OK);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(first[0].bytes, plan.Outputs()[0].bytes);
  EXPECT_EQ(ashlar_model_inputs(nullptr, &first, &count), ASHLAR_INVALID_ARGUMENT);
}

TEST_F(ModelLibraryTest, RunsFromCAsFromCpp) {
  const std::vector<float> input = InputOf(1);
  std::vector<float> output(kOutputs);
  ASSERT_EQ(RunModelInC(path_.c_str(), input.data(), input.size() * sizeof(float), output.data(),
                        output.size() * sizeof(float)),
            ASHLAR_OK)
      << ashlar_error_message();
  Session session = Model(path_).NewPlan(Threads(1)).NewSession();
  EXPECT_EQ(output, RunOnce(session, input));
  double sum = 0;  // of a softmax, so 1
  for (const float probability : output) sum += probability;
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(ModelLibraryTest, IsTheSameFromMemory) {
  std::ifstream file(path_, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const std::unique_ptr<void, void (*)(void*)> block(
      std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64), std::free);
  std::memcpy(block.get(), bytes.data(), bytes.size());
  const Model from_memory(block.get(), bytes.size());
  Session session = from_memory.NewPlan(Threads(1)).NewSession();
  Session from_file = Model(path_).NewPlan(Threads(1)).NewSession();
  EXPECT_EQ(RunOnce(session, InputOf(2)), RunOnce(from_file, InputOf(2)));
  EXPECT_EQ(StatusOf([&] { Model(static_cast<char*>(block.get()) + 4, 64); }),
            ASHLAR_REJECTED_FILE);
}

TEST_F(ModelLibraryTest, TensorFlowLiteIsReadFromAFileAndFromMemory) {
  const std::string path = SharedData("data/tflite/conv_3x3_same.int8.tflite");
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const std::vector<int8_t> x(9 * 11 * 5, 3);
  std::vector<std::vector<int8_t>> results;
  const Model of_file(path), of_memory(bytes.data(), bytes.size());
  for (const Model* model : {&of_file, &of_memory}) {
    Session session = model->NewPlan(Threads(1)).NewSession();
    std::vector<int8_t> y(9 * 11 * 8);
    session.Input(x.data(), x.size()).Output(y.data(), y.size()).Run();
    results.push_back(std::move(y));
    auto options = Threads(1);
    const ashlar_shape shape = {"x", 4, {2, 9, 11, 5}};
    options.shapes = &shape;
    options.num_shapes = 1;
    EXPECT_EQ(model->NewPlan(options).Memory().input, 2 * 9 * 11 * 5);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_NE(results[0], std::vector<int8_t>(results[0].size()));
}

// A field of a protobuf message that holds fewer than 128 bytes.
std::string Field(int number, const std::string& content) {
  constexpr int kLengthDelimited = 2;
  std::string field = {static_cast<char>(number << 3 | kLengthDelimited),
                       static_cast<char>(content.size())};
  return field + content;
}

// An ONNX model of one Relu, for {n,w}.
std::string OnnxRelu() {
  const std::string shape = Field(1, Field(2, "n")) + Field(1, Field(2, "w"));
  const std::string type = Field(2, Field(1, "\x08\x01" + Field(2, shape)));
  const std::string node = Field(1, "x") + Field(2, "y") + Field(4, "Relu");
  const std::string graph = Field(1, node) + Field(2, "g") + Field(11, Field(1, "x") + type) +
                            Field(12, Field(1, "y") + type);
  return "\x08\x08" + Field(7, graph) + Field(8, "\x10\x0d");
}

// The file was read for each of the shapes again, and a pipe was empty then.
TEST_F(ModelLibraryTest, OnnxFromAPipeIsPlannedForAnyShape) {
  const std::string pipe = path_ + ".fifo";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << OnnxRelu(); });
  const Model model(pipe);
  writer.join();
  std::remove(pipe.c_str());
  EXPECT_EQ(StatusOf([&] { model.NewPlan(Threads(1)); }), ASHLAR_INVALID_ARGUMENT);
  const ashlar_tensor* first = nullptr;
  size_t count = 0;
  ASSERT_EQ(ashlar_model_inputs(model.get(), &first, &count), ASHLAR_OK) << ashlar_error_message();
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(first[0].rank, 2);
  EXPECT_EQ(first[0].shape[1], -1);
  for (const int64_t batch : {3, 5}) {
    auto options = Threads(1);
    const ashlar_shape shape = {"x", 2, {batch, 4}};
    options.shapes = &shape;
    options.num_shapes = 1;
    EXPECT_EQ(model.NewPlan(options).Memory().input, batch * 4 * 4);
  }
}

TEST_F(ModelLibraryTest, RejectsFilesThatAreNone) {
  const std::string text = path_ + ".txt";
  std::ofstream(text) << "no model";
  for (const std::string& path : {text, path_ + ".none", std::string("/"), std::string("")}) {
    EXPECT_EQ(StatusOf([&] { Model model(path); }), ASHLAR_REJECTED_FILE) << path;
    EXPECT_NE(std::string(ashlar_error_message()), "") << path;
  }
  std::remove(text.c_str());
}

// Regression: names got into messages unescaped, and programs write these to logs and terminals.
TEST_F(ModelLibraryTest, MessagesArePrintable) {
  ashlar_model* model = nullptr;
  ASSERT_NE(ashlar_model_open("no\x1b[31m\nerror: such\xff.ash", &model), ASHLAR_OK);
  const std::string message = ashlar_error_message();
  EXPECT_NE(message.find("no\\x1b[31m\\nerror: such\\xff.ash"), std::string::npos) << message;
}

TEST_F(ModelLibraryTest, RejectsAFlippedByteOfWeights) {
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(-100, std::ios::end);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(-100, std::ios::end);
  file.put(byte);
  file.close();
  EXPECT_EQ(StatusOf([&] { Model model(path_); }), ASHLAR_REJECTED_FILE);
}

TEST_F(PlanLibraryTest, SaysWhatItWillTake) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  const ashlar_memory memory = plan.Memory();
  EXPECT_GT(memory.arena, 0);
  EXPECT_GE(memory.arena, memory.lower_bound);
  EXPECT_EQ(memory.arena_alignment, 64);
  EXPECT_EQ(memory.input, kInputs * 4);
  EXPECT_EQ(memory.output, kOutputs * 4);
  EXPECT_GT(memory.weights, 0);
  EXPECT_EQ(memory.weights_in_file, 0);
  EXPECT_GT(memory.predicted_ms, 0);
  ASSERT_EQ(plan.Inputs().size(), 1u);
  EXPECT_STREQ(plan.Inputs()[0].name, "data");
  EXPECT_EQ(plan.Inputs()[0].rank, 4);
  EXPECT_EQ(plan.Inputs()[0].shape[2], 16);
  EXPECT_EQ(plan.Inputs()[0].dtype, ASHLAR_F32);
  ASSERT_EQ(plan.Outputs().size(), 1u);
  EXPECT_STREQ(plan.Outputs()[0].name, "prob");

  int64_t highest = 0, live = 0;
  for (const ashlar_buffer& buffer : plan.Buffers()) {
    EXPECT_LT(buffer.lower, buffer.upper);
    highest = std::max(highest, buffer.offset + buffer.size);
  }
  EXPECT_EQ(highest, memory.arena);
  for (const ashlar_step& step : plan.Steps()) live = std::max(live, step.live_bytes);
  EXPECT_EQ(live, memory.lower_bound);
  EXPECT_EQ(plan.Steps()[memory.bottleneck_step].live_bytes, live);
}

TEST_F(PlanLibraryTest, KeepsABudget) {
  const Model model(path_);
  auto options = Threads(1);
  options.memory_budget = ASHLAR_LEAST;
  const int64_t least = model.NewPlan(options).Memory().arena;
  EXPECT_LT(least, model.NewPlan(Threads(1)).Memory().arena);
  options.memory_budget = least;
  EXPECT_LE(model.NewPlan(options).Memory().arena, least);
  options.memory_budget = least - 1;
  EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_DOES_NOT_FIT);
  EXPECT_EQ(ashlar_error_bytes(), least);
  const std::string message = ashlar_error_message();
  EXPECT_NE(message.find(path_ + ": no plan fits the memory budget of"), std::string::npos)
      << message;
}

// Regression: a plan did not say which options repeat it, and options lacked the passes.
TEST_F(PlanLibraryTest, ChoicesRepeatAPlan) {
  const Model model(path_);
  for (const int64_t budget : {int64_t{0}, int64_t{ASHLAR_LEAST}}) {
    for (const char* passes : {"", "fold_constants,fuse"}) {
      auto options = Threads(1);
      options.memory_budget = budget;
      options.passes = passes;
      options.more = "align=256";
      const Plan plan = model.NewPlan(options);
      const ashlar_choices choices = plan.Choices();
      auto again = Threads(1);
      again.tile = choices.tile;
      again.passes = choices.passes;
      again.prefer_memory = choices.prefer_memory;
      again.more = choices.more;
      EXPECT_EQ(model.NewPlan(again).Memory().arena, plan.Memory().arena) << choices.tile;
      EXPECT_EQ(plan.Memory().total_without_budget > 0, budget != 0);
      EXPECT_GT(plan.Memory().total, plan.Memory().arena + plan.Memory().weights);
    }
  }
}

TEST_F(PlanLibraryTest, AStoredPlanIsUsedWithoutASearch) {
  const Model model(path_);
  auto options = Threads(1);
  options.memory_budget = ASHLAR_LEAST;
  const Plan plan = model.NewPlan(options);
  const std::string file = path_ + ".plan";
  plan.Save(model, file);
  auto stored = Threads(1);
  stored.plan_file = file.c_str();
  const Plan again = model.NewPlan(stored);
  EXPECT_EQ(again.Memory().arena, plan.Memory().arena);
  ASSERT_EQ(again.Buffers().size(), plan.Buffers().size());
  for (size_t i = 0; i < plan.Buffers().size(); ++i) {
    EXPECT_EQ(again.Buffers()[i].offset, plan.Buffers()[i].offset);
  }
  // Options that the file settles may not be set beside it.
  const auto refusal = [&](void (*change)(ashlar_plan_options&)) {
    auto changed = stored;
    change(changed);
    EXPECT_EQ(StatusOf([&] { model.NewPlan(changed); }), ASHLAR_INVALID_ARGUMENT);
    return std::string(ashlar_error_message());
  };
  const std::string exact = refusal([](ashlar_plan_options& o) { o.exact = 1; });
  EXPECT_NE(exact.find("settles exact"), std::string::npos) << exact;
  const std::string threads = refusal([](ashlar_plan_options& o) { o.threads = 2; });
  EXPECT_NE(threads.find("threads is 2; the plan"), std::string::npos) << threads;
  // Other files.
  stored.plan_file = path_.c_str();
  EXPECT_EQ(StatusOf([&] { model.NewPlan(stored); }), ASHLAR_REJECTED_FILE);
}

// Regression: choices left out all options but tiles, passes and kernels.
TEST_F(PlanLibraryTest, ChoicesHaveAllOptionsThatShapeThePlan) {
  const Model model(path_);
  for (const char* more : {"", "align=256", "inplace=off", "align=4096 inplace=off",
                           "planner=naive", "exact=on scheduler=megengine"}) {
    SCOPED_TRACE(more);
    auto options = Threads(1);
    options.more = more;
    options.exact = std::string(more).find("exact") != std::string::npos;  // equal in both places
    const Plan plan = model.NewPlan(options);
    const ashlar_choices choices = plan.Choices();
    EXPECT_STREQ(choices.more, more);
    auto again = Threads(1);
    again.tile = choices.tile;
    again.more = choices.more;
    EXPECT_EQ(model.NewPlan(again).Export("csv"), plan.Export("csv"));
  }
}

TEST_F(PlanLibraryTest, TakesEveryOptionOfTheCommand) {
  const Model model(path_);
  const auto arena = [&](const char* more) {
    auto options = Threads(1);
    options.more = more;
    return model.NewPlan(options).Memory().arena;
  };
  const int64_t plain = arena(nullptr);
  EXPECT_EQ(arena(""), plain);
  EXPECT_EQ(arena("planner=auto scheduler=memory inplace=on plan_time=250ms"), plain);
  EXPECT_GT(arena("planner=naive"), plain);
  EXPECT_GT(arena("inplace=off passes=none"), arena("passes=none"));
  EXPECT_LT(arena("memory-budget=min"), plain);
  EXPECT_EQ(arena("align=4096") % 4096, 0);
  const std::pair<const char*, const char*> kRefused[] = {
      {"planer=naive", "no option 'planer'; the nearest is planner"},
      {"planner=best", "planner: unknown planner 'best'"},
      {"passes=none", "passes is none, and in a field of its own it is all"},
      {"tile=0-1:rows2 memory_budget=min", "memory_budget excludes tile"},
      {"total-budget=9MB", "total-budget"},
      {"max_extra_flops=0.1", "max_extra_flops requires memory_budget"},
      {"planner=naive memory-budget=min", "planner naive with memory-budget: naive lets no two"},
      {"weights-budget=1x", "weights-budget: "},
      {"weights_budget=1x", "weights_budget: "},
      {"allow_tf32", "allow_tf32 has no effect: cpu0:0 computes in fp32 only"},
  };
  for (const auto& [more, message] : kRefused) {
    auto options = Threads(1);
    options.more = more;
    options.passes = "all";
    EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_INVALID_ARGUMENT) << more;
    EXPECT_NE(std::string(ashlar_error_message()).find(message), std::string::npos)
        << ashlar_error_message();
  }
}

TEST_F(PlanLibraryTest, StructsAreSetUpInCpp) {
  ashlar_plan_options options = ASHLAR_INIT(ashlar_plan_options);
  EXPECT_EQ(options.size, sizeof(options));
  EXPECT_EQ(options.threads, 0);
}

TEST_F(PlanLibraryTest, TakesOtherShapes) {
  const Model model(path_);
  auto options = Threads(1);
  ashlar_shape shape = {"data", 4, {5, 3, 16, 16}};
  options.shapes = &shape;
  options.num_shapes = 1;
  EXPECT_EQ(model.NewPlan(options).Memory().input, 5 * kInputs * 4);
  shape.input = "dat";
  EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("the model has: data"), std::string::npos);
}

TEST_F(PlanLibraryTest, RefusesOptionsByName) {
  struct Case {
    const char* message;
    void (*set)(ashlar_plan_options&);
  };
  static const ashlar_shape kDeep = {"data", 9, {}};
  const Case cases[] = {
      {"threads", [](ashlar_plan_options& o) { o.threads = -1; }},
      {"memory_budget", [](ashlar_plan_options& o) { o.memory_budget = -2; }},
      {"max_extra_flops", [](ashlar_plan_options& o) { o.max_extra_flops = 0.1; }},
      {"precision", [](ashlar_plan_options& o) { o.precision = "fp8"; }},
      {"xpu", [](ashlar_plan_options& o) { o.device = "xpu0:0"; }},
      {"stripes", [](ashlar_plan_options& o) { o.tile = "0-3:stripes"; }},
      {"no_pass", [](ashlar_plan_options& o) { o.passes = "no_pass"; }},
      {"shapes", [](ashlar_plan_options& o) { o.num_shapes = 1; }},
      {"rank", [](ashlar_plan_options& o) { o.num_shapes = 1, o.shapes = &kDeep; }},
      {"size", [](ashlar_plan_options& o) { o.size = 0; }},
  };
  const Model model(path_);
  for (const Case& c : cases) {
    auto options = Threads(1);
    c.set(options);
    EXPECT_EQ(StatusOf([&] { model.NewPlan(options); }), ASHLAR_INVALID_ARGUMENT) << c.message;
    EXPECT_NE(std::string(ashlar_error_message()).find(c.message), std::string::npos)
        << ashlar_error_message();
  }
}

TEST_F(PlanLibraryTest, StructsOfOlderProgramsAreRead) {
  const Model model(path_);
  auto options = Threads(1);
  options.prefer_memory = 1;
  const int64_t with = model.NewPlan(options).Memory().weights;
  options.size = offsetof(ashlar_plan_options, prefer_memory);  // compiled before the field existed
  const Plan plan = model.NewPlan(options);
  EXPECT_EQ(plan.Memory().weights, model.NewPlan(Threads(1)).Memory().weights);
  EXPECT_LE(with, plan.Memory().weights);
  ashlar_memory memory = {};
  memory.size = offsetof(ashlar_memory, input);
  memory.input = -7;
  ASSERT_EQ(ashlar_plan_memory(plan.get(), &memory), ASHLAR_OK);
  EXPECT_EQ(memory.arena, plan.Memory().arena);
  EXPECT_EQ(memory.input, -7);  // beyond its end
}

TEST_F(PlanLibraryTest, IsExported) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  EXPECT_EQ(plan.Export("csv").substr(0, 3), "id,");
  EXPECT_NE(plan.Export("svg").find("<svg"), std::string::npos);
  const std::string document = plan.Export("json");
  EXPECT_EQ(document.substr(0, 1), "{");
  EXPECT_NE(plan.Export("html").find("<html"), std::string::npos);
  EXPECT_EQ(StatusOf([&] { plan.Export("png"); }), ASHLAR_INVALID_ARGUMENT);
  const auto stop = [](void*, const void*, size_t) { return 1; };
  EXPECT_EQ(ashlar_plan_export(plan.get(), "csv", stop, nullptr), ASHLAR_INVALID_ARGUMENT);
}

TEST_F(PlanLibraryTest, IsWrittenAsC) {
  const Model model(path_);
  auto options = Threads(1);
  options.device = "mcu0:0";
  const Plan plan = model.NewPlan(options);
  const std::string program = plan.Export("c:net");
  for (const char* const part :
       {"#define NET_ARENA_BYTES", "int net_run(void* arena, ", "#ifdef NET_IMPLEMENTATION",
        "net_ashlar_conv", "int main(void)"}) {
    EXPECT_NE(program.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(program.find("#include \""), std::string::npos);  // it is one file
  // Types come before their first use.
  EXPECT_LT(program.find("} ashlar_conv_shape;"), program.find("static const ashlar_conv_shape "));
  EXPECT_NE(plan.Export("c").find("_run(void* arena, "), std::string::npos);
  for (const char* const format : {"c:", "c:1st", "c:a b"}) {
    EXPECT_EQ(StatusOf([&] { plan.Export(format); }), ASHLAR_INVALID_ARGUMENT) << format;
  }
  EXPECT_EQ(StatusOf([&] { model.NewPlan(Threads(1)).Export("c"); }), ASHLAR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(ashlar_error_message()).find("mcu0:0"), std::string::npos);
}

TEST_F(PlanLibraryTest, IsSolvedAgainToTheSameArena) {
  const Plan plan = Model(path_).NewPlan(Threads(1));
  std::vector<ashlar_buffer> buffers(plan.Buffers().begin(), plan.Buffers().end());
  for (ashlar_buffer& buffer : buffers) buffer.offset = -1;
  const ashlar_solution solution = Solve(buffers);
  EXPECT_EQ(solution.arena, plan.Memory().arena);
  EXPECT_EQ(solution.lower_bound, plan.Memory().lower_bound);
  for (const ashlar_buffer& buffer : buffers) EXPECT_GE(buffer.offset, 0);

  auto options = Sized<ashlar_solve_options>();
  options.capacity = solution.lower_bound - 1;
  std::vector<ashlar_buffer> untouched(plan.Buffers().begin(), plan.Buffers().end());
  untouched[0].offset = -1;
  EXPECT_EQ(StatusOf([&] { Solve(untouched, options); }), ASHLAR_DOES_NOT_FIT);
  EXPECT_EQ(ashlar_error_bytes(), solution.arena);
  EXPECT_EQ(untouched[0].offset, -1);
}

TEST(SolveLibraryTest, RefusesBuffersThatAreNone) {
  struct Case {
    const char* what;
    ashlar_buffer buffer;
  };
  const Case cases[] = {
      {"an empty lifetime", {0, 3, 3, 64, 0, -1, -1, 0, nullptr}},
      {"a negative size", {0, 0, 1, -1, 0, -1, -1, 0, nullptr}},
      {"an alignment that is no power of two", {0, 0, 1, 8, 3, -1, -1, 0, nullptr}},
      {"inside of none", {0, 0, 1, 8, 0, -1, 7, 0, nullptr}},
  };
  for (const Case& c : cases) {
    std::vector<ashlar_buffer> buffers = {c.buffer};
    EXPECT_EQ(StatusOf([&] { Solve(buffers); }), ASHLAR_INVALID_ARGUMENT) << c.what;
  }
  std::vector<ashlar_buffer> none;
  EXPECT_EQ(Solve(none).arena, 0);
}

TEST_F(PlanLibraryTest, NullsAreRefused) {
  EXPECT_EQ(ashlar_model_open(nullptr, nullptr), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(ashlar_model_open(path_.c_str(), nullptr), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(ashlar_model_plan(nullptr, nullptr, nullptr), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(ashlar_plan_session(nullptr, nullptr, nullptr), ASHLAR_INVALID_ARGUMENT);
  EXPECT_EQ(ashlar_run(nullptr), ASHLAR_INVALID_ARGUMENT);
  ashlar_model_release(nullptr);
  ashlar_plan_release(nullptr);
  ashlar_session_release(nullptr);
}

}  // namespace
}  // namespace ashlar::testing
