// Kernels chosen by measurement on a device with streams; times are from the device's clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "opr/conv_bias.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/measure/autotune.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/stages/kernel_choice.h"
#include "tests/runtime/cuda/emulated_device.h"
#include "tests/support/graph_maker.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"

namespace ashlar::testing {
namespace {

// The direct convolution under another name, after `extra` more launches of an emulated second
// each.
class SlowedConvolution final : public Kernel {
 public:
  SlowedConvolution(const cuda::ConvProblem& problem, std::string name, int extra,
                    int64_t workspace = 0)
      : inner_(cuda::MakeDirectConvolution(problem, 1)),
        name_(std::move(name)),
        extra_(extra),
        workspace_(workspace) {}
  std::string implementation() const override { return name_; }
  int64_t workspace_bytes() const override { return workspace_; }
  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    for (int i = 0; i < extra_; ++i) {
      static_cast<EmulatedStream*>(args.stream)->Enqueue([] {});
    }
    return inner_->Run(args, state);
  }

 private:
  std::unique_ptr<Kernel> inner_;
  const std::string name_;
  const int extra_;
  const int64_t workspace_;
};

// The direct convolution after as many more launches as `extra` returns for its session. Sessions
// are numbered from 1 over all kernels that share `sessions`.
class ConvolutionBySession final : public Kernel {
 public:
  ConvolutionBySession(const cuda::ConvProblem& problem, std::string name, int& sessions,
                       int (*extra)(int session))
      : inner_(cuda::MakeDirectConvolution(problem, 1)),
        name_(std::move(name)),
        sessions_(sessions),
        extra_(extra) {}
  std::string implementation() const override { return name_; }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    ++sessions_;
    return std::unique_ptr<KernelState>();
  }
  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    for (int i = 0; i < extra_(sessions_); ++i) {
      static_cast<EmulatedStream*>(args.stream)->Enqueue([] {});
    }
    return inner_->Run(args, state);
  }

 private:
  std::unique_ptr<Kernel> inner_;
  const std::string name_;
  int& sessions_;
  int (*const extra_)(int session);
};

// The fastest kernel, which leaves its output as it was.
class IdleConvolution final : public Kernel {
 public:
  explicit IdleConvolution(std::string name) : name_(std::move(name)) {}
  std::string implementation() const override { return name_; }
  absl::Status Run(const KernelArgs&, KernelState*) const override { return absl::OkStatus(); }

 private:
  const std::string name_;
};

// Enough time for all turns, however busy the machine is.
const TuneOptions kUnhurried = {.seconds = 1e9};

class CudaTune : public ::testing::Test {
 protected:
  // The library expects "first" to be the fastest, and names others only if all are requested.
  CudaTune() {
    device_.convolution_library =
        [](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
      KernelList kernels;
      kernels.push_back(std::make_unique<SlowedConvolution>(problem, "first", 2));
      if (problem.policy.all_candidates) {
        kernels.push_back(std::make_unique<SlowedConvolution>(problem, "slow", 5));
        kernels.push_back(std::make_unique<SlowedConvolution>(problem, "fast", 0));
      }
      return kernels;
    };
  }
  ~CudaTune() override { device_.convolution_library = nullptr; }

  static PlanRequest OnGpu() {
    PlanRequest request;
    request.target.comp_node = {CompNode::Type::kGpu, 0, 0};
    return request;
  }
  Graph Network() {
    std::mt19937_64 random(3);
    GraphMaker make;
    const int x = make.Input("x", {1, 8, 6, 6});
    ConvolutionParam padded;
    padded.pad_h = padded.pad_w = 1;
    make.Output(make.Add<ConvolutionForward>(
        padded, {x, make.Constant(RandomTensor(random, {8, 8, 3, 3}))}, "conv"));
    return std::move(make).Build();
  }
  std::string Chosen(const PlanRequest& request) {
    const std::unique_ptr<PlannedGraph> planned = Value(PlanGraph(Network(), request));
    for (const auto& kernel : planned->kernels) {
      if (kernel == nullptr) continue;
      const std::string name = kernel->implementation();
      if (name == "first" || name == "slow" || name == "fast") return name;
    }
    return "";
  }

  EmulatedDevice& device_ = EmulatedDevice::Install();
  int sessions_ = 0;  // counts sessions of ConvolutionBySession
};

TEST_F(CudaTune, TheFastestOnTheDevicesClockIsTakenFromThenOn) {
  EXPECT_EQ(Chosen(OnGpu()), "first");
  KernelRecord record;
  const std::vector<TunedProblem> problems =
      Value(Autotune(Network(), OnGpu(), kUnhurried, record)).problems;
  ASSERT_EQ(problems.size(), 1u);
  ASSERT_EQ(problems[0].trials.size(), 3u);
  const double first = problems[0].trials[0].seconds;
  EXPECT_DOUBLE_EQ(problems[0].trials[1].seconds, first + 3);
  EXPECT_DOUBLE_EQ(problems[0].trials[2].seconds, first - 2);
  PlanRequest tuned = OnGpu();
  tuned.planning.record = std::make_shared<const KernelRecord>(record);
  EXPECT_EQ(Chosen(tuned), "fast");
  // Products of rounded operands are other problems, and the record does not have them.
  tuned.planning.kernels.allow_tf32 = true;
  EXPECT_EQ(Chosen(tuned), "first");
}

TEST_F(CudaTune, TheWholeNetworkIsTimedWithTheChoicesAndWithout) {
  KernelRecord record;
  const Tuning tuning = Value(Autotune(Network(), OnGpu(), kUnhurried, record));
  ASSERT_TRUE(tuning.ratio.has_value());
  EXPECT_LT(tuning.ratio->median, 1);
  EXPECT_DOUBLE_EQ(tuning.ratio->low, tuning.ratio->high) << "the emulated clock is exact";
}

// A kernel that is fast between two marks, but does not speed up the network.
TEST_F(CudaTune, WhatMakesTheNetworkNoFasterIsNotTaken) {
  device_.convolution_library =
      [this](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "first", 2));
    if (problem.policy.all_candidates) {
      // No more launches in the sessions of the four turns, many afterwards.
      kernels.push_back(std::make_unique<ConvolutionBySession>(
          problem, "late", sessions_, [](int session) { return session > 4 ? 5 : 0; }));
    }
    return kernels;
  };
  KernelRecord record;
  const Tuning tuning = Value(Autotune(Network(), OnGpu(), kUnhurried, record));
  ASSERT_EQ(tuning.problems.size(), 1u);
  ASSERT_EQ(tuning.problems[0].trials.size(), 2u);
  EXPECT_LT(tuning.problems[0].trials[1].seconds, tuning.problems[0].trials[0].seconds);
  EXPECT_EQ(tuning.problems[0].chosen, 0);
  EXPECT_FALSE(tuning.ratio.has_value());
}

// The kernel that is expected to be best does not fit: others are compared with the next one.
TEST_F(CudaTune, WhatHasNoRoomIsNotWhatStays) {
  device_.convolution_library = [](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "large", 0, int64_t{1} << 30));
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "first", 1));
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "slow", 2));
    return kernels;
  };
  KernelRecord record;
  const Tuning tuning = Value(Autotune(Network(), OnGpu(), kUnhurried, record));
  ASSERT_EQ(tuning.problems.size(), 1u);
  const TunedProblem& problem = tuning.problems[0];
  EXPECT_EQ(problem.trials[0].seconds, 0);
  EXPECT_EQ(problem.trials[problem.chosen].implementation, "first");
  EXPECT_FALSE(tuning.ratio.has_value()) << "nothing changes";
}

// Two layers of one kind. At one of them the peak leaves no room for a kernel's workspace: its time
// on the other layer alone must not get it chosen.
TEST_F(CudaTune, AKernelThatRanOnSomeLayersIsComparedByTheLayer) {
  device_.convolution_library = [](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "first", 2));
    if (problem.policy.all_candidates) {
      kernels.push_back(
          std::make_unique<SlowedConvolution>(problem, "slow", 3, problem.dst.bytes()));
    }
    return kernels;
  };
  std::mt19937_64 random(4);
  GraphMaker make;
  const int x = make.Input("x", {1, 8, 16, 16});
  ConvolutionParam padded;
  padded.pad_h = padded.pad_w = 1;
  const auto convolution = [&](int input, const char* name) {
    return make.Add<ConvolutionForward>(
        padded, {input, make.Constant(RandomTensor(random, {8, 8, 3, 3}))}, name);
  };
  const int start = make.Add<Elemwise>(ElemwiseParam{ScalarFunction::kExp}, {x}, "start");
  const int first = convolution(start, "first"), second = convolution(first, "second");
  make.Output(make.Add<Elemwise>(ElemwiseParam{ScalarFunction::kMul}, {second, start}, "mul"));
  KernelRecord record;
  const std::vector<TunedProblem> problems =
      Value(Autotune(std::move(make).Build(), OnGpu(), kUnhurried, record)).problems;
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].nodes, 2);
  ASSERT_EQ(problems[0].trials.size(), 2u);
  ASSERT_GT(problems[0].trials[1].seconds, 0) << "it ran on one layer";
  EXPECT_DOUBLE_EQ(problems[0].trials[1].seconds, problems[0].trials[0].seconds + 2);
  EXPECT_EQ(problems[0].chosen, 0);
}

// Preparing kernels may take longer than the whole time for measuring.
TEST_F(CudaTune, TwoCandidatesAreTimedHoweverShortTheTime) {
  KernelRecord record;
  const std::vector<TunedProblem> problems =
      Value(Autotune(Network(), OnGpu(), {.seconds = 0}, record)).problems;
  ASSERT_EQ(problems.size(), 1u);
  ASSERT_EQ(problems[0].trials.size(), 3u);
  EXPECT_GT(problems[0].trials[0].seconds, 0);
  EXPECT_GT(problems[0].trials[1].seconds, 0);
  EXPECT_EQ(problems[0].trials[2].seconds, 0);
  EXPECT_EQ(record.choices.size(), 1u);
}

// A library compiles a kernel when asked for its workspace.
TEST_F(CudaTune, TheClockIsLookedAtAfterEachPreparation) {
  class Compiled final : public Kernel {
   public:
    Compiled(const cuda::ConvProblem& problem, std::set<std::string>& compiled)
        : inner_(cuda::MakeDirectConvolution(problem, 1)),
          problem_(problem.filter.ToString()),
          compiled_(compiled) {}
    std::string implementation() const override { return "compiled"; }
    int64_t workspace_bytes() const override {
      compiled_.insert(problem_);
      return 0;
    }
    absl::Status Run(const KernelArgs& args, KernelState* state) const override {
      return inner_->Run(args, state);
    }

   private:
    std::unique_ptr<Kernel> inner_;
    const std::string problem_;
    std::set<std::string>& compiled_;
  };
  std::set<std::string> compiled;
  device_.convolution_library =
      [&](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "first", 2));
    if (problem.policy.all_candidates) {
      kernels.push_back(std::make_unique<Compiled>(problem, compiled));
    }
    return kernels;
  };
  std::mt19937_64 random(5);
  GraphMaker make;
  int x = make.Input("x", {1, 4, 6, 6});
  for (int channels = 4; channels < 10; ++channels) {
    x = make.Add<ConvolutionForward>(
        ConvolutionParam(),
        {x, make.Constant(RandomTensor(random, {channels + 1, channels, 1, 1}))},
        absl::StrCat("conv", channels));
  }
  make.Output(x);
  const Graph graph = std::move(make).Build();
  for (const auto& [seconds, expected] : {std::pair(0.0, 1u), {1e9, 6u}}) {
    compiled.clear();
    KernelRecord record;
    const std::vector<TunedProblem> problems =
        Value(Autotune(graph, OnGpu(), {.seconds = seconds}, record)).problems;
    ASSERT_EQ(problems.size(), 6u);
    EXPECT_EQ(compiled.size(), expected) << seconds << " s";
    const auto timed =
        std::count_if(problems.begin(), problems.end(),
                      [](const TunedProblem& problem) { return problem.trials[1].seconds > 0; });
    EXPECT_EQ(timed, expected);
    for (const TunedProblem& problem : problems) EXPECT_GT(problem.trials[0].seconds, 0);
  }
}

// Three kernels need the filter in one layout, and a fourth in another.
TEST_F(CudaTune, WeightsArePackedOnceForAllThatWantThemAlike) {
  class Packs final : public Kernel {
   public:
    Packs(const cuda::ConvProblem& problem, std::string name, std::string key, int& packed)
        : inner_(cuda::MakeDirectConvolution(problem, 1)),
          name_(std::move(name)),
          packing_{std::move(key), problem.filter.bytes()},
          packed_(packed) {}
    std::string implementation() const override { return name_; }
    std::optional<Packing> packing(int input) const override {
      return input == 1 ? std::optional(packing_) : std::nullopt;
    }
    absl::Status Pack(int, const HostTensor& value, void* packed) const override {
      ++packed_;
      std::memcpy(packed, value.raw(), static_cast<size_t>(value.bytes()));
      return absl::OkStatus();
    }
    absl::Status Run(const KernelArgs& args, KernelState* state) const override {
      return inner_->Run(args, state);
    }

   private:
    std::unique_ptr<Kernel> inner_;
    const std::string name_;
    const Packing packing_;
    int& packed_;
  };
  int packed = 0;
  bool otherwise = false;
  device_.convolution_library =
      [&](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    for (const char* name : {"first", "second", "third"}) {
      kernels.push_back(std::make_unique<Packs>(problem, name, "as it is", packed));
    }
    if (otherwise) kernels.push_back(std::make_unique<Packs>(problem, "last", "too", packed));
    return kernels;
  };
  for (const auto& [last, most] : {std::pair(false, 1), {true, 2 * 4 + 1}}) {
    packed = 0;
    otherwise = last;
    KernelRecord record;
    const std::vector<TunedProblem> problems =
        Value(Autotune(Network(), OnGpu(), kUnhurried, record)).problems;
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].trials.size(), last ? 4u : 3u);
    for (const TunedProblem::Trial& trial : problems[0].trials) EXPECT_GT(trial.seconds, 0);
    EXPECT_GE(packed, 1);
    EXPECT_LE(packed, most);
  }
}

// Regression: an engine that cuDNN compiles gave no numbers for a sigmoid on an H200, and would
// have been chosen if it was the fastest.
TEST_F(CudaTune, AKernelThatComputesOtherValuesIsLeftOut) {
  device_.convolution_library = [](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "first", 3));
    if (!problem.policy.all_candidates) return kernels;
    // In the same pass another problem's is right.
    if (problem.filter.shape[0] % 2 == 0) {
      kernels.push_back(std::make_unique<IdleConvolution>("idle"));
    } else {
      kernels.push_back(std::make_unique<SlowedConvolution>(problem, "fast", 0));
    }
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "second", 1));
    return kernels;
  };
  std::mt19937_64 random(6);
  GraphMaker make;
  int x = make.Input("x", {1, 4, 6, 6});
  for (int channels = 4; channels < 9; ++channels) {
    x = make.Add<ConvolutionForward>(
        ConvolutionParam(),
        {x, make.Constant(RandomTensor(random, {channels + 1, channels, 1, 1}))},
        absl::StrCat("conv", channels));
  }
  make.Output(x);
  KernelRecord record;
  const std::vector<TunedProblem> problems =
      Value(Autotune(std::move(make).Build(), OnGpu(), kUnhurried, record)).problems;
  ASSERT_EQ(problems.size(), 5u);
  for (const TunedProblem& problem : problems) {
    ASSERT_EQ(problem.trials.size(), 3u);
    const bool idle = problem.trials[1].implementation == "idle";
    EXPECT_EQ(problem.trials[1].wrong, idle) << problem.node;
    EXPECT_EQ(problem.trials[1].seconds == 0, idle) << problem.node;
    EXPECT_EQ(problem.trials[problem.chosen].implementation, idle ? "second" : "fast")
        << problem.node;
    EXPECT_FALSE(problem.trials[2].wrong) << problem.node;
  }
}

TEST_F(CudaTune, WhenNothingWasTimedItSaysSo) {
  device_.convolution_library =
      [count = 0](const cuda::ConvProblem& problem) mutable -> absl::StatusOr<KernelList> {
    KernelList kernels;
    for (int i = 0; i < 2; ++i) {  // under names that are used once
      kernels.push_back(
          std::make_unique<SlowedConvolution>(problem, absl::StrCat("of call ", ++count), 0));
    }
    return kernels;
  };
  KernelRecord record;
  EXPECT_TRUE(
      FailsWith(Autotune(Network(), OnGpu(), kUnhurried, record).status(), "nothing was timed"));
  EXPECT_TRUE(record.choices.empty());
}

// Seven runs in each of four turns: the second kernel takes 0, 0, 1 and 3 more launches. Its median
// is below the first's 2, but by no more than the distance of its quartiles.
TEST_F(CudaTune, WhatIsFasterByNoMoreThanItsSpreadIsNotTaken) {
  device_.convolution_library =
      [this](const cuda::ConvProblem& problem) -> absl::StatusOr<KernelList> {
    KernelList kernels;
    kernels.push_back(std::make_unique<SlowedConvolution>(problem, "first", 2));
    if (problem.policy.all_candidates) {
      kernels.push_back(
          std::make_unique<ConvolutionBySession>(problem, "unsteady", sessions_, [](int session) {
            constexpr int kExtra[] = {0, 0, 1, 3};
            return kExtra[(session - 1) % 4];
          }));
    }
    return kernels;
  };
  KernelRecord record;
  const std::vector<TunedProblem> problems =
      Value(Autotune(Network(), OnGpu(), kUnhurried, record)).problems;
  ASSERT_EQ(problems.size(), 1u);
  ASSERT_EQ(problems[0].trials.size(), 2u);
  const TunedProblem::Trial &first = problems[0].trials[0], &unsteady = problems[0].trials[1];
  EXPECT_EQ(unsteady.samples.size(), 28u);
  EXPECT_DOUBLE_EQ(unsteady.seconds, first.seconds - 1);
  EXPECT_DOUBLE_EQ(unsteady.spread(), 1);
  EXPECT_EQ(problems[0].chosen, 0);
}

// On a device, a second tuning tries all candidates again. On the host it tries only the recorded
// family, for any number of threads.
TEST_F(CudaTune, TuningAgainTriesAll) {
  KernelRecord record;
  for (int i = 0; i < 2; ++i) {
    const std::vector<TunedProblem> problems =
        Value(Autotune(Network(), OnGpu(), kUnhurried, record)).problems;
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].trials.size(), 3u);
  }
}

}  // namespace
}  // namespace ashlar::testing
