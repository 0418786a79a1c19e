// Detections of two runs in any order: boxes that match, and boxes that only one side has.
#include "tools/report/box_difference.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "serialization/native/writer.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

Detection At(double x, double y, double size, double score, int64_t label = 0) {
  return {{x, y, x + size, y + size}, score, label};
}

TEST(BoxDifference, MatchesByClassAndOverlapInAnyOrder) {
  std::mt19937_64 random(3);
  std::vector<Detection> boxes;
  for (int i = 0; i < 40; ++i) {
    boxes.push_back(At(i % 8 * 20, i / 8 * 20, 16, 0.02 * i + 0.1, i % 3));
  }
  std::vector<Detection> moved = boxes;
  for (Detection& d : moved) {
    d.box[0] += 1, d.box[2] += 1;  // 15 * 16 of both, of 17 * 16
    d.score += 0.001;
  }
  std::shuffle(moved.begin(), moved.end(), random);
  const BoxDifference same = CompareBoxes(moved, boxes, 0.5);
  EXPECT_TRUE(same.ok());
  EXPECT_EQ(same.matched, 20);  // 0.5 and more
  EXPECT_NEAR(same.least_overlap, 15.0 / 17, 1e-12);
  EXPECT_NEAR(same.score_difference, 0.001, 1e-12);
}

TEST(BoxDifference, NamesWhatOneSideHasAlone) {
  const std::vector<Detection> reference = {At(0, 0, 10, 0.9), At(50, 0, 10, 0.8, 2)};
  // Another class, too far away, and a score that is too low to need a match.
  for (const auto& [actual, alone, missed] :
       std::vector<std::tuple<std::vector<Detection>, size_t, size_t>>{
           {{At(0, 0, 10, 0.9), At(50, 0, 10, 0.8, 1)}, 1, 1},
           {{At(0, 0, 10, 0.9), At(58, 0, 10, 0.8, 2)}, 1, 1},
           {{At(0, 0, 10, 0.9)}, 0, 1},
           {{At(0, 0, 10, 0.9), At(0, 1, 10, 0.7), At(50, 0, 10, 0.8, 2)}, 1, 0},
           {{At(0, 0, 10, 0.9), At(90, 0, 10, 0.2), At(50, 0, 10, 0.8, 2)}, 0, 0},
           {{At(0, 0, 10, 0.9), At(50, 0, 10, 0.2, 2)}, 0, 0},  // matches below the score
           {{}, 0, 2}}) {
    const BoxDifference difference = CompareBoxes(actual, reference, 0.3);
    EXPECT_EQ(difference.only_actual.size(), alone);
    EXPECT_EQ(difference.only_reference.size(), missed);
    EXPECT_EQ(difference.ok(), alone + missed == 0);
  }
  EXPECT_TRUE(CompareBoxes({}, {}, 0).ok());
  EXPECT_TRUE(CompareBoxes({At(1, 1, 0, 1)}, {At(1, 1, 0, 1)}, 0).ok());  // without an area
}

TEST(BoxDifference, FindsDetectionsAmongOutputs) {
  const auto floats = [](const Shape& shape, std::vector<float> values) {
    return HostTensor::FromValues<float>(DType::kFloat32, shape, values);
  };
  const HostTensor boxes = floats({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const HostTensor labels = HostTensor::FromValues<int64_t>(DType::kInt64, {2}, {7, 9});
  const std::vector<Detection> apart = Value(DetectionsOf({{"masks", floats({3}, {1, 2, 3})},
                                                           {"labels", labels},
                                                           {"boxes", boxes},
                                                           {"scores", floats({2}, {0.5, 0.25})}}));
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_EQ(apart[1].box[2], 7);
  EXPECT_EQ(apart[1].score, 0.25);
  EXPECT_EQ(apart[1].label, 9);
  const std::vector<Detection> rows =
      Value(DetectionsOf({{"rows", floats({1, 1, 6}, {1, 2, 3, 4, 0.5, 3})}}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].score, 0.5);
  EXPECT_EQ(rows[0].label, 3);
  EXPECT_THAT(DetectionsOf({{"boxes", boxes}, {"y", floats({3}, {1, 2, 3})}}).status().message(),
              HasSubstr("boxes Float32{2,4}, y Float32{3}"));
}

class BoxCommandTest : public CommandTest {};

TEST_F(BoxCommandTest, ComparesDetectionsWithAFile) {
  GraphMaker make;
  make.Output(make.Input("rows", {3, 6}));
  ASSERT_TRUE(IsOk(WriteModel(std::move(make).Build(), Path("rows.ash"))));
  const auto write = [&](const std::string& name, std::vector<float> rows) {
    const HostTensor array = HostTensor::FromValues<float>(DType::kFloat32, {3, 6}, rows);
    ASSERT_TRUE(IsOk(WriteNpz({{"rows", array}}, Path(name))));
  };
  write("x.npz", {0, 0, 10, 10, 0.9F, 1, 20, 0, 30, 10, 0.6F, 2, 5, 5, 6, 6, 0.1F, 1});
  write("same.npz", {20, 0, 30, 10, 0.61F, 2, 0, 0, 10, 10, 0.9F, 1, 80, 80, 90, 90, 0.2F, 1});
  write("other.npz", {20, 0, 30, 10, 0.6F, 1, 0, 0, 10, 10, 0.9F, 1, 80, 80, 90, 90, 0.2F, 1});
  const std::string compare = "compare rows.ash --input x.npz --json --quiet --ref ";
  const ProcessResult same = Ashlar(compare + "same.npz --metric boxes:0.3");
  ASSERT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(same.Json()["boxes"]["matched"], 2);
  EXPECT_NEAR(same.Json()["boxes"]["score_difference"].get<double>(), 0.01, 1e-6);
  const ProcessResult other = Ashlar(compare + "other.npz --metric boxes:0.3");
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_EQ(other.Json()["boxes"]["only_reference"], 1);
  EXPECT_THAT(other.err, HasSubstr("1 boxes are its alone, and 1 the reference's"));
  ExpectEndings("compare rows.ash --input x.npz --ref same.npz ",
                {{"", 5, "first difference at rows"},
                 {"--metric boxes:0.3 --rtol 1", 2, "--metric boxes compares detections"},
                 {"--metric boxes:some", 2, "'some' is no score"}});
  const ProcessResult none = Ashlar("compare model.ash --metric boxes:0.3");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("are no boxes {..,4} with scores"));
}

}  // namespace
}  // namespace ashlar::testing
