// Tests of single subcommands.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/rewriter.h"
#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/command/small_model.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using CommandsTest = CommandTest;
using nlohmann::json;

TEST_F(CommandsTest, RunWritesEveryOutputUnderItsName) {
  const ProcessResult result = Ashlar("run model.ash --output out.npz --top 3 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const NamedTensors arrays = Value(ReadNpz(Path("out.npz")));
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].first, "prob");
  EXPECT_EQ(arrays[0].second.shape(), (Shape{2, 10}));
  const json top = result.Json()["outputs"][0]["top"];
  ASSERT_EQ(top.size(), 2u);
  ASSERT_EQ(top[0].size(), 3u);
  for (int image = 0; image < 2; ++image) {
    const int best = top[image][0]["class"];
    EXPECT_FLOAT_EQ(arrays[0].second.At(image * 10 + best), top[image][0]["value"].get<float>());
  }
}

TEST_F(CommandsTest, RandomInputsDependOnTheSeedAlone) {
  const std::string first = Ashlar("run model.ash").out;
  EXPECT_EQ(first, Ashlar("run model.ash --seed 0 --threads 1").out);
  EXPECT_NE(first, Ashlar("run model.ash --seed 1").out);
}

TEST_F(CommandsTest, InputsComeFromFilesOfAllKinds) {
  std::mt19937_64 random(3);
  const HostTensor batch = RandomTensor(random, {2, 3, 16, 16});
  ASSERT_TRUE(IsOk(WriteNpy(batch, Path("batch.npy"))));
  ASSERT_TRUE(IsOk(WriteNpz({{"data", batch}}, Path("batch.npz"))));
  Write("batch.raw",
        std::string(static_cast<const char*>(batch.raw()), static_cast<size_t>(batch.bytes())));
  for (int i = 0; i < 2; ++i) {
    HostTensor image = HostTensor::Zeros(DType::kFloat32, {1, 3, 16, 16});
    std::copy_n(batch.data<float>().begin() + i * 768, 768, image.mutable_data<float>().begin());
    ASSERT_TRUE(IsOk(WriteNpy(image, Path(absl::StrCat("image", i, ".npy")))));
  }
  const std::string expected = Ashlar("run model.ash --input data=batch.npy").out;
  ASSERT_THAT(expected, HasSubstr("image 1"));
  for (const char* input : {"--input batch.npy", "--input batch.npz", "--input data=batch.npz",
                            "--input data=batch.raw", "--input da=batch.npy",
                            "--input data=image0.npy --input data=image1.npy"}) {
    EXPECT_EQ(Ashlar(std::string("run model.ash ") + input).out, expected) << input;
  }
  // (x - 0) * 1 for each channel.
  EXPECT_EQ(Ashlar("run model.ash --input batch.npy --mean 0,0,0 --scale 1").out, expected);
  EXPECT_NE(Ashlar("run model.ash --input batch.npy --mean 1,2,3").out, expected);
}

TEST_F(CommandsTest, ChannelsLastArraysAreTransposed) {
  std::mt19937_64 random(4);
  const HostTensor nchw = RandomTensor(random, {2, 3, 16, 16});
  HostTensor nhwc = HostTensor::Zeros(DType::kFloat32, {2, 16, 16, 3});
  for (int64_t i = 0; i < nchw.num_elements(); ++i) {
    const int64_t p = i % 256, c = i / 256 % 3, n = i / 768;
    nhwc.mutable_data<float>()[(n * 256 + p) * 3 + c] = nchw.data<float>()[i];
  }
  ASSERT_TRUE(IsOk(WriteNpy(nchw, Path("nchw.npy"))));
  ASSERT_TRUE(IsOk(WriteNpy(nhwc, Path("nhwc.npy"))));
  EXPECT_EQ(Ashlar("run model.ash --input nhwc.npy --layout nhwc").out,
            Ashlar("run model.ash --input nchw.npy").out);
}

// Regression: arrays of wide integers, NumPy's default, were refused for too many bytes.
TEST_F(CommandsTest, ArraysOfWideIntegersAreConverted) {
  for (const DType dtype : {DType::kInt64, DType::kFloat32}) {
    HostTensor array = HostTensor::Zeros(dtype, {2, 3, 16, 16});
    for (int64_t i = 0; i < array.num_elements(); ++i) array.Set(i, static_cast<double>(i % 7));
    ASSERT_TRUE(IsOk(WriteNpy(array, Path(absl::StrCat(Name(dtype), ".npy")))));
  }
  const ProcessResult wide = Ashlar("run model.ash --input Int64.npy");
  EXPECT_EQ(wide.exit_code, 0) << wide.err;
  EXPECT_EQ(wide.out, Ashlar("run model.ash --input Float32.npy").out);
}

TEST_F(CommandsTest, AnImageFillsTheBatch) {
  std::string pixels = "P6\n4 4\n255\n";
  for (int i = 0; i < 48; ++i) pixels += static_cast<char>(5 * i);
  Write("image.ppm", pixels);
  const ProcessResult result = Ashlar("run model.ash --input data=image.ppm --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("fills its batch of 2"));
  const json top = result.Json()["outputs"][0]["top"];
  EXPECT_EQ(top[0], top[1]);
  EXPECT_EQ(Ashlar("run model.ash --input image.ppm --quiet").err, "");
}

TEST_F(CommandsTest, WrongInputsAreRefused) {
  ASSERT_TRUE(IsOk(WriteNpy(HostTensor::Zeros(DType::kFloat32, {3, 3, 16, 16}), Path("3.npy"))));
  Write("short.raw", "abc");
  Write("broken.npy", "\x93NUMPY");
  ExpectEndings("run model.ash ", {{"--input 3.npy", 6, "{3,3,16,16}"},
                                   {"--input short.raw", 6, "3 bytes, expected 6144"},
                                   {"--input broken.npy", 6, "broken.npy"},
                                   {"--input none.npy", 6, "none.npy"},
                                   {"--input image=3.npy", 2, "the model has: data"},
                                   {"--input 3.npy --mean 1,2", 2, "--mean"},
                                   {"--labels none.txt", 6, "none.txt"},
                                   {"--shape data=1x3x16", 2, "conv1"},
                                   {"--shape image=1x3x16x16", 2, "the model has: data"},
                                   {"--shape data:1x3x16x16", 2, "NAME=SHAPE"}});
}

// Regression: the error about a wrong order of dimensions did not name the option for it.
TEST_F(CommandsTest, ArraysWithChannelsLastNameTheLayout) {
  const struct {
    Shape shape;
    bool hint;
  } cases[] = {{{2, 16, 16, 3}, true}, {{2, 16, 16, 4}, false}, {{2, 3, 16, 15}, false}};
  for (const auto& test : cases) {
    ASSERT_TRUE(IsOk(WriteNpy(HostTensor::Zeros(DType::kFloat32, test.shape), Path("a.npy"))));
    const ProcessResult run = Ashlar("run model.ash --input a.npy");
    EXPECT_EQ(run.exit_code, 6);
    EXPECT_EQ(absl::StrContains(run.err, "--layout nhwc reads channels that come last"), test.hint)
        << run.err;
  }
}

// Regression: the range was "min inf, mean nan, max -inf".
TEST_F(CommandsTest, RangesOfOutputsLeaveNaNOut) {
  GraphMaker maker;
  const int x = maker.Input("x", {3});
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kNegate}, {x}, "y"));
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("negate.ash"))));
  const float nan = std::nanf("");
  const struct {
    std::vector<float> values;
    const char* text;
  } cases[] = {{{1, 2, 6}, ": min -6, mean -3, max -1\n"},
               {{1, nan, 5}, ": min -5, mean -3, max -1, NaN in 1 of 3 elements\n"},
               {{nan, nan, nan}, ": no numbers, NaN in 3 of 3 elements\n"}};
  for (const auto& test : cases) {
    ASSERT_TRUE(IsOk(
        WriteNpy(HostTensor::FromValues<float>(DType::kFloat32, {3}, test.values), Path("x.npy"))));
    EXPECT_THAT(Ashlar("run negate.ash --input x.npy").out, HasSubstr(test.text));
    const json output = Ashlar("run negate.ash --input x.npy --json").Json()["outputs"][0];
    EXPECT_EQ(output.value("nan", 0), std::count_if(test.values.begin(), test.values.end(),
                                                    [](float x) { return std::isnan(x); }));
  }
  // Regression: without classes, nothing was printed.
  EXPECT_THAT(Ashlar("run model.ash --top 0").out, HasSubstr(": min "));
}

// Regression: one run was recorded, and on a busy machine rows varied by a factor of 7.
TEST_F(CommandsTest, ProfileShowsMediansOfSeveralRuns) {
  const ProcessResult result = Ashlar("profile model.ash --iterations 5");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(", medians of 5 runs"));
  EXPECT_EQ(Ashlar("profile model.ash --iterations 3 --json").Json()["rows"].size(),
            Ashlar("profile model.ash --json").Json()["rows"].size());
  ExpectEndings("profile model.ash --iterations ", {{"0", 2, "whole number from 1"}});
}

// Regression: the row said "not promised", with exit code 0.
TEST_F(CommandsTest, VerifyCallsTheTotalAnEstimate) {
  constexpr int kSide = 4000;  // of a picture that takes more than all that is stated
  Write("large.ppm",
        absl::StrCat("P6\n", kSide, " ", kSide, "\n255\n", std::string(3 * kSide * kSide, '\x7f')));
  const ProcessResult above = Ashlar("verify model.ash --resize stretch --input large.ppm");
  ASSERT_EQ(above.exit_code, 0) << above.err;
  EXPECT_THAT(above.out, HasSubstr("above the estimate"));
  EXPECT_THAT(above.out, HasSubstr("the total is an estimate"));
  EXPECT_THAT(above.out, ::testing::Not(HasSubstr("not promised")));
  std::filesystem::remove(Path("large.ppm"));
}

// Regression: names got into messages unescaped, with terminal controls and line breaks.
TEST_F(CommandsTest, MessagesArePrintable) {
  const std::string name = "a\x1b[31m\nerror: no\xff\xc2\x9b\xc3\xa4.ash";
  const ProcessResult result = Ashlar(absl::StrCat("run '", name, "'"));
  EXPECT_EQ(result.exit_code, 6);
  EXPECT_THAT(result.err, HasSubstr("a\\x1b[31m\\nerror: no\\xff\\xc2\\x9b\xc3\xa4.ash"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

TEST_F(CommandsTest, ShapeMakesABatchOfAnotherSize) {
  const ProcessResult result = Ashlar("run model.ash --shape data=5x3x16x16 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.Json()["outputs"][0]["shape"], json({5, 10}));
}

TEST_F(CommandsTest, ABatchBeyondTheMemoryDoesNotFit) {
  constexpr int64_t kInputBytes = int64_t{60'000'000} * 3 * 16 * 16 * 4;
  if (int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) > kInputBytes) {
    GTEST_SKIP() << "this machine has more than " << kInputBytes << " bytes of memory";
  }
  const ProcessResult result = Ashlar("run model.ash --shape data=60000000x3x16x16");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("memory"));
}

TEST_F(CommandsTest, LabelsNameTheClasses) {
  Write("labels.txt", "a0\na1\na2\na3\na4\na5\na6\na7\na8\na9\n");
  const ProcessResult result = Ashlar("run model.ash --labels labels.txt --json");
  const json best = result.Json()["outputs"][0]["top"][0][0];
  EXPECT_EQ(best["label"], absl::StrCat("a", best["class"].get<int>()));
}

TEST_F(CommandsTest, BenchReportsLatencies) {
  const ProcessResult result =
      Ashlar("bench model.ash --iterations 7 --warmup 1 --percentile 50,99.9 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  EXPECT_EQ(document["iterations"], 7);
  const json& latency = document["latency_ms"];
  for (const char* key : {"min", "median", "mean", "p90", "p99", "max", "p99.9"}) {
    EXPECT_GT(latency[key].get<double>(), 0) << key;
  }
  EXPECT_LE(latency["min"], latency["median"]);
  EXPECT_LE(latency["median"], latency["max"]);
  EXPECT_EQ(latency["p50"], latency["median"]);
  EXPECT_GT(document["load_ms"].get<double>(), 0);
  EXPECT_GT(document["first_run_ms"].get<double>(), 0);
  EXPECT_GT(document["peak_rss_bytes"].get<int64_t>(), 1 << 20);
}

// Regression: a saved log did not say which model and plan had been measured.
TEST_F(CommandsTest, BenchSaysWhatItMeasured) {
  const std::string arguments =
      "bench model.ash --iterations 2 --warmup 3 --threads 1 --exact --shape data=1x3x16x16"
      " --processor ";
  const std::string processor = Ashlar("doctor --json").Json()["processor"];
  const ProcessResult text = Ashlar(arguments + processor);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, StartsWith("model.ash on cpu0:0 (" + processor +
                                   "), 1 thread, data Float32{1,3,16,16}\nashlar "));
  EXPECT_THAT(text.out, HasSubstr(", 3 runs of warm-up in "));
  EXPECT_THAT(text.out, HasSubstr("--exact"));
  EXPECT_THAT(text.out, HasSubstr("--threads 1"));
  const json document = Ashlar(arguments + processor + " --json").Json();
  EXPECT_EQ(document["model"], "model.ash");
  EXPECT_EQ(document["inputs"][0]["shape"], json({1, 3, 16, 16}));
  EXPECT_EQ(document["processor"], processor);
  EXPECT_EQ(document["warmup"]["runs"], 3);
  EXPECT_EQ(document["options"]["--exact"], true);
  EXPECT_EQ(document["options"]["--iterations"], "2");
  EXPECT_FALSE(document["options"].contains("--json"));
  EXPECT_THAT(Ashlar("--version").out,
              StartsWith("ashlar " + document["version"].get<std::string>()));
}

TEST_F(CommandsTest, BenchReportsThroughputAndMemoryOfSeveralRunsInFlight) {
  const ProcessResult one = Ashlar("bench model.ash --iterations 6 --warmup 1 --json --quiet");
  const ProcessResult several =
      Ashlar("bench model.ash --iterations 6 --warmup 1 --in-flight 3 --arena-each --json");
  ASSERT_EQ(several.exit_code, 0) << several.err;
  EXPECT_THAT(several.err, HasSubstr("on cpu0:0 each run is over before the next one begins"));
  const json document = several.Json(), document_of_one = one.Json();
  EXPECT_EQ(document["iterations"], 6);
  EXPECT_EQ(document["in_flight"], 3);
  EXPECT_EQ(document_of_one["in_flight"], 1);
  EXPECT_EQ(document["memory"]["arenas"], 1) << "nothing overlaps on the CPU";
  EXPECT_EQ(document["memory"], document_of_one["memory"]);
  EXPECT_GT(document["memory"]["arena_bytes"].get<int64_t>(), 0);
  const double runs = document["runs_per_second"];
  EXPECT_LE(runs, 1e3 / document["latency_ms"]["min"].get<double>());
  EXPECT_DOUBLE_EQ(document["images_per_second"].get<double>(), 2 * runs);
}

TEST_F(CommandsTest, BenchRunsAtLeastAsLongAsAsked) {
  const ProcessResult result =
      Ashlar("bench model.ash --iterations 1 --warmup 10ms --duration 50ms --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  EXPECT_GE(document["iterations"].get<double>() * document["latency_ms"]["mean"].get<double>(),
            40);
}

TEST_F(CommandsTest, VerifyHoldsAndItsNegativeControlDoesNot) {
  const ProcessResult result = Ashlar("verify model.ash --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  ExpectPools(document["pools"], {"planned_bytes", "actual_bytes", "method"});
  EXPECT_EQ(document["ok"], true);
  EXPECT_EQ(document["heap"]["own_calls"], 0);
  EXPECT_TRUE(document["heap"]["library_calls"].is_number_integer());
  EXPECT_TRUE(document["heap"]["library_net_bytes"].is_number_integer());
  for (const char* key : {"before", "after", "peak"}) {
    EXPECT_TRUE(document["rss"][key].is_number_integer()) << key;
  }
  const ProcessResult control = Ashlar("verify model.ash --understate 64 --json");
  EXPECT_EQ(control.exit_code, 4);
  EXPECT_EQ(control.Json()["ok"], false);
  EXPECT_THAT(control.err, HasSubstr("actual > planned"));
}

// Regression: a tiled 8-bit model had other values than the untiled one, and `verify` reported
// nothing.
TEST_F(CommandsTest, VerifyComparesTheValuesOfThePlanWithThoseOfTheWhole) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 128 -o large.ash -q").exit_code, 0);
  const struct {
    const char* options;
    const char* against;
  } kRows[] = {
      {"model.ash --memory-budget min", "the reference on the host"},
      {"large.ash --tile none", "the whole model, untiled and exact"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.options);
    const ProcessResult result = Ashlar(absl::StrCat("verify --json ", row.options));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json values = result.Json()["values"];
    EXPECT_EQ(values["against"], row.against);
    EXPECT_EQ(values["ok"], true);
    EXPECT_FALSE(values.contains("left_out"));
    EXPECT_EQ(values["outputs"].size(), 1U);
    EXPECT_LT(values["outputs"][0]["max_rel"], 1e-4);
  }
  EXPECT_THAT(Ashlar("verify model.ash").out, HasSubstr("values: as the reference on the host"));
  EXPECT_THAT(Ashlar("verify model.ash --no-values").out, HasSubstr("values: not compared: "));
}

TEST_F(CommandsTest, CompareAgreesWithFileHostAndOtherPlans) {
  ASSERT_EQ(Ashlar("run model.ash -o ref.npz").exit_code, 0);
  for (const char* options :
       {"--ref ref.npz", "", "--ref host --layers all --check-finite", "--passes-b none",
        "--scheduler-b megengine --inplace-b off --layers all", "--metric nmse",
        "--metric cosine --rtol 1e-9", "--metric elemwise --atol 1e-5"}) {
    SCOPED_TRACE(options);
    const ProcessResult result = Ashlar(std::string("compare model.ash --json ") + options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const json document = result.Json();
    EXPECT_EQ(document["ok"], true);
    EXPECT_TRUE(document["first_difference"].is_null());
    EXPECT_EQ(document["outputs"][0]["name"], "prob");
    for (const char* key : {"max_abs", "max_rel", "nmse", "cosine"}) {
      EXPECT_TRUE(document["outputs"][0][key].is_number()) << key;
    }
  }
}

TEST_F(CommandsTest, DifferencesEndInFiveWithTheirDocument) {
  ASSERT_EQ(Ashlar("run model.ash --seed 1 -o other.npz").exit_code, 0);
  const ProcessResult result = Ashlar("compare model.ash --ref other.npz --json");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.Json()["ok"], false);
  EXPECT_EQ(result.Json()["first_difference"], "prob");
  EXPECT_EQ(result.Json()["outputs"][0]["ok"], false);
  EXPECT_THAT(result.err, HasSubstr("prob"));
  ExpectStrictLayersDiffer("model.ash");
}

TEST_F(CommandsTest, ReferencesThatCannotBeUsed) {
  ASSERT_EQ(Ashlar("run model.ash -o ref.npz").exit_code, 0);
  EXPECT_EQ(Ashlar("compare model.ash --ref none.npz").exit_code, 6);
  EXPECT_EQ(Ashlar("compare model.ash --ref ref.npz --layers all").exit_code, 2);
  EXPECT_EQ(Ashlar("compare model.ash --ref ref.npz --passes-b none").exit_code, 2);
}

TEST_F(CommandsTest, ProfileShowsAndWritesTheRun) {
  const ProcessResult result =
      Ashlar("profile model.ash --dump profile.json --trace trace.json --by op --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json rows = result.Json()["rows"];
  EXPECT_FALSE(rows.empty());
  EXPECT_EQ(Ashlar("profile model.ash --top 2 --json").Json()["rows"].size(), 2u);
  for (const json& row : rows) {
    const double flops = row["computation"], ms = row["ms"];
    EXPECT_NEAR(row["gflops"].get<double>(), ms > 0 ? flops / ms / 1e6 : 0, 1e-6) << row;
  }
  const json dump = json::parse(Read("profile.json"));
  for (const char* key : {"graph_exec", "profiler", "memory_report"}) {
    EXPECT_TRUE(dump.contains(key)) << key;
  }
  for (const auto& [name, pool] : dump["memory_report"]["pools"].items()) {
    EXPECT_EQ(pool["actual_bytes"], pool["planned_bytes"]) << name;
  }
  EXPECT_FALSE(json::parse(Read("trace.json")).empty());
}

TEST_F(CommandsTest, ProfileSharesOfThePeakAreOfAllThreads) {
  const json one = Ashlar("profile model.ash --threads 1 --json").Json();
  const json two = Ashlar("profile model.ash --threads 2 --json").Json();
  if (one["peak_gflops"] == 0) GTEST_SKIP() << "no peak is measured on this processor";
  // The clock frequency may change between the two.
  EXPECT_GT(two["peak_gflops"].get<double>(), 1.2 * one["peak_gflops"].get<double>());
}

TEST_F(CommandsTest, InspectSummarisesTheGraph) {
  const ProcessResult result = Ashlar("inspect model.ash --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.Json();
  EXPECT_EQ(document["inputs"],
            json::parse(R"([{"name": "data", "shape": [2, 3, 16, 16], "dtype": "Float32"}])"));
  EXPECT_EQ(document["outputs"],
            json::parse(R"([{"name": "prob", "shape": [2, 10], "dtype": "Float32"}])"));
  EXPECT_EQ(document["operators"]["ConvolutionForward"], 2);
  // Two convolutions on 8 x 8 pixels and the fully connected layer, for two images, and more.
  EXPECT_GT(document["computation"], 2 * 2 * (64 * 32 * (27 + 288) + 320));
  EXPECT_GT(document["weights_bytes"], 4 * (32 * (27 + 288) + 320));
  EXPECT_THAT(Ashlar("inspect model.ash --dot").out, StartsWith("digraph"));
  EXPECT_THAT(Ashlar("inspect model.ash --nodes").out, HasSubstr("stride_h=2"));
}

// Regression: the document had no nodes.
TEST_F(CommandsTest, InspectListsNodesInItsDocument) {
  EXPECT_FALSE(Ashlar("inspect model.ash --json").Json().contains("nodes"));
  const json document = Ashlar("inspect model.ash --nodes --json").Json();
  const json& nodes = document["nodes"];
  int64_t computation = 0;
  bool found = false;
  for (const json& node : nodes) {
    computation += node["computation_flop"].get<int64_t>();
    if (node["name"] != "conv1") continue;
    found = true;
    EXPECT_EQ(node["type"], "ConvolutionForward");
    EXPECT_EQ(node["inputs"][0], "data");
    EXPECT_EQ(node["outputs"][0]["shape"], json({2, 32, 8, 8}));
    EXPECT_EQ(node["outputs"][0]["dtype"], "Float32");
    EXPECT_EQ(node["parameters"]["stride_h"], 2);
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(computation, document["computation"]);
}

// A name of more than 48 bytes was cut, so that no node had it.
TEST_F(CommandsTest, NamesThatInspectListsArePlacesToEnd) {
  const Graph graph = SmallModel(1);
  GraphRewriter rewriter(graph);
  for (const OperatorNode& node : graph.nodes()) {
    GraphBuilder::NodeOptions options = rewriter.Identity(node);
    options.name = "/features/features.1/conv/conv.0/conv.0.0/of_a_block/" + node.name;
    const std::vector<int> outputs =
        Value(rewriter.builder().Add(node.op, rewriter.MapAll(node.inputs), options));
    for (size_t i = 0; i < outputs.size(); ++i) rewriter.Replace(node.outputs[i], outputs[i]);
  }
  ASSERT_TRUE(IsOk(WriteModel(Value(std::move(rewriter).Finish()), Path("long.ash"))));
  ASSERT_EQ(Ashlar("convert long.ash -o long.onnx").exit_code, 0);
  const std::string table = Ashlar("inspect long.onnx --nodes").out;
  for (const json& node : Ashlar("inspect long.onnx --nodes --json").Json()["nodes"]) {
    const std::string name = node["name"];
    EXPECT_GT(name.size(), 48u);
    EXPECT_THAT(table, HasSubstr(name));
    EXPECT_EQ(Ashlar("plan long.onnx --outputs '" + name + "' -q").exit_code, 0) << name;
  }
}

TEST_F(CommandsTest, ConvertCopiesAndExports) {
  ASSERT_EQ(Ashlar("convert model.ash -o copy.ash").exit_code, 0);
  EXPECT_EQ(Ashlar("run copy.ash").out, Ashlar("run model.ash").out);
  EXPECT_EQ(Ashlar("convert model.ash -o model.onnx").exit_code, 0);
  EXPECT_GT(Read("model.onnx").size(), 4u * (32 * (27 + 288) + 320));
}

TEST_F(CommandsTest, ZooBuildsTheSameModelEveryTime) {
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o a.ash").exit_code, 0);
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o b.ash --seed=0").exit_code, 0);
  ASSERT_EQ(Ashlar("zoo squeezenet --image 64 -o c.ash --seed 1").exit_code, 0);
  EXPECT_EQ(Read("a.ash"), Read("b.ash"));
  EXPECT_NE(Read("a.ash"), Read("c.ash"));
  EXPECT_THAT(Ashlar("run a.ash").out, HasSubstr("image 0"));
}

TEST_F(CommandsTest, OpsListsTheTable) {
  const json document = Ashlar("ops --json").Json();
  bool convolution = false;
  for (const json& row : document["operators"]) {
    if (row["type"] == "ConvolutionForward") convolution = row["kernel"];
  }
  EXPECT_TRUE(convolution);
  EXPECT_THAT(Ashlar("ops --markdown").out, HasSubstr("|---|"));
  // Options of GPUs, if their library is present; no device is needed.
  const bool library = Ashlar("plan model.ash --device gpu0:0").exit_code == 0;
  for (const json& row : document["operators"]) {
    EXPECT_EQ(row["kernels"]["cpu0:0"], row["kernel"]);
    EXPECT_EQ(row["kernels"]["gpu0:0"].is_null(), !library);
    if (library && row["type"] == "ElemwiseChain") {
      EXPECT_EQ(row["kernels"], json({{"cpu0:0", false}, {"gpu0:0", true}}));
    }
  }
  const ProcessResult alone = AshlarAlone("ops");
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_THAT(alone.out, HasSubstr("?: device gpu0:0: "));
  EXPECT_THAT(Ashlar("ops --device cpu").out, ::testing::Not(HasSubstr("gpu0:0")));
}

TEST_F(CommandsTest, DoctorDescribesTheMachine) {
  const json facts = Ashlar("doctor --json").Json()["facts"];
  EXPECT_EQ(facts["cpu0:0"], "ready");
  EXPECT_THAT(Ashlar("--version").out, StartsWith("ashlar " + facts["version"].get<std::string>()));
  EXPECT_THAT(facts["kernel record"].get<std::string>(), HasSubstr("kernels.json"));
  EXPECT_THAT(facts["libraries"].get<std::string>(), HasSubstr("own kernels for "));
}

TEST_F(CommandsTest, AProcessorIsNamedByOptionOrEnvironment) {
  const std::string given = "avx2/32K/512K", set = "avx512/48K/2M";
  const ScopedVariable variable("ASHLAR_PROCESSOR", set.c_str());
  const json doctor = Ashlar("doctor --json").Json();
  EXPECT_EQ(doctor["processor"], set);
  EXPECT_THAT(doctor["facts"]["plans for"].get<std::string>(), HasSubstr(set));
  EXPECT_EQ(Ashlar("plan model.ash --json").Json()["processor"], set);
  EXPECT_THAT(Ashlar("plan model.ash").out, HasSubstr(" on cpu0:0 (" + set + "), "));
  EXPECT_EQ(Ashlar("plan model.ash --json --processor " + given).Json()["processor"], given);
  const json host = Ashlar("plan model.ash --json --processor host").Json();
  EXPECT_THAT(doctor["facts"]["plans for"].get<std::string>(),
              HasSubstr("this one is " + host["processor"].get<std::string>()));
  const ScopedVariable wrong("ASHLAR_PROCESSOR", "z80");
  for (const char* command : {"plan model.ash", "doctor"}) {
    const ProcessResult result = Ashlar(command);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("ASHLAR_PROCESSOR: 'z80' is no processor"));
  }
}

// Regression: it was treated as no limit.
TEST_F(CommandsTest, AnUnknownInstructionSetIsRefused) {
  {
    const ScopedVariable wrong("ASHLAR_MAX_ISA", "avx1024");
    ExpectEndings("plan model.ash", {{"", 2, "ASHLAR_MAX_ISA: 'avx1024' is not baseline, neon, "}});
    EXPECT_EQ(Ashlar("plan -h").exit_code, 0);
  }
  const ScopedVariable none("ASHLAR_MAX_ISA", "");
  EXPECT_EQ(Ashlar("plan model.ash").exit_code, 0);
}

TEST_F(CommandsTest, APlanForAProcessorIsTheSameOnEveryMachine) {
  for (const std::string options :
       {"amx_int8/48K/2M", "avx512_bf16/48K/1M --precision bf16", "avx512/48K/2M", "avx512/32K/1M",
        "avx2/32K/512K", "avx2/48K/1M", "baseline/32K/256K", "avx2/32K/512K --passes none",
        "avx512/48K/2M --memory-budget min --plan-time 20ms"}) {
    SCOPED_TRACE(options);
    const std::string command = "plan model.ash --no-autotune --json --processor " + options;
    const json here = Ashlar(command).Json();
    const ScopedVariable lesser("ASHLAR_MAX_ISA", "baseline");
    const json there = Ashlar(command).Json();
    for (const char* key : {"processor", "pools", "arena", "tile", "workspaces", "comp_seq"}) {
      EXPECT_EQ(here.at(key), there.at(key)) << key;
    }
  }
}

TEST_F(CommandsTest, APlanForALesserProcessorRunsAndForAGreaterOneDoesNot) {
  EXPECT_EQ(Ashlar("compare model.ash --quiet --processor baseline/32K/256K").exit_code, 0);
  EXPECT_EQ(Ashlar("verify model.ash --quiet --processor baseline/32K/256K").exit_code, 0);
  const ScopedVariable lesser("ASHLAR_MAX_ISA", "baseline");
  EXPECT_EQ(Ashlar("plan model.ash --processor avx2/32K/512K").exit_code, 0);
  for (const char* command : {"run", "bench", "profile", "verify", "compare", "tune"}) {
    const ProcessResult result =
        Ashlar(std::string(command) + " model.ash --processor avx2/32K/512K");
    EXPECT_EQ(result.exit_code, 1) << command;
    EXPECT_THAT(result.err, HasSubstr("the plan is for avx2/32K/512K, this processor is baseline/"))
        << command;
    EXPECT_THAT(result.err, HasSubstr("it can be planned for, not run"));
  }
  EXPECT_THAT(Ashlar("run model.ash --processor amx_int8/48K/2M").err,
              HasSubstr("it has no amx_int8; it can be planned for, not run"));
}

}  // namespace
}  // namespace ashlar::testing
