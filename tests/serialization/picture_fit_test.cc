// Fits pictures to the size of an input.
#include "serialization/picture_fit.h"

#include "gmock/gmock.h"
#include "serialization/resample.h"
#include "tests/support/status.h"

namespace ashlar {
namespace {

using testing::FailsWith;
using testing::Value;
using Scaling = PictureFit::Scaling;

PictureFit FitBy(Scaling scaling, int64_t shorter_side = 0) {
  PictureFit fit;
  fit.scaling = scaling;
  fit.shorter_side = shorter_side;
  return fit;
}

PictureFit CropTo(PictureSize size) {
  PictureFit fit;
  fit.crop = size;
  return fit;
}

// Returns pixels whose red is the row and whose green is the column.
Pixels Grid(PictureSize size) {
  Pixels pixels = Pixels::Zeros(size);
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      pixels.at(y, x)[0] = static_cast<uint8_t>(y);
      pixels.at(y, x)[1] = static_cast<uint8_t>(x);
    }
  }
  return pixels;
}

// The first pixel follows torchvision's CenterCrop: int(round((height - crop) / 2.0)), with ties to
// the even neighbour.
TEST(FitPicture, CropsTheMiddle) {
  struct Case {
    PictureSize picture, crop, first;
  };
  for (const Case& c : {Case{{8, 6}, {4, 4}, {2, 1}}, Case{{7, 5}, {4, 4}, {2, 0}},
                        Case{{9, 5}, {4, 2}, {2, 2}}, Case{{4, 4}, {4, 4}, {0, 0}}}) {
    const Pixels got = Value(FitPicture(Grid(c.picture), c.crop, CropTo(c.crop)));
    ASSERT_EQ(got.size, c.crop);
    for (int64_t y = 0; y < c.crop.height; ++y) {
      for (int64_t x = 0; x < c.crop.width; ++x) {
        EXPECT_EQ(got.at(y, x)[0], c.first.height + y);
        EXPECT_EQ(got.at(y, x)[1], c.first.width + x);
      }
    }
  }
}

// torchvision's Resize(n): the longer side is int(n * longer / shorter).
TEST(FitPicture, ScalesTheShorterSide) {
  struct Case {
    PictureSize picture;
    int64_t shorter_side;
    PictureSize result;
  };
  for (const Case& c : {Case{{40, 30}, 20, {26, 20}}, Case{{30, 40}, 20, {20, 26}},
                        Case{{15, 15}, 20, {20, 20}}, Case{{3, 11}, 2, {2, 7}}}) {
    const PictureFit fit = FitBy(Scaling::kShorterSide, c.shorter_side);
    const Pixels got = Value(FitPicture(Grid(c.picture), c.result, fit));
    EXPECT_EQ(got.data, Value(Resample(Grid(c.picture), c.result)).data);
    EXPECT_TRUE(FailsWith(FitPicture(Grid(c.picture), {99, 99}, fit).status(), "99 x 99"));
  }
}

TEST(FitPicture, ScalesAndCrops) {
  PictureFit fit = FitBy(Scaling::kShorterSide, 16);
  fit.crop = PictureSize{14, 14};
  const Pixels scaled = Value(Resample(Grid({20, 30}), {16, 24}));
  const Pixels got = Value(FitPicture(Grid({20, 30}), {14, 14}, fit));
  EXPECT_EQ(std::vector<uint8_t>(got.at(0, 0), got.at(0, 0) + 3),
            std::vector<uint8_t>(scaled.at(1, 5), scaled.at(1, 5) + 3));
}

TEST(FitPicture, StretchesToBothSides) {
  const PictureSize size = {6, 20};
  PictureFit to = FitBy(Scaling::kTo);
  to.scaled = size;
  for (const PictureFit& fit : {PictureFit(), FitBy(Scaling::kStretch), to}) {
    EXPECT_EQ(Value(FitPicture(Grid({9, 9}), size, fit)).data,
              Value(Resample(Grid({9, 9}), size)).data);
  }
}

TEST(FitPicture, LetterboxesInGrey) {
  struct Case {
    PictureSize picture, input, inner, first;
  };
  for (const Case& c :
       {Case{{20, 40}, {30, 30}, {15, 30}, {7, 0}}, Case{{40, 20}, {30, 30}, {30, 15}, {0, 7}},
        Case{{10, 10}, {20, 20}, {20, 20}, {0, 0}}, Case{{3, 400}, {8, 8}, {1, 8}, {3, 0}}}) {
    PictureFit fit = FitBy(Scaling::kLetterbox);
    fit.grey = 77;
    const Pixels got = Value(FitPicture(Grid(c.picture), c.input, fit));
    ASSERT_EQ(got.size, c.input);
    const Pixels inner = Value(Resample(Grid(c.picture), c.inner));
    for (int64_t y = 0; y < c.input.height; ++y) {
      for (int64_t x = 0; x < c.input.width; ++x) {
        const int64_t row = y - c.first.height, column = x - c.first.width;
        const bool inside =
            row >= 0 && row < c.inner.height && column >= 0 && column < c.inner.width;
        for (int channel = 0; channel < 3; ++channel) {
          ASSERT_EQ(got.at(y, x)[channel], inside ? inner.at(row, column)[channel] : 77);
        }
      }
    }
  }
}

TEST(FitPicture, RefusesAResultOfAnotherSize) {
  EXPECT_TRUE(FailsWith(FitPicture(Grid({9, 9}), {8, 8}, CropTo(PictureSize{7, 7})).status(),
                        "the picture is 7 x 7 pixels then, and the input 8 x 8"));
  EXPECT_TRUE(FailsWith(FitPicture(Grid({9, 9}), {8, 8}, CropTo(PictureSize{10, 7})).status(),
                        "9 x 9 pixels is too small to cut 10 x 7"));
  const PictureFit tiny = FitBy(Scaling::kShorterSide, int64_t{1} << 40);
  EXPECT_FALSE(FitPicture(Grid({2, 255}), {8, 8}, tiny).ok());
}

TEST(StretchesUnasked, OnlyWhereProportionsChange) {
  EXPECT_TRUE(StretchesUnasked({3, 4}, {8, 8}, {}));
  EXPECT_FALSE(StretchesUnasked({3, 3}, {8, 8}, {}));
  EXPECT_FALSE(StretchesUnasked({3, 4}, {8, 8}, FitBy(Scaling::kStretch)));
  EXPECT_FALSE(StretchesUnasked({3, 4}, {8, 8}, FitBy(Scaling::kLetterbox)));
  EXPECT_FALSE(StretchesUnasked({3, 4}, {8, 8}, CropTo(PictureSize{8, 8})));
}

}  // namespace
}  // namespace ashlar
