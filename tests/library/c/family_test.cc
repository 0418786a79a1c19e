// Families of shapes: one model at many sizes, in one arena with one copy of its weights.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>

#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "serialization/native/writer.h"
#include "tests/library/c/library_test.h"
#include "tests/support/graph_maker.h"
#include "tests/support/sanitized.h"

namespace ashlar::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kChannels = 2, kInner = 4, kWindow = 3;

// A tensor {n, channels, height, width} in double precision.
struct Images {
  int64_t n, channels, height, width;
  std::vector<double> values;
  double At(int64_t i, int64_t c, int64_t y, int64_t x) const {
    if (y < 0 || y >= height || x < 0 || x >= width) return 0;
    return values[static_cast<size_t>(((i * channels + c) * height + y) * width + x)];
  }
};

// Convolves with {outputs, inputs, 3, 3}, padded to the same size.
Images Convolved(const Images& in, const HostTensor& filter) {
  const int64_t outputs = filter.shape()[0];
  Images out = {in.n, outputs, in.height, in.width, {}};
  for (int64_t i = 0; i < in.n; ++i) {
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t y = 0; y < in.height; ++y) {
        for (int64_t x = 0; x < in.width; ++x) {
          double sum = 0;
          for (int64_t c = 0; c < in.channels; ++c) {
            for (int64_t k = 0; k < kWindow * kWindow; ++k) {
              sum += filter.At((o * in.channels + c) * kWindow * kWindow + k) *
                     in.At(i, c, y + k / kWindow - 1, x + k % kWindow - 1);
            }
          }
          out.values.push_back(sum);
        }
      }
    }
  }
  return out;
}

HostTensor RandomFilter(int seed, int64_t outputs, int64_t inputs) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<float> value(0, 0.5);
  HostTensor filter = HostTensor::Zeros(DType::kFloat32, {outputs, inputs, kWindow, kWindow});
  for (float& x : filter.mutable_data<float>()) x = value(random);
  return filter;
}

class FamilyLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + "/family_" + test->name() + ".ash";
    ConvolutionParam param;
    param.pad_h = param.pad_w = 1;
    GraphMaker maker;
    const int x = maker.Input("x", {1, kChannels, 8, 8});
    int y = maker.Add<ConvolutionForward>(param, {x, maker.Constant(first_)}, "first");
    y = maker.Add<Elemwise>({ScalarFunction::kRelu}, {y}, "relu");
    maker.Output(maker.Add<ConvolutionForward>(param, {y, maker.Constant(second_)}, "y"));
    ASSERT_TRUE(IsOk(WriteModel(std::move(maker).Build(), path_)));
    ASSERT_EQ(ashlar_model_open(path_.c_str(), &model_), ASHLAR_OK) << ashlar_error_message();
  }
  void TearDown() override {
    ashlar_model_release(model_);
    std::remove(path_.c_str());
  }

  std::vector<double> Expected(const Images& input) const {
    Images inner = Convolved(input, first_);
    for (double& value : inner.values) value = std::max(value, 0.0);
    return Convolved(inner, second_).values;
  }

  // Returns the error of declaring these shapes.
  std::string Refusal(const char* shapes) const {
    ashlar_family* family = nullptr;
    EXPECT_EQ(ashlar_model_family(model_, shapes, nullptr, &family), ASHLAR_INVALID_ARGUMENT)
        << shapes;
    EXPECT_EQ(family, nullptr);
    return ashlar_error_message();
  }

  const HostTensor first_ = RandomFilter(1, kInner, kChannels),
                   second_ = RandomFilter(2, kChannels, kInner);
  std::string path_;
  ashlar_model* model_ = nullptr;
};

// A family with a session for each point, all with tensors of the largest size.
class Running {
 public:
  Running(const ashlar_model* model, const char* shapes) {
    ashlar_plan_options options = Threads(1);
    EXPECT_EQ(ashlar_model_family(model, shapes, &options, &family_), ASHLAR_OK)
        << ashlar_error_message();
    size_t count = 0;
    EXPECT_EQ(ashlar_family_plans(family_, &plans_, &count), ASHLAR_OK);
    memory_ = Sized<ashlar_memory>();
    EXPECT_EQ(ashlar_family_memory(family_, &memory_), ASHLAR_OK);
    input_.resize(static_cast<size_t>(memory_.input) / sizeof(float));
    output_.resize(static_cast<size_t>(memory_.output) / sizeof(float));
    for (size_t point = 0; point < count; ++point) {
      const ashlar_tensor* tensor = nullptr;
      size_t tensors = 0;
      ashlar_session* session = nullptr;
      EXPECT_EQ(ashlar_family_session(family_, point, nullptr, &session), ASHLAR_OK)
          << ashlar_error_message();
      ashlar_plan_inputs(plans_[point], &tensor, &tensors);
      shapes_.push_back({tensor->name, tensor->rank, {}});
      std::copy_n(tensor->shape, tensor->rank, shapes_.back().shape);
      EXPECT_EQ(ashlar_bind_input(session, nullptr, input_.data(),
                                  static_cast<size_t>(tensor->bytes), ASHLAR_HOST),
                ASHLAR_OK);
      EXPECT_EQ(ashlar_bind_output(session, nullptr, output_.data(),
                                   static_cast<size_t>(tensor->bytes), ASHLAR_HOST),
                ASHLAR_OK);
      EXPECT_EQ(ashlar_run(session), ASHLAR_OK) << ashlar_error_message();
      sessions_.push_back(session);
    }
  }
  ~Running() {
    ashlar_family_release(family_);  // before its sessions
    for (ashlar_session* session : sessions_) ashlar_session_release(session);
  }

  // Runs at the point of a shape, with `input_`.
  void Run(size_t of_point) {
    size_t point = 0;
    ASSERT_EQ(ashlar_family_point(family_, &shapes_[of_point], 1, 0, &point), ASHLAR_OK);
    ASSERT_EQ(point, of_point);
    ASSERT_EQ(ashlar_run(sessions_[point]), ASHLAR_OK) << ashlar_error_message();
  }

  ashlar_family* family_ = nullptr;
  const ashlar_plan* const* plans_ = nullptr;
  ashlar_memory memory_;
  std::vector<float> input_, output_;
  std::vector<ashlar_shape> shapes_;
  std::vector<ashlar_session*> sessions_;
};

TEST_F(FamilyLibraryTest, EveryPointComputesItsModel) {
  Running running(model_, "x=1..3x2x{5,9,12}x{7,8}");
  ASSERT_EQ(running.sessions_.size(), 18u);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(-1, 1);
  for (int turn = 0; turn < 60; ++turn) {
    const size_t point = random() % running.sessions_.size();
    const int64_t* const s = running.shapes_[point].shape;
    Images input = {s[0], s[1], s[2], s[3], {}};
    for (int64_t i = 0; i < s[0] * s[1] * s[2] * s[3]; ++i) {
      running.input_[static_cast<size_t>(i)] = value(random);
      input.values.push_back(running.input_[static_cast<size_t>(i)]);
    }
    running.Run(point);
    const std::vector<double> expected = Expected(input);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(running.output_[i], expected[i], 1e-4) << "point " << point << " element " << i;
    }
  }
}

// One arena as large as the largest, and weights that are there once.
TEST_F(FamilyLibraryTest, TakesTheLargestArenaAndTheWeightsOnce) {
  Running running(model_, "x={1,2}x2x{6,10}x6");
  int64_t arena = 0, weights = 0;
  for (size_t i = 0; i < running.sessions_.size(); ++i) {
    ashlar_memory memory = Sized<ashlar_memory>();
    ASSERT_EQ(ashlar_plan_memory(running.plans_[i], &memory), ASHLAR_OK);
    arena = std::max(arena, memory.arena);
    weights += memory.weights - memory.weights_shared;
  }
  EXPECT_EQ(running.memory_.arena, arena);
  EXPECT_EQ(running.memory_.weights, weights);
  ashlar_memory alone = Sized<ashlar_memory>();
  ASSERT_EQ(ashlar_plan_memory(running.plans_[0], &alone), ASHLAR_OK);
  EXPECT_LE(weights, 2 * alone.weights);  // kernels may pack differently for other sizes
  EXPECT_EQ(running.memory_.input, 2 * 2 * 10 * 6 * 4);
}

int64_t ResidentPages() {
  int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

// Ten thousand random sizes: not a page more, and not a call to the heap where calls are counted.
TEST_F(FamilyLibraryTest, TenThousandSizesTakeNothing) {
  Running running(model_, "x=1..3x2x5..12x5..12");
  ASSERT_EQ(running.sessions_.size(), 192u);
  std::mt19937 random(3);
  for (size_t point = 0; point < running.sessions_.size(); ++point) running.Run(point);
  using HeapCalls = int64_t (*)();
  const auto heap_calls = reinterpret_cast<HeapCalls>(dlsym(RTLD_DEFAULT, "ashlar_heap_calls"));
  const int64_t pages = ResidentPages();  // opens a file, which calls the heap
  const int64_t calls = heap_calls == nullptr ? 0 : heap_calls();
  for (int i = 0; i < 10000; ++i) running.Run(random() % running.sessions_.size());
  if (heap_calls != nullptr) {
    EXPECT_EQ(heap_calls(), calls);
  }
  if (!kSanitized) {
    EXPECT_LE(ResidentPages(), pages + 4);  // code and the test's own stack
  }
}

TEST_F(FamilyLibraryTest, AShapeFindsItsPointOrTheLeastThatHoldsIt) {
  Running running(model_, "x={1,4}x2x{8,16}x{8,16}");
  const auto find = [&](std::vector<int64_t> dims, int32_t pad, size_t& point) {
    ashlar_shape shape = {"x", static_cast<int32_t>(dims.size()), {}};
    std::copy(dims.begin(), dims.end(), shape.shape);
    return ashlar_family_point(running.family_, &shape, 1, pad, &point);
  };
  size_t point = 99;
  ASSERT_EQ(find({1, 2, 16, 8}, 0, point), ASHLAR_OK);
  EXPECT_EQ(point, 2u);
  ASSERT_EQ(find({2, 2, 7, 8}, 1, point), ASHLAR_OK);
  EXPECT_EQ(point, 4u);  // {4,2,8,8}
  ASSERT_EQ(find({1, 2, 9, 3}, 1, point), ASHLAR_OK);
  EXPECT_EQ(point, 2u);  // {1,2,16,8}
  point = 99;
  for (const auto& [dims, pad] : std::vector<std::pair<std::vector<int64_t>, int32_t>>{
           {{2, 2, 8, 8}, 0}, {{1, 2, 17, 8}, 1}, {{5, 2, 8, 8}, 1}, {{1, 2, 8}, 1}}) {
    EXPECT_EQ(find(dims, pad, point), ASHLAR_INVALID_ARGUMENT);
    EXPECT_THAT(ashlar_error_message(), HasSubstr("declared: x={1,4}x2x{8,16}x{8,16}"));
  }
  EXPECT_EQ(point, 99u);
  EXPECT_EQ(ashlar_family_point(running.family_, nullptr, 0, 0, &point), ASHLAR_INVALID_ARGUMENT);
  EXPECT_THAT(ashlar_error_message(), HasSubstr("x=?"));
}

TEST_F(FamilyLibraryTest, FamiliesWithoutMembersOrWithTooManyAreRefused) {
  EXPECT_THAT(Refusal("x=8..1x2x8x8"), HasSubstr("8..1 has no members"));
  EXPECT_THAT(Refusal("x=1x2x{}x8"), HasSubstr("{} has no members"));
  EXPECT_THAT(Refusal("x=1x2x{8,}x8"), HasSubstr("'' is no size"));
  EXPECT_THAT(Refusal("x=1x2x{8x8"), HasSubstr("is no size"));
  EXPECT_THAT(Refusal("x=0..2x2x8x8"), HasSubstr("dimension 0 is 0"));
  EXPECT_THAT(Refusal("x=1..33x2x1..32x8"), HasSubstr("1056 points"));
  EXPECT_THAT(Refusal("x=1..4000000000x2x8x8"), HasSubstr("4000000000 sizes"));
  EXPECT_THAT(Refusal("x=1x2x8x8 x=1x2x9x9"), HasSubstr("declared twice"));
  EXPECT_THAT(Refusal("x"), HasSubstr("expected NAME=SHAPE"));
  EXPECT_THAT(Refusal(""), HasSubstr("shapes is empty"));
  EXPECT_THAT(Refusal("x=1x{2,3}x8x8"), HasSubstr("x=1x3x8x8"));  // which the model refuses
  EXPECT_THAT(Refusal("z=1x{2,3}x8x8"), HasSubstr("z"));
  const ashlar_plan_options by_file = [] {
    ashlar_plan_options options = Sized<ashlar_plan_options>();
    options.plan_file = "any.plan";
    return options;
  }();
  ashlar_family* family = nullptr;
  EXPECT_EQ(ashlar_model_family(model_, "x=1..2x2x8x8", &by_file, &family),
            ASHLAR_INVALID_ARGUMENT);
  EXPECT_THAT(ashlar_error_message(), HasSubstr("plan_file"));
  Running running(model_, "x=1..2x2x8x8");
  ashlar_session* session = nullptr;
  EXPECT_EQ(ashlar_family_session(running.family_, 2, nullptr, &session), ASHLAR_INVALID_ARGUMENT);
  EXPECT_THAT(ashlar_error_message(), HasSubstr("point is 2"));
}

}  // namespace
}  // namespace ashlar::testing
