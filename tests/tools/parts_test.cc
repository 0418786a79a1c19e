// The building blocks of subcommands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/nearest_name.h"
#include "graph/parse.h"
#include "runtime/session/run_values.h"
#include "serialization/input_shapes.h"
#include "tests/support/command/small_model.h"
#include "tests/support/status.h"
#include "tools/difference.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/plan_picture.h"
#include "tools/report/dot.h"
#include "tools/report/layer_values.h"
#include "tools/report/statistics.h"
#include "tools/report/table.h"
#include "tools/report/top_classes.h"

namespace ashlar {
namespace {

using ::ashlar::testing::FailsWith;
using ::ashlar::testing::Value;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseTest, Sizes) {
  EXPECT_EQ(Value(ParseSize("0")), 0);
  EXPECT_EQ(Value(ParseSize("4096")), 4096);
  EXPECT_EQ(Value(ParseSize("16MiB")), 16777216);
  EXPECT_EQ(Value(ParseSize("16MB")), 16000000);
  EXPECT_EQ(Value(ParseSize("1.5KiB")), 1536);
  EXPECT_EQ(Value(ParseSize("2 GiB")), 2147483648);
  EXPECT_EQ(Value(ParseSize("7B")), 7);
  EXPECT_EQ(Value(ParseSize("1mb")), 1000000);
  EXPECT_EQ(Value(ParseSize("16mib")), 16777216);
  EXPECT_EQ(Value(ParseSize("3 kb")), 3000);
  for (const char* text : {"", "-1", "MiB", "16M", "1e400GB", "9e9TiB", "nanMB", "1x"}) {
    EXPECT_TRUE(FailsWith(ParseSize(text).status(), "not a size")) << text;
  }
}

TEST(ParseTest, DurationsAndCounts) {
  EXPECT_EQ(Value(ParseDuration("3s")), absl::Seconds(3));
  EXPECT_EQ(Value(ParseDuration("200ms")), absl::Milliseconds(200));
  for (const char* text : {"", "3", "-1s", "inf", "0"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
  EXPECT_EQ(Value(ParseSeconds("0.5")), absl::Milliseconds(500));
  EXPECT_EQ(Value(ParseSeconds("2ms")), absl::Milliseconds(2));
  EXPECT_FALSE(ParseSeconds("-1").ok());
  EXPECT_FALSE(ParseSeconds("inf").ok());
  EXPECT_EQ(std::get<int64_t>(Value(ParseCountOrDuration("10"))), 10);
  EXPECT_EQ(std::get<absl::Duration>(Value(ParseCountOrDuration("1ms"))), absl::Milliseconds(1));
  EXPECT_FALSE(ParseCountOrDuration("-3").ok());
}

TEST(ParseTest, ShapesAndNumbers) {
  EXPECT_EQ(Value(ParseShape("1x3x224x224")), (Shape{1, 3, 224, 224}));
  EXPECT_EQ(Value(ParseShape("8")), (Shape{8}));
  for (const char* text : {"", "1x", "1x-3", "axb", "99999999x99999999x99999999"}) {
    EXPECT_FALSE(ParseShape(text).ok()) << text;
  }
  EXPECT_EQ(Value(ParseNumbers("50,99.9")), (std::vector<double>{50, 99.9}));
  EXPECT_FALSE(ParseNumbers("1,,2").ok());
}

TEST(FormatTest, NumbersForPeople) {
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(52183040), "49.77 MiB");
  EXPECT_EQ(FormatBytes(int64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(FormatBytes(int64_t{5000} << 40), "5000.00 TiB");
  EXPECT_EQ(Counted(0, "byte"), "0 bytes");
  EXPECT_EQ(Counted(1, "byte"), "1 byte");
  EXPECT_EQ(FormatMilliseconds(0.00321), "3.21 us");
  EXPECT_EQ(FormatMilliseconds(12.345), "12.35 ms");
  EXPECT_EQ(FormatMilliseconds(12345), "12.35 s");
  EXPECT_EQ(FormatFlops(8178368512), "8.178 GFLOP");
  EXPECT_EQ(FormatFlops(819'540'426'000'000), "819.540 TFLOP");
  EXPECT_EQ(FormatFlops(12), "12 FLOP");
  EXPECT_EQ(FormatName("a\nb\x7f"), "a?b?");
  // Regression: exporters' names were cut at the part in which they differ.
  const struct {
    const char* name;
    const char* shown;
  } names[] = {{"0123456789", "0123456789"},
               {"jax/block/first", "jax...irst"},
               {"jax/block/last", "jax...last"},
               {"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", "\u00e9...\u00e9\u00e9"},
               {"\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf", "..."}};
  for (const auto& test : names) EXPECT_EQ(FormatName(test.name, 10), test.shown);
}

TEST(TableTest, AlignsColumns) {
  Table table({"name", ">bytes"});
  table.AddRow({"a", "1"});
  table.AddRow({"long|name", "1000"});
  EXPECT_EQ(table.ToText(), "name       bytes\na              1\nlong|name   1000\n");
  EXPECT_EQ(table.ToMarkdown(),
            "| name | bytes |\n|---|---:|\n| a | 1 |\n| long\\|name | 1000 |\n");
}

TEST(SuggestTest, NearestName) {
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(Nearest("--treads", {"--seed", "--threads"}), "--threads");
  EXPECT_EQ(Nearest("x", {}), "");
}

TEST(StatisticsTest, PercentilesInterpolate) {
  const std::vector<double> sorted = {1, 2, 3, 4};
  EXPECT_EQ(Percentile(sorted, 0), 1);
  EXPECT_EQ(Percentile(sorted, 50), 2.5);
  EXPECT_EQ(Percentile(sorted, 100), 4);
  const Summary summary = Summarize({4, 1, 3, 2});
  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.median, 2.5);
  EXPECT_EQ(summary.mean, 2.5);
  EXPECT_EQ(summary.max, 4);
  EXPECT_EQ(Summarize({7}).p99, 7);
}

TEST(ExitCodeTest, IsCarriedByTheError) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(absl::InternalError("x")), ExitCode::kFailure);
  EXPECT_EQ(ExitCodeOf(absl::ResourceExhaustedError("x")), ExitCode::kDoesNotFit);
  EXPECT_EQ(ExitCodeOf(UsageError("x")), ExitCode::kUsage);
  // The first exit code stays: it is the most specific.
  const absl::Status twice = WithExitCode(UsageError("x"), ExitCode::kRejectedInput);
  EXPECT_EQ(ExitCodeOf(twice), ExitCode::kUsage);
  EXPECT_TRUE(WithExitCode(absl::OkStatus(), ExitCode::kUsage).ok());
}

HostTensor Floats(const Shape& shape, const std::vector<float>& values) {
  return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
}

// Regression: `compare` passed values of the wrong sign, as they were below 1e-6.
TEST(DifferenceTest, SmallValuesAreComparedByTheirLargest) {
  const auto values = [](float first, float second) {
    return HostTensor::FromValues<float>(DType::kFloat32, {2}, {first, second});
  };
  const HostTensor small = values(1e-9F, -5e-8F), wrong = values(1e-9F, 5e-8F);
  const Tolerance scaled = {.atol_of_largest = true};
  EXPECT_TRUE(Compare(wrong, small, {}).ok);
  EXPECT_FALSE(Compare(wrong, small, scaled).ok);
  EXPECT_TRUE(Compare(small, small, scaled).ok);
  EXPECT_TRUE(Compare(values(100, 1e-7F), values(100, 0), scaled).ok);
  EXPECT_TRUE(Compare(values(0, 1e-7F), values(0, 0), scaled).ok);  // nothing to compare with
}

TEST(DifferenceTest, Metrics) {
  const HostTensor r = Floats({4}, {0, 1, -2, 4});
  const HostTensor a = Floats({4}, {0.5, 1, -2, 4});
  const Difference d = Compare(a, r, {.atol = 0, .rtol = 0.2});
  EXPECT_EQ(d.max_abs, 0.5);
  EXPECT_EQ(d.max_rel, 0.125);
  EXPECT_DOUBLE_EQ(d.nmse, 0.25 / 21);
  EXPECT_EQ(d.worst, 0);
  EXPECT_TRUE(d.ok);
  EXPECT_FALSE(Compare(a, r, {.metric = Metric::kElementwise, .atol = 0.4, .rtol = 0.2}).ok);
  EXPECT_TRUE(Compare(a, r, {.metric = Metric::kElementwise, .atol = 0.5, .rtol = 0}).ok);
  EXPECT_TRUE(Compare(a, r, {.metric = Metric::kNmse, .rtol = 0.2}).ok);
  EXPECT_FALSE(Compare(a, r, {.metric = Metric::kNmse, .rtol = 0.1}).ok);
  EXPECT_DOUBLE_EQ(d.cosine, std::sqrt(21 / 21.25));
  const Tolerance angle = {.metric = Metric::kCosine, .rtol = 0.006};  // 1 - 0.9941
  EXPECT_TRUE(Compare(a, r, angle).ok);
  EXPECT_FALSE(Compare(a, r, {.metric = Metric::kCosine, .rtol = 0.005}).ok);
  const HostTensor opposite = Floats({4}, {0, -1, 2, -4}), zeros = Floats({4}, {0, 0, 0, 0});
  EXPECT_DOUBLE_EQ(Compare(opposite, r, angle).cosine, -1);
  EXPECT_EQ(Compare(zeros, r, angle).cosine, 0);
  EXPECT_EQ(Compare(zeros, zeros, angle).cosine, 1);
}

TEST(DifferenceTest, NotANumberAndInfinity) {
  const HostTensor finite = Floats({2}, {1, 2});
  const HostTensor nan = Floats({2}, {1, NAN});
  const HostTensor infinite = Floats({2}, {1, INFINITY});
  for (const Metric metric : {Metric::kElementwise, Metric::kMax, Metric::kNmse, Metric::kCosine}) {
    const Tolerance tolerance = {.metric = metric, .atol = 1, .rtol = 1};
    EXPECT_FALSE(Compare(nan, finite, tolerance).ok);
    EXPECT_FALSE(Compare(finite, nan, tolerance).ok);
    EXPECT_FALSE(Compare(finite, infinite, tolerance).ok);
    EXPECT_FALSE(Compare(infinite, finite, tolerance).ok);
    EXPECT_TRUE(Compare(nan, nan, tolerance).ok);
    EXPECT_TRUE(Compare(infinite, infinite, tolerance).ok);
    Tolerance strict = tolerance;
    strict.check_finite = true;
    EXPECT_FALSE(Compare(nan, nan, strict).ok);
  }
}

TEST(TopClassesTest, LargestFirstAndOfEqualsTheFirst) {
  const auto top = TopClasses(Floats({2, 3}, {1, 3, 3, 9, 0, 5}), 2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0][0].index, 1);
  EXPECT_EQ(top[0][1].index, 2);
  EXPECT_EQ(top[1][0].value, 9);
  EXPECT_EQ(TopClasses(Floats({1, 2}, {1, 2}), 5)[0].size(), 2u);
  const auto worst = TopClasses(Floats({1, 4}, {NAN, 1, NAN, 2}), 4)[0];
  EXPECT_EQ(worst[0].index, 3);
  EXPECT_EQ(worst[1].index, 1);
  EXPECT_TRUE(std::isnan(worst[3].value));
}

TEST(LayerValuesTest, BlockedImagesBecomeRowMajor) {
  const Shape shape = {2, 20, 1, 3};
  std::vector<float> blocked(2 * 2 * 3 * 16, -1);
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 20; ++c) {
      for (int p = 0; p < 3; ++p) {
        blocked[((n * 2 + c / 16) * 3 + p) * 16 + c % 16] =
            static_cast<float>((n * 20 + c) * 3 + p);
      }
    }
  }
  const HostTensor tensor = RowMajor({DType::kFloat32, shape, Format::kNCHW16c},
                                     reinterpret_cast<const char*>(blocked.data()));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) EXPECT_EQ(tensor.At(i), i);
}

TEST(InputShapesTest, ShapesAreInferredAnew) {
  const Graph graph = testing::SmallModel(2);
  const Graph reshaped = Value(WithInputShapes(graph, {{"data", {7, 3, 16, 16}}}));
  EXPECT_EQ(reshaped.var(reshaped.outputs()[0].var).type.shape, (Shape{7, 10}));
  EXPECT_EQ(reshaped.nodes().size(), graph.nodes().size());
  EXPECT_TRUE(FailsWith(WithInputShapes(graph, {{"x", {1}}}).status(), "the model has: data"));
  EXPECT_TRUE(FailsWith(WithInputShapes(graph, {{"data", {1, 4, 16, 16}}}).status(), "conv1"));
}

// Names from files may hold anything.
TEST(HostileNamesTest, AreEscaped) {
  PlannedBuffers planned;
  planned.problem.problem.buffers = {{.id = 0, .lower = 0, .upper = 1, .size = 4}};
  planned.problem.ids = {"0"};
  planned.names = {"<img src=x>\"&\x01\xff"};
  planned.title = "</title><img src=x>";
  planned.result = Value(memory::PlanMemory(planned.problem.problem));
  planned.viewed = {ViewOf(planned.problem.problem, planned.result, planned.names, planned.title)};
  for (const PlanFormat format : {PlanFormat::kSvg, PlanFormat::kHtml}) {
    const std::string file = Value(PlanFile(planned, format, "<b>"));
    EXPECT_THAT(file, Not(HasSubstr("<img")));
    EXPECT_THAT(file, Not(HasSubstr("<b>")));
  }
}

TEST(DotTest, ShowsOperatorsAndShapes) {
  const std::string text = DotText(testing::SmallModel(1));
  EXPECT_THAT(text, HasSubstr("conv1\\nConvolutionForward"));
  EXPECT_THAT(text, HasSubstr("Float32{1,32,8,8}"));
}

}  // namespace
}  // namespace ashlar
