// --input-layout nhwc: models whose images have their channels last.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tests/support/command/command_process.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kN = 2, kC = 3, kH = 4, kW = 5;

class ChannelsLastTest : public CommandTest {
 protected:
  // Writes a model of images {N,C,H,W}, with a weight for each channel.
  static void WriteScaled(DType dtype) {
    GraphMaker maker;
    const int x = maker.Input("x", {kN, kC, kH, kW}, dtype);
    HostTensor weights = HostTensor::Zeros(dtype, {1, kC, 1, 1});
    for (int64_t c = 0; c < kC; ++c) weights.Set(c, static_cast<double>(c + 1));
    const int y = maker.Add<Elemwise>({ScalarFunction::kMul}, {x, maker.Constant(weights)}, "y");
    maker.Output(y);
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("scaled.ash"))));
  }
};

TEST_F(ChannelsLastTest, InputsAndOutputsArePermuted) {
  for (const DType dtype : {DType::kFloat32, DType::kUint16, DType::kFloat64}) {
    SCOPED_TRACE(Name(dtype));
    WriteScaled(dtype);
    std::mt19937_64 random(3);
    const HostTensor x = RandomTensor(random, dtype, {kN, kH, kW, kC}, 0, 90);
    ASSERT_TRUE(IsOk(WriteNpy(x, Path("x.npy"))));
    // The written models take images with their channels last.
    for (const char* file : {"last.ash", "last.onnx"}) {
      const ProcessResult convert =
          Ashlar(absl::StrCat("convert scaled.ash --input-layout nhwc -o ", file));
      ASSERT_EQ(convert.exit_code, 0) << convert.err;
    }
    for (const char* command :
         {"run scaled.ash --input-layout nhwc", "run last.ash", "run last.onnx"}) {
      SCOPED_TRACE(command);
      const ProcessResult run = Ashlar(absl::StrCat(command, " --input x.npy -o y.npz"));
      ASSERT_EQ(run.exit_code, 0) << run.err;
      const HostTensor y = testing::Value(ReadNpz(Path("y.npz")))[0].second;
      ASSERT_EQ(y.shape(), x.shape());
      ASSERT_EQ(y.dtype(), dtype);
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        HostTensor product = HostTensor::Zeros(dtype, {1});
        product.Set(0, x.At(i) * static_cast<double>(i % kC + 1));
        ASSERT_EQ(y.At(i), product.At(0)) << i;
      }
    }
  }
}

TEST_F(ChannelsLastTest, AModelWithoutImagesIsRefused) {
  GraphMaker maker;
  maker.Output(maker.Add<Elemwise>({ScalarFunction::kNegate}, {maker.Input("x", {2, 3})}, "y"));
  ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), Path("rows.ash"))));
  const ProcessResult plan = Ashlar("plan rows.ash --input-layout nhwc");
  EXPECT_EQ(plan.exit_code, 2);
  EXPECT_THAT(plan.err, HasSubstr("--input-layout nhwc: no input or output is {N,C,H,W}"));
}

}  // namespace
}  // namespace ashlar::testing
