#include "runtime/plan/stages/kernel_choice.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/fake_kernel.h"

namespace ashlar {
namespace {

using testing::FakeKernel;

struct Candidate {
  int64_t workspace;
  double time;
};

std::vector<std::shared_ptr<const Kernel>> Make(const std::vector<Candidate>& candidates) {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (const Candidate& candidate : candidates) {
    kernels.push_back(std::make_shared<const FakeKernel>(candidate.time, candidate.workspace));
  }
  return kernels;
}

TEST(KernelChoice, WorkspaceMayRaiseThePeakOnlyWhereLessOfItCostsMuch) {
  struct Case {
    std::vector<Candidate> candidates;
    int64_t live;   // beside a node of 100000 bytes without kernels
    int64_t least;  // the workspace assumed by the order
    size_t chosen;
  };
  const std::vector<Case> cases = {
      {{{384, 1}, {0, 1.1}}, 100000, 0, 1},  // at the peak
      {{{384, 1}, {0, 2.0}}, 100000, 0, 0},
      {{{kNegligibleWorkspace, 1}, {0, 1.1}}, 100000, 0, 1},
      {{{kNegligibleWorkspace + 1, 1}, {131, 1.1}}, 100000, 0, 1},
      {{{kNegligibleWorkspace + 2, 1}, {kNegligibleWorkspace + 1, 1.1}}, 100000, 4097, 1},
      {{{384, 1}, {0, 1.1}}, 99616, 0, 0},        // under the peak
      {{{384, 1}, {0, 1.1}}, 99617, 0, 1},        // a byte over it
      {{{384, 1}, {0, 2.0}}, 99617, 0, 0},        // the other is too slow
      {{{50000, 1}, {0, 1.1}}, 50000, 0, 0},      // under the peak
      {{{50001, 1}, {0, 1.1}}, 50000, 0, 1},      // over it
      {{{50001, 1}, {0, 1.3}}, 50000, 50001, 0},  // the other is too slow
  };
  for (const Case& test : cases) {
    KernelCandidates candidates(2);
    candidates[1] = Make(test.candidates);
    SCOPED_TRACE(::testing::Message()
                 << test.candidates[0].workspace << " bytes or " << test.candidates[1].workspace
                 << ", " << test.live << " live");
    EXPECT_EQ(LeastWorkspace(candidates)[1], test.least);
    EXPECT_EQ(ChooseKernels(candidates, {100000, test.live}, 0)[1], candidates[1][test.chosen]);
  }
}

TEST(KernelChoice, FewBytesOfWorkspaceFitWhereAnotherKernelsRaiseThePeakAnyway) {
  KernelCandidates candidates(2);
  candidates[0] = Make({{384, 1}, {0, 2.0}});  // too slow without
  candidates[1] = Make({{384, 1}, {0, 1.1}});
  const auto chosen = ChooseKernels(candidates, {100000, 100000}, 0);
  EXPECT_EQ(chosen[0], candidates[0][0]);
  EXPECT_EQ(chosen[1], candidates[1][0]);
}

TEST(KernelChoice, ExtraBytesMakeRoomForTheFastest) {
  KernelCandidates candidates(1);
  candidates[0] = Make({{384, 1}, {0, 1.1}});
  EXPECT_EQ(ChooseKernels(candidates, {100000}, 383)[0], candidates[0][1]);
  EXPECT_EQ(ChooseKernels(candidates, {100000}, 384)[0], candidates[0][0]);
}

}  // namespace
}  // namespace ashlar
