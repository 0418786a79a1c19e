#include "runtime/schedule/lifetimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "graph/graph_builder.h"
#include "memory/planner.h"
#include "opr/concat.h"
#include "opr/elemwise.h"
#include "opr/host_io.h"
#include "opr/reshape.h"
#include "opr/table.h"
#include "runtime/schedule/arena.h"
#include "runtime/schedule/storage.h"

namespace ashlar {
namespace {

using ::testing::ElementsAre;

// Builds small graphs of [1,16,n,n] tensors: 64 n^2 bytes each.
class LifetimesTest : public ::testing::Test {
 protected:
  int Add(OperatorPtr op, std::vector<int> inputs) {
    auto outputs = builder_.Add(std::move(op), std::move(inputs));
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    return (*outputs)[0];
  }
  int Input(const char* name, int64_t n) {
    GraphBuilder::NodeOptions options;
    options.name = name;
    auto op = std::make_shared<Host2DeviceCopy>(InputParam{DType::kFloat32, {1, 16, n, n}});
    return (*builder_.Add(op, {}, options))[0];
  }
  int Unary(ScalarFunction mode, int x) {
    return Add(std::make_shared<Elemwise>(ElemwiseParam{mode}), {x});
  }
  int Sum(int a, int b) {
    return Add(std::make_shared<Elemwise>(ElemwiseParam{ScalarFunction::kAdd}), {a, b});
  }
  void Output(int x) { Add(std::make_shared<OutputCallback>(OutputParam{}), {x}); }

  void Finish(StorageOptions options = {}) {
    graph_ = *std::move(builder_).Build();
    model_ = BuildStorageModel(graph_, options);
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (model_.scheduled[i]) order_.push_back(static_cast<int>(i));
    }
    workspace_.assign(graph_.nodes().size(), 0);
    lifetimes_ = ComputeLifetimes(graph_, model_, order_, workspace_, 64);
  }
  const memory::Buffer& BufferOf(int var) {
    return lifetimes_.problem.buffers[lifetimes_.storage_buffer[model_.views[var].storage]];
  }
  int64_t Arena() { return memory::PlanMemory(lifetimes_.problem)->plan.arena; }

  GraphBuilder builder_;
  Graph graph_;
  StorageModel model_;
  std::vector<int> order_;
  std::vector<int64_t> workspace_;
  Lifetimes lifetimes_;
};

TEST_F(LifetimesTest, AChainOfElementwiseOperatorsNeedsOneTensor) {
  const int a = Unary(ScalarFunction::kExp, Input("x", 4));
  const int b = Unary(ScalarFunction::kRelu, a);
  const int c = Unary(ScalarFunction::kTanh, b);
  Output(c);
  Finish();
  EXPECT_EQ(model_.storages[model_.views[c].storage].pool, Pool::kOutput);
  EXPECT_EQ(BufferOf(a).lower, 1);
  EXPECT_EQ(BufferOf(a).upper, 3);
  EXPECT_EQ(lifetimes_.num_overwrites, 1);  // b over a; c goes to the caller
  EXPECT_EQ(Arena(), 64 * 16);
}

// Regression: each visit of a chain cost its length squared, so planning 20,000 operators took
// minutes.
TEST_F(LifetimesTest, LongChainsAreLookedAtOnce) {
  constexpr int kOperators = 50000;
  int x = Input("x", 4);
  for (int i = 0; i < kOperators; ++i) x = Unary(ScalarFunction::kTanh, x);
  Output(x);
  Finish();
  EXPECT_EQ(lifetimes_.num_overwrites, kOperators - 2);  // neither the input nor the output
  EXPECT_LE(lifetimes_.looks, 4 * kOperators);
}

// Regression: each input of an operator was compared with all inputs before it.
TEST_F(LifetimesTest, OperatorsOfManyInputsAreLookedAtOnce) {
  constexpr int kInputs = 20000;
  const int x = Input("x", 4);
  std::vector<int> parts;
  for (int i = 0; i < kInputs; ++i) {
    parts.push_back(i % 2 == 0 ? Unary(ScalarFunction::kTanh, x) : parts.back());  // each twice
  }
  Output(Add(std::make_shared<Concat>(ConcatParam{1}), parts));
  Finish();
  const auto concat = static_cast<size_t>(graph_.nodes().size() - 2);
  EXPECT_EQ(model_.reads[concat].size(), kInputs / 2u);
  EXPECT_LE(lifetimes_.looks, 4 * kInputs);
  EXPECT_EQ(SimulatePeak(graph_, model_, order_, workspace_), 64 * 16 * (kInputs / 2));
}

TEST_F(LifetimesTest, WithoutInplaceEachOutputHasItsOwnMemory) {
  const int a = Unary(ScalarFunction::kExp, Input("x", 4));
  const int b = Unary(ScalarFunction::kRelu, a);
  Output(Unary(ScalarFunction::kTanh, b));
  Finish({.inplace = false});
  EXPECT_EQ(lifetimes_.num_overwrites, 0);
  EXPECT_EQ(Arena(), 2 * 64 * 16);
}

TEST_F(LifetimesTest, AnInputThatIsReadLaterIsNotOverwritten) {
  const int a = Unary(ScalarFunction::kExp, Input("x", 4));
  const int b = Unary(ScalarFunction::kRelu, a);
  const int c = Sum(a, b);
  Output(Unary(ScalarFunction::kTanh, c));
  Finish();
  ASSERT_EQ(lifetimes_.num_overwrites, 1);  // c over a or b, never b over a
  const memory::Inside& inside = lifetimes_.problem.inside[0];
  EXPECT_EQ(inside.inner, lifetimes_.storage_buffer[model_.views[c].storage]);
  EXPECT_EQ(Arena(), 2 * 64 * 16);
}

TEST_F(LifetimesTest, TheCallersInputIsNeverOverwritten) {
  Output(Unary(ScalarFunction::kRelu, Unary(ScalarFunction::kExp, Input("x", 4))));
  Finish();
  for (const auto& candidates : model_.overwrites) {
    for (const Overwrite& overwrite : candidates) {
      EXPECT_EQ(model_.storages[overwrite.storage].pool, Pool::kArena);
    }
  }
}

TEST_F(LifetimesTest, PartsOfAConcatenationAreMadeInPlace) {
  const int x = Input("x", 4);
  const int a = Unary(ScalarFunction::kExp, x);
  const int b = Unary(ScalarFunction::kTanh, x);
  const int joined = Add(std::make_shared<Concat>(ConcatParam{.axis = 1}), {a, b});
  Output(Unary(ScalarFunction::kRelu, joined));
  Finish();
  ASSERT_EQ(lifetimes_.problem.inside.size(), 2u);
  EXPECT_EQ(lifetimes_.problem.inside[0].offset, 0);
  EXPECT_EQ(lifetimes_.problem.inside[1].offset, 64 * 16);
  EXPECT_EQ(Arena(), 2 * 64 * 16);
}

// Sums of taps, as in 3-D convolutions. Each overwrites the one before it, and the last lies at its
// place in the concatenation. So all of them lie there.
TEST_F(LifetimesTest, SumsThatEndInAConcatenationAreMadeInPlace) {
  const int x = Input("x", 4);
  std::vector<int> parts;
  for (int part = 0; part < 2; ++part) {
    int sum = Unary(ScalarFunction::kExp, x);
    for (int tap = 0; tap < 2; ++tap) sum = Unary(ScalarFunction::kTanh, sum);
    parts.push_back(sum);
  }
  Output(
      Unary(ScalarFunction::kRelu, Add(std::make_shared<Concat>(ConcatParam{.axis = 1}), parts)));
  Finish();
  EXPECT_EQ(Arena(), 2 * 64 * 16);
  EXPECT_EQ(lifetimes_.num_overwrites, 0);
  EXPECT_EQ(lifetimes_.problem.buffers.size(), 3u);
}

// A tensor with another reader, or an output of the caller, keeps its own memory.
TEST_F(LifetimesTest, APlacedSumIsNotMadeOverWhatIsReadBesides) {
  const int x = Input("x", 4);
  const int read_twice = Unary(ScalarFunction::kExp, x), given = Unary(ScalarFunction::kTanh, x);
  Output(given);
  const int a = Unary(ScalarFunction::kTanh, read_twice), b = Unary(ScalarFunction::kRelu, given);
  const int joined = Add(std::make_shared<Concat>(ConcatParam{.axis = 1}), {a, b});
  Output(Unary(ScalarFunction::kRelu, joined));
  Output(Unary(ScalarFunction::kExp, read_twice));
  Finish();
  for (const int var : {a, b}) EXPECT_EQ(model_.storages[model_.views[var].storage].owner, var);
  EXPECT_EQ(Arena(), 3 * 64 * 16);
}

TEST_F(LifetimesTest, PartsOfAConcatenationNeedNotBeAlignedThemselves) {
  const int x = Input("x", 3);
  const int a =
      Unary(ScalarFunction::kExp, x);  // 576 bytes: its neighbour begins at no multiple of 512
  const int b = Unary(ScalarFunction::kTanh, x);
  const int joined = Add(std::make_shared<Concat>(ConcatParam{.axis = 1}), {a, b});
  Output(Unary(ScalarFunction::kRelu, joined));
  Finish();
  lifetimes_ = ComputeLifetimes(graph_, model_, order_, workspace_, 512);
  EXPECT_EQ(Arena(), 2 * 576);
}

TEST_F(LifetimesTest, WhatOverwritesAPartIsOnlyAsAlignedAsThePart) {
  const int x = Input("x", 3);
  const int a = Unary(ScalarFunction::kExp, x);
  const int b = Unary(ScalarFunction::kTanh, x);
  Output(
      Unary(ScalarFunction::kTanh, Add(std::make_shared<Concat>(ConcatParam{.axis = 1}), {a, b})));
  const int c = Unary(ScalarFunction::kRelu, b);
  Output(Unary(ScalarFunction::kTanh, c));
  Finish();
  lifetimes_ = ComputeLifetimes(graph_, model_, order_, workspace_, 512);
  EXPECT_EQ(lifetimes_.num_overwrites, 1);
  EXPECT_EQ(BufferOf(c).alignment, 64);  // 576 bytes into the joined tensor
  EXPECT_EQ(Arena(), 2 * 576);
  // It has no guard either, as the sub-buffer has none.
  lifetimes_ = ComputeLifetimes(graph_, model_, order_, workspace_, 64, /*guard=*/64);
  EXPECT_EQ(BufferOf(c).size, BufferOf(b).size);
}

TEST_F(LifetimesTest, AJoinedTensorIsNotOverwrittenWhileAPartIsStillRead) {
  const int x = Input("x", 4);
  const int a = Unary(ScalarFunction::kExp, x);
  const int b = Unary(ScalarFunction::kTanh, x);
  const int joined = Add(std::make_shared<Concat>(ConcatParam{.axis = 1}), {a, b});
  const int relu = Unary(ScalarFunction::kRelu, joined);  // would overwrite `a` with it
  Output(Add(std::make_shared<Concat>(ConcatParam{.axis = 1}), {relu, a}));
  Finish();
  EXPECT_EQ(lifetimes_.num_overwrites, 0);
}

TEST_F(LifetimesTest, OneVarHandedOutTwiceIsWrittenOnceAndCopiedOnce) {
  const int a = Unary(ScalarFunction::kExp, Input("x", 4));
  Output(a);
  GraphBuilder::NodeOptions options;
  options.binding = "again";
  ASSERT_TRUE(builder_.Add(std::make_shared<OutputCallback>(OutputParam{}), {a}, options).ok());
  Finish();
  const Storage& storage = model_.storages[model_.views[a].storage];
  EXPECT_EQ(storage.pool, Pool::kOutput);
  EXPECT_EQ(storage.binding, 0);
  EXPECT_EQ(Arena(), 0);
}

// A sub-buffer made long before its whole is copied there, if there is room for both.
TEST_F(LifetimesTest, APartThatWaitsNeedNotHoldThePlaceOfItsWhole) {
  const int x = Input("x", 4);
  const int waiting = Unary(ScalarFunction::kExp, x);
  int large = Input("large", 8);
  for (int i = 0; i < 6; ++i) large = Unary(ScalarFunction::kTanh, large);
  Output(large);
  const int made = Unary(ScalarFunction::kTanh, x);
  const int joined = Add(std::make_shared<Concat>(ConcatParam{.axis = 1}), {waiting, made});
  Output(Unary(ScalarFunction::kRelu, joined));
  Finish();
  ASSERT_EQ(lifetimes_.problem.inside.size(), 2u + lifetimes_.num_overwrites);
  const int64_t part = BufferOf(waiting).size, both = 3 * part;  // at the step that joins them
  const auto inners = [](const Lifetimes& lifetimes) {
    std::vector<int> list;
    const auto& inside = lifetimes.problem.inside;
    for (size_t i = 0; i < inside.size() - lifetimes.num_overwrites; ++i) {
      list.push_back(inside[i].inner);
    }
    return list;
  };
  const auto buffer = [&](int var) { return lifetimes_.storage_buffer[model_.views[var].storage]; };
  EXPECT_THAT(inners(WithoutWaitingPlacements(lifetimes_, both - 1, /*alike=*/false)),
              ElementsAre(buffer(waiting), buffer(made)));
  const Lifetimes fewer = WithoutWaitingPlacements(lifetimes_, both, /*alike=*/false);
  EXPECT_THAT(inners(fewer), ElementsAre(buffer(made)));
  EXPECT_EQ(fewer.num_overwrites, lifetimes_.num_overwrites);
  EXPECT_EQ(fewer.problem.buffers[buffer(waiting)].alignment, 64);
}

// Three images, whose results wait for the last: there is room for copies of the first sub-buffers
// alone, or of all.
TEST_F(LifetimesTest, ImagesShareMemoryAlikeWhereThatIsAskedFor) {
  constexpr int64_t kSteps = 20, kEnd = 3 * kSteps;
  Lifetimes lifetimes;
  for (int64_t t = 0; t < kEnd; t += kSteps) {
    std::vector<memory::Buffer>& buffers = lifetimes.problem.buffers;
    const int first = static_cast<int>(buffers.size());
    buffers.push_back({.lower = t, .upper = t + 9, .size = 64});  // waits
    buffers.push_back({.lower = t + 7, .upper = t + 9, .size = 64});
    buffers.push_back({.lower = t + 8, .upper = t + 10, .size = 128});  // holds both
    buffers.push_back({.lower = t, .upper = t + 2, .size = 30});
    buffers.push_back({.lower = t + 2, .upper = t + 4, .size = 50});
    buffers.push_back({.lower = t + 9, .upper = kEnd, .size = 10});  // the result
    lifetimes.problem.inside.push_back({first, first + 2, 0});
    lifetimes.problem.inside.push_back({first + 1, first + 2, 64});
  }
  const auto dropped = [&](int64_t bound, bool alike) {
    return 6 - WithoutWaitingPlacements(lifetimes, bound, alike).problem.inside.size();
  };
  EXPECT_EQ(dropped(128 + 64 + 10, false), 2u);
  EXPECT_EQ(dropped(128 + 64 + 10, true), 0u);
  EXPECT_EQ(dropped(128 + 64 + 20, false), 3u);
  EXPECT_EQ(dropped(128 + 64 + 20, true), 3u);
}

TEST_F(LifetimesTest, AViewKeepsItsSourceAlive) {
  const int x = Input("x", 4);
  const int a = Unary(ScalarFunction::kExp, x);
  const int shape = Add(
      Operators().MakeConstant(HostTensor::FromValues<int32_t>(DType::kInt32, Shape{2}, {1, 256})),
      {});
  const int flat = Add(std::make_shared<Reshape>(ReshapeParam{}), {a, shape});
  Output(Unary(ScalarFunction::kTanh, x));
  Output(Unary(ScalarFunction::kTanh, flat));
  Finish();
  EXPECT_EQ(model_.views[flat].storage, model_.views[a].storage);
  EXPECT_EQ(BufferOf(a).upper,
            static_cast<int64_t>(order_.size()) - 1);          // the last but one reads it
  EXPECT_FALSE(model_.scheduled[graph_.var(shape).producer]);  // only its value is needed
}

TEST_F(LifetimesTest, WorkspacesAndGuardsArePlanned) {
  const int a = Unary(ScalarFunction::kExp, Input("x", 4));
  const int b = Unary(ScalarFunction::kRelu, a);
  Output(Unary(ScalarFunction::kTanh, b));
  Finish({.inplace = false});
  workspace_[graph_.var(b).producer] = 1000;
  lifetimes_ = ComputeLifetimes(graph_, model_, order_, workspace_, 64, /*guard=*/64);
  const int workspace = lifetimes_.workspace_buffer[graph_.var(b).producer];
  ASSERT_GE(workspace, 0);
  EXPECT_EQ(lifetimes_.problem.buffers[workspace].size, 1064);
  EXPECT_EQ(lifetimes_.problem.buffers[workspace].lower, 2);
  EXPECT_EQ(lifetimes_.problem.buffers[workspace].upper, 3);
  EXPECT_EQ(BufferOf(a).size, 64 * 16 + 64);
}

}  // namespace
}  // namespace ashlar
