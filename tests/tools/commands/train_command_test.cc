// ashlar train: its output, and that a killed training resumes without a difference.
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "opr/matrix_mul.h"
#include "opr/reshape.h"
#include "opr/type_cvt.h"
#include "serialization/native/writer.h"
#include "tests/support/command/command_process.h"
#include "tests/support/command/digits.h"
#include "tests/support/graph_maker.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_data.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

// Seeded 8 x 8 pictures, whose class is their bright region, and a net that can learn it.
class TrainCommandTest : public CommandTest {
 protected:
  static constexpr int64_t kCount = 100;

  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    for (const char* kind : {"bn", "plain"}) {
      ASSERT_TRUE(IsOk(WriteModel(DigitsNet(kind, nullptr, 4), Path(absl::StrCat(kind, ".ash")))));
    }
    ASSERT_TRUE(IsOk(WriteNpz(Spots(1), Path("data.npz"))));
    ASSERT_TRUE(IsOk(WriteNpz(Spots(2), Path("more.npz"))));
  }

  static NamedTensors Spots(int seed, const Shape& image = {8, 8}) {
    std::mt19937 random(static_cast<unsigned>(seed));
    Shape shape = {kCount};
    for (int axis = 0; axis < image.rank(); ++axis) shape.push_back(image[axis]);
    HostTensor images = HostTensor::Zeros(DType::kUint8, shape);
    HostTensor labels = HostTensor::Zeros(DType::kInt64, {kCount});
    const int64_t pixels = image.num_elements();
    for (int64_t i = 0; i < kCount; ++i) {
      const int64_t label = static_cast<int64_t>(random() % 8);
      for (int64_t p = 0; p < pixels; ++p) {
        images.Set(i * pixels + p,
                   static_cast<double>(random() % 60 + (p * 8 / pixels == label ? 150 : 0)));
      }
      labels.Set(i, static_cast<double>(label));
    }
    return {{"images", std::move(images)}, {"labels", std::move(labels)}};
  }

  // Returns the column `loss` of a log.
  static std::vector<std::string> Losses(const std::string& log) {
    std::vector<std::string> losses;
    for (absl::string_view line : absl::StrSplit(Read(log), '\n', absl::SkipEmpty())) {
      const std::vector<std::string> cells = absl::StrSplit(line, ',');
      EXPECT_EQ(cells.size(), 4u) << line;
      losses.push_back(cells[2]);
    }
    return losses;
  }

  // Returns the options of all trainings that are compared.
  static std::string Train(const std::string& kind, const std::string& rest) {
    return absl::StrCat("train ", kind, ".ash --data data.npz --scale 0.004 --batch 8 --lr 0.05 ",
                        rest);
  }
};

TEST_F(TrainCommandTest, LearnsAndSaysHowItWent) {
  const int epochs = kSanitized ? 1 : 4;
  const ProcessResult result = Ashlar(Train(
      "bn", absl::StrCat("--epochs ", epochs,
                         " --validate more.npz --log loss.csv --curve loss.svg -o trained.ash "
                         "--json=out.json")));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("state"));
  EXPECT_THAT(result.out, HasSubstr("validation: "));
  const nlohmann::json document = nlohmann::json::parse(Read("out.json"));
  EXPECT_EQ(document["steps_per_epoch"], 12);  // 100 images in batches of 8: 4 are left out
  EXPECT_EQ(document["epochs"].size(), static_cast<size_t>(epochs));
  EXPECT_EQ(Losses("loss.csv").size(), static_cast<size_t>(12 * epochs + 1));
  EXPECT_THAT(Read("loss.svg"), HasSubstr("</svg>"));
  if (!kSanitized) {
    EXPECT_LT(document["epochs"].back()["mean_loss"], document["epochs"][0]["mean_loss"]);
    EXPECT_GE(document["epochs"].back()["validation"]["correct"], kCount / 2);
  }
  // It has the batch size of the original file.
  const ProcessResult inspected = Ashlar("inspect trained.ash --json");
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  EXPECT_EQ(inspected.Json()["inputs"][0]["shape"], nlohmann::json({4, 1, 8, 8}));
}

TEST_F(TrainCommandTest, ASplitIsHeldOutAndPatienceWritesTheBestEpoch) {
  // Labels that nothing can be learned from, so the loss of other images grows at last.
  NamedTensors arrays = Spots(1);
  for (int64_t i = 0; i < kCount; ++i) arrays[1].second.Set(i, static_cast<double>(i * 7 % 10));
  ASSERT_TRUE(IsOk(WriteNpz(arrays, Path("noise.npz"))));
  const std::string train =
      "train plain.ash --data noise.npz --scale 0.004 --batch 8 --lr 0.05 "
      "--validate-split 0.25 ";
  const ProcessResult result = Ashlar(train + "--epochs 40 --patience 2 -o best.ash --json -q");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json document = result.Json();
  EXPECT_EQ(document["data"]["held_out"], 25);
  EXPECT_EQ(document["steps_per_epoch"], 9);  // 75 images in batches of 8
  const size_t best = document["best_epoch"].get<size_t>(), epochs = document["epochs"].size();
  ASSERT_GE(best, 1u);
  ASSERT_LT(epochs, 40u);
  EXPECT_EQ(epochs, best + 2);
  const auto loss = [&](size_t i) {
    return document["epochs"][i]["validation"]["loss"].get<double>();
  };
  for (size_t i = 0; i < epochs; ++i) {
    const nlohmann::json& found = document["epochs"][i]["validation"];
    EXPECT_EQ(found["images"], 25);
    EXPECT_LE(found["correct"], found["in_top_5"]);
    EXPECT_GE(loss(i), loss(best - 1)) << i;
  }
  // The weights are of that epoch: a training that ends there writes the same.
  const ProcessResult there = Ashlar(absl::StrCat(train, "--epochs ", best, " -o t.ash -q"));
  ASSERT_EQ(there.exit_code, 0) << there.err;
  EXPECT_EQ(Read("best.ash"), Read("t.ash"));
}

// Regression: the label of an image of a regression was read as the number of a class.
TEST_F(TrainCommandTest, ValidationOfARegressionIsTheSquaredError) {
  NamedTensors arrays = Spots(1);
  HostTensor wanted = HostTensor::Zeros(DType::kFloat32, {kCount, 10});
  for (int64_t i = 0; i < wanted.num_elements(); ++i) wanted.Set(i, 1e6 + static_cast<double>(i));
  arrays[1].second = wanted;
  ASSERT_TRUE(IsOk(WriteNpz(arrays, Path("regression.npz"))));
  const ProcessResult result = Ashlar(
      "train plain.ash --data regression.npz --validate regression.npz --scale 0.004 --loss mse "
      "--batch 8 --lr 1e-9 -o t.ash --json -q");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json found = result.Json()["epochs"][0]["validation"];
  EXPECT_FALSE(found.contains("correct"));
  EXPECT_NEAR(found["loss"].get<double>(), 1e12, 1e10);
}

// Regression: each NaN counted as the least loss so far, so that --patience never ended.
TEST_F(TrainCommandTest, ALossOfValidationThatIsNaNIsNoImprovement) {
  NamedTensors arrays = Spots(1);
  arrays[1].second = HostTensor::Zeros(DType::kFloat32, {kCount, 10});
  ASSERT_TRUE(IsOk(WriteNpz(arrays, Path("zeros.npz"))));
  arrays[1].second.Set(0, std::nan(""));
  ASSERT_TRUE(IsOk(WriteNpz(arrays, Path("nan.npz"))));
  const ProcessResult result = Ashlar(
      "train plain.ash --data zeros.npz --validate nan.npz --scale 0.004 --loss mse --batch 8 "
      "--lr 1e-3 --epochs 9 --patience 2 -o t.ash");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("loss nan (not a number, so no smaller one)"));
  EXPECT_THAT(result.out, HasSubstr("ended after epoch 2: 2 epochs without a smaller loss"));
  EXPECT_THAT(result.out, HasSubstr("the weights are of the last epoch"));
}

TEST_F(TrainCommandTest, TrainedModelsAreWrittenInBothFormats) {
  for (const char* kind : {"bn", "plain"}) {
    for (const char* ending : {"ash", "onnx"}) {
      const ProcessResult result = Ashlar(Train(kind, absl::StrCat("-o t.", ending)));
      ASSERT_EQ(result.exit_code, 0) << result.err;
    }
    const ProcessResult compared = Ashlar("compare t.ash t.onnx");
    EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
    const ProcessResult before = Ashlar(absl::StrCat("compare t.ash ", kind, ".ash"));
    EXPECT_EQ(before.exit_code, 5) << "nothing was learned";
  }
}

// Regression: a model that was reshaped for the step's images was written with their number.
TEST_F(TrainCommandTest, TrainedModelsHaveTheBatchOfTheirFile) {
  const char kModel[] = "data/int8/digits/digits.onnx";  // its Reshape counts images
  const std::string model = SharedData(kModel);
  const auto shape_of = [](const std::string& file) {
    return Ashlar(absl::StrCat("inspect ", file, " --json")).Json()["inputs"][0]["shape"];
  };
  for (const char* options : {"--batch 8", "--batch 8 --micro-batch 2"}) {
    const ProcessResult result = Ashlar(
        absl::StrCat("train ", model, " --data data.npz --scale 0.004 -q -o t.ash ", options));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out + result.err, "") << "with -q";
    EXPECT_EQ(shape_of("t.ash"), shape_of(model)) << options;
    EXPECT_EQ(Ashlar("compare t.ash " + model).exit_code, 5) << "nothing was learned";
  }
}

// If no operator mixes images, a step in micro-batches is the same step, in a micro-batch's memory.
TEST_F(TrainCommandTest, MicroBatchesAreTheSameStepInLessMemory) {
  std::vector<std::vector<std::string>> losses;
  std::vector<nlohmann::json> documents;
  for (const char* parts : {"", " --micro-batch 2"}) {
    const ProcessResult result = Ashlar(
        Train("plain", absl::StrCat("--log l.csv --validate more.npz -o t.ash --json -q", parts)));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    losses.push_back(Losses("l.csv"));
    documents.push_back(result.Json());
  }
  ASSERT_EQ(losses[0].size(), losses[1].size());
  for (size_t i = 1; i < losses[0].size(); ++i) {
    EXPECT_NEAR(std::atof(losses[0][i].c_str()), std::atof(losses[1][i].c_str()), 1e-3) << i;
  }
  EXPECT_EQ(documents[1]["micro_batch"], 2);
  EXPECT_EQ(documents[1]["batch"], 8);
  EXPECT_LT(documents[1]["pools"]["arena"]["planned_bytes"],
            documents[0]["pools"]["arena"]["planned_bytes"]);
  EXPECT_NEAR(documents[1]["epochs"][0]["validation"]["loss"].get<double>(),
              documents[0]["epochs"][0]["validation"]["loss"].get<double>(), 1e-3);
  EXPECT_EQ(Ashlar(Train("bn", "--micro-batch 2 --batch-norm frozen -o t.ash")).exit_code, 0);
  ExpectEndings("train ", {{"bn.ash --data data.npz --batch 8 --micro-batch 2 -o t.ash", 2,
                            "parts of a batch have statistics of their own"},
                           {"plain.ash --data data.npz --batch 8 --micro-batch 3 -o t.ash", 2,
                            "--micro-batch 3 is no part of --batch 8"},
                           {"plain.ash --data data.npz --micro-batch 2 -o t.ash", 2, "--batch"}});
}

TEST_F(TrainCommandTest, ProfileAndBenchAreOfAStep) {
  const ProcessResult profile = Ashlar("profile bn.ash --train --batch 8 --by op --json -q");
  ASSERT_EQ(profile.exit_code, 0) << profile.err;
  const nlohmann::json profiled = profile.Json();
  std::vector<std::string> types;
  for (const nlohmann::json& row : profiled["rows"]) types.push_back(row["type"]);
  for (const char* type : {"ConvolutionFilterUpdate", "SgdUpdate"}) {
    EXPECT_THAT(types, ::testing::Contains(type));
  }
  const ProcessResult bench =
      Ashlar("bench bn.ash --train --batch 8 --optimizer adam --iterations 2 --warmup 0 --json -q");
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_EQ(bench.Json()["inputs"][0]["shape"][0], 8);
  EXPECT_GT(bench.Json()["memory"]["state_bytes"], 0);
  EXPECT_EQ(bench.Json()["memory"]["device_tensor_bytes"], 0);
  ExpectEndings("bench bn.ash ",
                {{"--batch 8", 2, "--train"},
                 {"--train --in-flight 2", 2, "a step begins after the one before"}});
}

TEST_F(TrainCommandTest, EqualBitsWithEveryNumberOfThreads) {
  for (const char* optimizer : {"sgd --nesterov", "adam", "adamw --weight-decay 0.01"}) {
    std::vector<std::vector<std::string>> losses;
    for (const int threads : {1, 2}) {
      const ProcessResult result =
          Ashlar(Train("bn", absl::StrCat("--optimizer ", optimizer, " --threads ", threads,
                                          " --log l.csv -o t.ash")));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      losses.push_back(Losses("l.csv"));
    }
    EXPECT_EQ(losses[0], losses[1]) << optimizer;
  }
}

TEST_F(TrainCommandTest, GoesOnFromACheckpointToTheLastBit) {
  const std::string schedule = "--schedule step:1:0.5 ";
  ASSERT_EQ(Ashlar(Train("bn", schedule + "--epochs 2 --log whole.csv -o whole.ash")).exit_code, 0);
  ASSERT_EQ(Ashlar(Train("bn", schedule + "--epochs 1 --checkpoint c.ash -o half.ash")).exit_code,
            0);
  const ProcessResult rest = Ashlar(Train(
      "bn", schedule + "--epochs 2 --checkpoint c.ash --resume --log rest.csv -o rest.ash --json"));
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(rest.Json()["resumed_at_step"], 12);
  EXPECT_EQ(Losses("whole.csv"), Losses("rest.csv"));
  EXPECT_EQ(Read("whole.ash"), Read("rest.ash"));
  // A checkpoint does not resume another training.
  const ProcessResult other = Ashlar(
      Train("bn", schedule + "--epochs 2 --momentum 0.5 --checkpoint c.ash --resume -o rest.ash"));
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("it has [momentum=0.9], and this one has [momentum=0.5]"));
  // Regression: other images of the same labels were taken.
  NamedTensors images = Spots(1);
  images[0].second.Set(5, images[0].second.At(5) == 1 ? 2 : 1);
  ASSERT_TRUE(IsOk(WriteNpz(images, Path("other.npz"))));
  const ProcessResult changed = Ashlar(
      absl::StrReplaceAll(Train("bn", schedule + "--epochs 2 --checkpoint c.ash --resume -o r.ash"),
                          {{"data.npz", "other.npz"}}));
  EXPECT_EQ(changed.exit_code, 2);
  EXPECT_THAT(changed.err, HasSubstr("it has [data="));
  const ProcessResult none =
      Ashlar(Train("bn", schedule + "--epochs 1 --checkpoint c.ash --resume -o again.ash"));
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_THAT(none.err, HasSubstr("the checkpoint is of 24 steps, and --epochs 1 ends after 12"));
  Write("c.ash", "no checkpoint");
  EXPECT_EQ(
      Ashlar(Train("bn", schedule + "--epochs 2 --checkpoint c.ash --resume -o r.ash")).exit_code,
      6);
}

// Whenever training is killed, there is a whole checkpoint or none, and it resumes without a
// difference. ASHLAR_KILLS=50 kills it more often than a usual run.
TEST_F(TrainCommandTest, SurvivesBeingKilledAtAnyMoment) {
  const std::string epochs = absl::StrCat("--epochs ", kSanitized ? 1 : 4, " ");
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  ASSERT_EQ(Ashlar(Train("bn", epochs + "--log whole.csv -o whole.ash")).exit_code, 0);
  const double whole = std::chrono::duration<double>(Clock::now() - start).count();
  std::filesystem::remove(Path("k.ash"));
  const std::string command =
      Train("bn", epochs +
                      "--checkpoint k.ash --checkpoint-every 1 --resume --log killed.csv "
                      "-o killed.ash");
  std::mt19937 random(7);
  const char* const kills = std::getenv("ASHLAR_KILLS");
  const int times = kills != nullptr ? std::atoi(kills) : kSanitized ? 2 : 8;
  int killed = 0;
  for (int i = 0; i < 10 * times && killed < times; ++i) {
    // With checkpoints it takes longer than `whole`, until it is resumed near its end.
    const double part = i == 0 ? 0.3 : 0.05 + static_cast<double>(random() % 1000) / 1500;
    if (AshlarKilled(command, part * whole)) {
      ++killed;
      continue;
    }
    ASSERT_EQ(Losses("whole.csv"), Losses("killed.csv")) << "after " << killed;
    std::filesystem::remove(Path("k.ash"));
  }
  EXPECT_EQ(killed, times);
  const ProcessResult result = Ashlar(command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Losses("whole.csv"), Losses("killed.csv"));
  EXPECT_EQ(Read("whole.ash"), Read("killed.ash"));
}

TEST_F(TrainCommandTest, AnInfiniteLossEndsWithAMessageAndKeepsTheCheckpoint) {
  NamedTensors bad = Spots(1);
  HostTensor images = HostTensor::Zeros(DType::kFloat32, {kCount, 8, 8});
  images.Set(64 * 99 + 5, std::numeric_limits<double>::infinity());
  bad[0].second = images;
  ASSERT_TRUE(IsOk(WriteNpz(bad, Path("bad.npz"))));
  ASSERT_EQ(Ashlar(Train("plain", "--checkpoint n.ash -o good.ash")).exit_code, 0);
  const std::string before = Read("n.ash");
  std::filesystem::remove(Path("t.ash"));
  const ProcessResult result = Ashlar(
      "train plain.ash --data bad.npz --batch 20 --checkpoint m.ash --checkpoint-every 1 -o t.ash");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the loss is "));
  EXPECT_THAT(result.err, HasSubstr("--lr"));
  EXPECT_FALSE(std::filesystem::exists(Path("t.ash")));
  EXPECT_EQ(Read("n.ash"), before);
}

TEST_F(TrainCommandTest, NewClassesAndFrozenLayers) {
  const ProcessResult result =
      Ashlar(Train("plain", "--classes 8 --freeze '^conv' --epochs 2 -o eight.ash --json"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.Json()["learning"]["tensors"], 2);
  EXPECT_EQ(result.Json()["learning"]["elements"], 8 * 512 + 8);
  EXPECT_EQ(Ashlar("inspect eight.ash --json").Json()["outputs"][0]["shape"],
            nlohmann::json({4, 8}));
}

TEST_F(TrainCommandTest, AFolderForEachClass) {
  for (const char* name : {"cats", "dogs"}) {
    std::filesystem::create_directories(Path(absl::StrCat("photos/", name)));
    for (int i = 0; i < 2; ++i) {
      std::string picture = "P6 16 16 255\n";
      for (int p = 0; p < 16 * 16 * 3; ++p) picture += static_cast<char>(p * (i + 3) % 251);
      Write(absl::StrCat("photos/", name, "/", i, ".ppm"), picture);
    }
  }
  const ProcessResult result = Ashlar(
      "train model.ash --data photos --batch 2 --classes 2 -o two.ash --labels two.txt --json -q");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Read("two.txt"), "cats\ndogs\n");
  EXPECT_EQ(Ashlar("run two.ash --input photos/cats/0.ppm --labels two.txt").exit_code, 0);
  ExpectEndings("train plain.ash --data data.npz --scale 0.004 --batch 8 -o two.ash --labels",
                {{" two.txt", 2, "--labels: data.npz is no folder of classes with names"}});
  EXPECT_EQ(result.Json()["data"]["classes"], nlohmann::json({"cats", "dogs"}));
  // Regression: "label 4 is 2, and the model has 2 classes", for a folder of three folders.
  std::filesystem::create_directories(Path("photos/owls"));
  std::filesystem::copy(Path("photos/dogs/0.ppm"), Path("photos/owls/0.ppm"));
  ExpectEndings("train model.ash --data photos --batch 2 --classes 2 -o two.ash",
                {{"", 6, "photos: 3 folders, one a class, and the model has 2 classes"}});
  std::filesystem::remove_all(Path("photos/owls"));
  std::filesystem::remove_all(Path("photos/dogs"));
  std::filesystem::remove(Path("photos/cats/1.ppm"));
  ExpectEndings("train model.ash --data photos --batch 2 --classes 2 -o two.ash",
                {{"", 2, "photos has 1 image, fewer than the 2 of a step"}});
}

TEST_F(TrainCommandTest, WhatDoesNotGoTogetherIsRefused) {
  ExpectUsageErrors(
      "",
      {{"train bn.ash -o t.ash", "--data"},
       {"train bn.ash --data data.npz", "--output"},
       {"train bn.ash --data data.npz --batch 200 -o t.ash", "fewer than the 200"},
       {"train bn.ash --data data.npz --freeze . -o t.ash", "nothing learns"},
       {"train bn.ash --data data.npz --freeze '(' -o t.ash", "no regular expression"},
       {"train bn.ash --data data.npz --schedule often -o t.ash", "no schedule"},
       {"train bn.ash --data data.npz --resume -o t.ash", "--checkpoint"},
       {"train bn.ash --data data.npz --patience 2 -o t.ash", "--patience needs --validate"},
       {"train bn.ash --data data.npz --validate-split 1 -o t.ash", "between 0 and 1"},
       {"train bn.ash --data data.npz --validate-split 0.001 -o t.ash", "is none"},
       {"train bn.ash --data data.npz --validate-split 0.97 -o t.ash", "3 images to learn from"},
       {"train bn.ash --data data.npz --freeze none_such -o t.ash", "freezes nothing"},
       {"train bn.ash --data data.npz --optimizer adam --nesterov -o t.ash", "--nesterov"},
       {"train bn.ash --data data.npz --checkpoint bn.ash -o t.ash", "bn.ash"},
       {"plan bn.ash --momentum 0.5", "--train"},
       {"plan bn.ash --train --recompute all", "none, cheap"},
       {"plan bn.ash --train --recompute 0", "0 is not a node"}});
  ExpectEndings(
      "", {{"train bn.ash --data data.npz --classes 4 -o t.ash", 6, "the model has 4 classes"},
           {"plan bn.ash --train --memory-budget 64", 3, "smallest that was found"},
           {"train bn.ash --data data.npz --memory-budget 64 -o t.ash", 3, "does not fit"},
           {"train bn.ash --data bn.ash -o t.ash", 6, "bn.ash"}});
}

TEST_F(TrainCommandTest, PlanAndVerifyShowAStep) {
  const ProcessResult plan = Ashlar("plan bn.ash --train --batch 8 --json");
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const int64_t state = plan.Json()["pools"]["state"]["planned_bytes"];
  EXPECT_GE(state, 2 * 4 * (144 + 4608 + 5120 + 10));
  const ProcessResult verify = Ashlar("verify bn.ash --train --batch 8 --json");
  ASSERT_EQ(verify.exit_code, 0) << verify.err;
  EXPECT_EQ(verify.Json()["pools"]["state"]["planned_bytes"], state);
  EXPECT_EQ(verify.Json()["pools"]["state"]["actual_bytes"], state);
  EXPECT_EQ(verify.Json()["heap"]["own_calls"], 0);
  const ProcessResult again = Ashlar("verify bn.ash --train --batch 8 --recompute cheap --json");
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_LT(again.Json()["pools"]["arena"]["planned_bytes"],
            plan.Json()["pools"]["arena"]["planned_bytes"]);
}

TEST_F(TrainCommandTest, PlansForABudgetAndShowsTheCurve) {
  const ProcessResult frontier = Ashlar("plan bn.ash --train --batch 8 --frontier --json");
  ASSERT_EQ(frontier.exit_code, 0) << frontier.err;
  const auto points = frontier.Json()["step_frontier"];
  ASSERT_GE(points.size(), 2u);
  EXPECT_EQ(points[0]["recompute"], "none");
  const int64_t arena = points[1]["arena_bytes"];
  const ProcessResult verify =
      Ashlar(absl::StrCat("verify bn.ash --train --batch 8 --json --memory-budget ", arena));
  ASSERT_EQ(verify.exit_code, 0) << verify.err;
  const auto measured = verify.Json()["pools"]["arena"];
  EXPECT_LE(measured["planned_bytes"], arena);
  EXPECT_EQ(measured["actual_bytes"], measured["planned_bytes"]);
  // Regression: the document of such a plan stated that nothing is recomputed.
  EXPECT_EQ(verify.Json()["recompute"]["spec"], points[1]["recompute"]);
  EXPECT_EQ(verify.Json()["recompute"]["extra_flops_ratio"], points[1]["extra_flops_ratio"]);
}

TEST_F(TrainCommandTest, ABudgetIsMetInTilesThatCanBeAskedFor) {
  const ProcessResult least = Ashlar("plan plain.ash --train --batch 2 --memory-budget min --json");
  ASSERT_EQ(least.exit_code, 0) << least.err;
  const auto found = least.Json()["recompute"];
  ASSERT_TRUE(found.contains("tile")) << found;
  const std::string options = absl::StrCat(" --tile '", found["tile"].get<std::string>(),
                                           "' --recompute ", found["spec"].get<std::string>());
  const ProcessResult verify =
      Ashlar(absl::StrCat("verify plain.ash --train --batch 2 --json", options));
  ASSERT_EQ(verify.exit_code, 0) << verify.err;
  const auto arena = verify.Json()["pools"]["arena"];
  EXPECT_EQ(arena["planned_bytes"], least.Json()["pools"]["arena"]["planned_bytes"]);
  EXPECT_EQ(arena["actual_bytes"], arena["planned_bytes"]);
  const ProcessResult trained = Ashlar(absl::StrCat(
      "train plain.ash --data data.npz --batch 2 --scale 0.004 --epochs 1 --lr 0.01 -o tiled.ash",
      options));
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
}

// Regression: the run with guard bytes was planned without tiles, and refused the ids of the rest.
TEST_F(TrainCommandTest, VerifyKeepsTheTilesThatABudgetFinds) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 32 --batch 2 -o squeezenet.ash").exit_code, 0);
  const ProcessResult verify =
      Ashlar("verify squeezenet.ash --train --memory-budget min --no-values --json");
  ASSERT_EQ(verify.exit_code, 0) << verify.err;
  EXPECT_TRUE(verify.Json()["recompute"].contains("tile"));
}

// The norms learn, and the trained model still contains them as operators.
TEST_F(TrainCommandTest, NormalisationThatAnExporterKeptIsTrained) {
  const char kModel[] = "data/onnx/real/resnet_cifar10/resnet20.onnx";
  if (!HasSharedData(kModel)) GTEST_SKIP() << "no ../shared/data/onnx";
  if (kSanitized) GTEST_SKIP() << "the same code as without, for longer";
  ASSERT_TRUE(IsOk(WriteNpz(Spots(3, {3, 32, 32}), Path("coloured.npz"))));
  const ProcessResult trained = Ashlar(
      absl::StrCat("train ", SharedData(kModel), " --data coloured.npz --scale 0.004 --batch 20",
                   " --lr 0.02 --epochs 3 --log losses.csv -o trained.onnx"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const std::vector<std::string> losses = Losses("losses.csv");
  EXPECT_LT(std::stod(losses.back()), std::stod(losses[1]));
  for (const std::string& model : {SharedData(kModel), std::string("trained.onnx")}) {
    const nlohmann::json rows =
        Ashlar(absl::StrCat("profile ", model, " --train --by op --json -q")).Json()["rows"];
    int64_t norms = 0;
    for (const nlohmann::json& row : rows) {
      if (row["type"] == "BatchNormTraining") norms += row["steps"].get<int64_t>();
    }
    EXPECT_EQ(norms, 19) << model;
  }
}

TEST_F(TrainCommandTest, AnOnnxModelIsReadForTheBatch) {
  const char kModel[] = "data/onnx/exports/mobilenet_v3_large.ts_dynamic.onnx";
  if (!HasSharedData(kModel)) GTEST_SKIP() << "no ../shared/data/onnx";
  if (kSanitized) GTEST_SKIP() << "the same code as without, for longer";
  // It reshapes to a batch size that the reader computes.
  const ProcessResult result =
      Ashlar(absl::StrCat("plan ", SharedData(kModel), " --train --batch 3"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// Regression: the floats of pictures were copied into inputs of any type, beyond their end.
TEST_F(TrainCommandTest, InputsOfOtherTypesGetTheSameNumbers) {
  std::vector<std::string> expected;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kFloat64, DType::kUint8,
                            DType::kInt32, DType::kInt64}) {
    SCOPED_TRACE(Name(dtype));
    GraphMaker make;
    int x = make.Input("x", {8, 3, 4, 5}, dtype);
    if (dtype != DType::kFloat32) x = make.Add<TypeCvt>({DType::kFloat32}, {x});
    x = make.Add<Reshape>(
        {}, {x, make.Constant(HostTensor::FromValues<int64_t>(DType::kInt64, {2}, {8, 60}))});
    std::mt19937_64 random(1);
    make.Output(make.Add<MatrixMul>(
        {}, {x, make.Constant(RandomTensor(random, {60, 8}, -1e-2, 1e-2))}, "fc"));
    ASSERT_TRUE(IsOk(WriteModel(std::move(make).Build(), Path("typed.ash"))));
    NamedTensors data = Spots(1, {3, 4, 5});
    ASSERT_TRUE(IsOk(WriteNpz(data, Path("typed.npz"))));
    const std::string train =
        "train typed.ash --batch 8 --lr 1e-5 --log typed.csv -o t.ash --data ";
    const ProcessResult result = Ashlar(train + "typed.npz");
    ASSERT_EQ(result.exit_code, 0) << result.err;
    if (expected.empty()) expected = Losses("typed.csv");
    EXPECT_EQ(Losses("typed.csv"), expected);
    // Regression: channels that come last were taken for rows.
    const HostTensor first = data[0].second;
    HostTensor last = HostTensor::Zeros(DType::kUint8, {kCount, 4, 5, 3});
    for (int64_t i = 0; i < last.num_elements(); ++i) {
      last.Set(i, first.At(i / 60 * 60 + i % 3 * 20 + i % 60 / 3));
    }
    data[0].second = last;
    ASSERT_TRUE(IsOk(WriteNpz(data, Path("last.npz"))));
    const std::string refused = Ashlar(train + "last.npz").err;
    EXPECT_THAT(refused, HasSubstr("--layout nhwc reads channels that come"));
    // Regression: the shape after the channels had been moved.
    EXPECT_THAT(refused, HasSubstr("images are Uint8{100,4,5,3}, expected"));
    ASSERT_EQ(Ashlar(train + "last.npz --layout nhwc").exit_code, 0);
    EXPECT_EQ(Losses("typed.csv"), expected);
  }
}

}  // namespace
}  // namespace ashlar::testing
