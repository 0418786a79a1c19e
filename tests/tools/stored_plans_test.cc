// Plans as text: plans of random models survive writing and reading to the bit, and changed ones
// are refused.
#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "memory/problem/tied_buffers.h"
#include "memory/problem/work.h"
#include "opr/elemwise.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/packed_parts.h"
#include "runtime/plan/record/plan_as_recorded.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"
#include "serialization/crc32.h"
#include "serialization/native/writer.h"
#include "serialization/plan_file.h"
#include "tests/support/environment.h"
#include "tests/support/graph_maker.h"
#include "tests/support/sanitized.h"
#include "tests/support/status.h"
#include "tests/support/tensors.h"
#include "tests/support/tiled_graphs.h"
#include "tools/zoo/zoo.h"

namespace ashlar {
namespace {

using ::testing::HasSubstr;
using testing::RandomImageGraph;
using testing::RandomTensor;
using testing::RandomTiles;
using testing::Value;

struct Case {
  Graph graph;
  PlanRequest request;
  std::unique_ptr<PlannedGraph> planned;
  StoredPlan stored;
};

// Returns a random model with random options: untiled, in random tiles, or in a budget's.
Case MakeCase(uint64_t seed) {
  std::mt19937_64 random(seed);
  Case c;
  c.graph = RandomImageGraph(random, /*joins=*/seed % 2 == 0, /*max_channels=*/20);
  c.request.target.threads = 1 + static_cast<int>(seed / 2 % 2);
  c.request.planning.planner.limits.work = memory::kWorkPerMillisecond;
  c.request.planning.kernels.exact = seed % 5 == 1;
  c.request.planning.kernels.low_workspace = seed % 7 == 1;
  c.request.planning.inplace = seed % 11 != 1;
  if (seed % 13 == 1) c.request.planning.order = Order::kMegEngine;
  if (seed % 17 == 1) c.request.planning.planner.planner = "best_fit";
  if (seed % 19 == 1) c.request.debug.alignment = 256;
  // A search takes most of the time of all cases, and far more under sanitizers.
  if (seed % 9 == 1 && !testing::kSanitized) {
    c.request.target.budget = MemoryBudget();
  } else if (seed % 3 != 0) {
    const Graph rewritten =
        Value(RewriteGraph(c.graph, c.request.target, c.request.planning, {.tiled = true})).graph;
    c.request.target.tiles = RandomTiles(random, rewritten);
  }
  c.planned = Value(PlanGraph(c.graph, c.request));
  c.stored = {IdentityOf(c.graph), Value(RecordPlan(c.graph, *c.planned))};
  return c;
}

absl::StatusOr<std::unique_ptr<PlannedGraph>> Again(const Case& c, RecordedPlan plan) {
  return PlanGraph(c.graph,
                   RequestAsRecorded(std::make_shared<const RecordedPlan>(std::move(plan))));
}

std::vector<HostTensor> Infer(const std::shared_ptr<const Executable>& executable,
                              const HostTensor& input) {
  const auto session = Value(Session::Create(executable));
  std::vector<HostTensor> outputs =
      Value(BindTensors(*session, {{executable->graph().inputs()[0].name, input}}));
  EXPECT_TRUE(testing::IsOk(session->Run()));
  return outputs;
}

std::vector<HostTensor> Infer(std::unique_ptr<PlannedGraph> planned, const HostTensor& input) {
  return Infer(Value(Executable::FromPlan(std::move(planned))), input);
}

class StoredPlansTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cpu::RegisterDevice(); }
};

TEST_F(StoredPlansTest, PlansOfRandomModelsComeBackToTheBit) {
  const uint64_t cases = testing::kSanitized ? 10 : testing::LongTests() ? 100 : 30;
  uint64_t tiled = 0, shared = 0;
  for (uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "MakeCase(" << seed << ")");
    Case c = MakeCase(seed);
    const std::string text = PlanText(c.stored);
    const StoredPlan read = Value(ParsePlan(text));
    ASSERT_EQ(PlanText(read), text);
    EXPECT_EQ(read.model, c.stored.model);

    std::unique_ptr<PlannedGraph> again = Value(Again(c, read.plan));
    EXPECT_EQ(again->schedule.order, c.planned->schedule.order);
    EXPECT_EQ(again->plan.plan.offsets, c.planned->plan.plan.offsets);
    EXPECT_EQ(again->plan.plan.arena, c.planned->plan.plan.arena);
    EXPECT_EQ(again->plan.proof, c.planned->plan.proof);
    EXPECT_EQ(again->predicted_ms, c.planned->predicted_ms);
    EXPECT_EQ(PlanText({c.stored.model, Value(RecordPlan(c.graph, *again))}), text);
    tiled += !read.plan.target.tiles.empty();
    for (const RecordedChunk& chunk : read.plan.chunks) shared += chunk.inside >= 0;

    std::mt19937_64 random(seed);
    const HostTensor input = RandomTensor(random, c.graph.var(c.graph.inputs()[0].var).type.shape);
    const std::vector<HostTensor> fresh = Infer(std::move(c.planned), input);
    const std::vector<HostTensor> recorded = Infer(std::move(again), input);
    ASSERT_EQ(fresh.size(), recorded.size());
    for (size_t i = 0; i < fresh.size(); ++i) {
      EXPECT_EQ(testing::CountDifferences(fresh[i], recorded[i]), 0) << "output " << i;
    }
  }
  EXPECT_GT(tiled, cases / 5 - 1);
  EXPECT_GT(shared, cases / 5);
}

TEST_F(StoredPlansTest, WorkspacesComeBack) {
  Case c;
  c.graph = Value(ZooModels()[0].build({.image = 64}));
  c.request.target.processor = Value(Processor::Parse("avx512/32K/1M"));
  c.request.planning.extra_workspace = 16 << 20;
  c.planned = Value(PlanGraph(c.graph, c.request));
  c.stored = {IdentityOf(c.graph), Value(RecordPlan(c.graph, *c.planned))};
  int workspaces = 0;
  for (const RecordedChunk& chunk : c.stored.plan.chunks) {
    workspaces += chunk.kind == ChunkKind::kWorkspace;
  }
  EXPECT_GT(workspaces, 0);
  const std::string text = PlanText(c.stored);
  const auto again = Value(Again(c, Value(ParsePlan(text)).plan));
  EXPECT_EQ(PlanText({c.stored.model, Value(RecordPlan(c.graph, *again))}), text);
}

// Regression: the writer called a function that was not there.
TEST_F(StoredPlansTest, AGraphWithoutWeightsIsPacked) {
  testing::GraphMaker make;
  make.Output(make.Add<Elemwise>({ScalarFunction::kNegate}, {make.Input("x", {2, 3})}, "y"));
  const Graph graph = std::move(make).Build();
  const PackedModel packed = Executable::ToPacked(Value(Executable::Compile(Graph(graph), {})));
  EXPECT_TRUE(testing::IsOk(WriteModel(graph, packed, ::testing::TempDir() + "no_weights.ash")));
}

// Regression: if a plan needed one entry packed otherwise, all weights of a packed file were packed
// again.
TEST_F(StoredPlansTest, PartsThatAreNotPackedArePackedAndTheOthersTaken) {
  Case c;
  c.graph = Value(BuildResNet18({.image = 64}));
  PackedModel packed = Executable::ToPacked(Value(Executable::Compile(Graph(c.graph), c.request)));
  c.request.planning.kernels.low_workspace = true;
  c.planned = Value(PlanGraph(c.graph, c.request));
  const auto recorded =
      std::make_shared<const RecordedPlan>(Value(RecordPlan(c.graph, *c.planned)));
  const PlanRequest request = RequestAsRecorded(recorded);
  std::mt19937_64 random(1);
  const HostTensor input = RandomTensor(random, c.graph.var(c.graph.inputs()[0].var).type.shape);
  const std::vector<HostTensor> wanted = Infer(std::move(c.planned), input);

  packed.weights.erase(packed.weights.begin() + 1);
  auto planned = Value(PlanWithPackedParts(packed, Graph(c.graph), request));
  size_t taken = 0;
  for (const WeightEntry& entry : planned->weights.entries) taken += entry.packed != nullptr;
  EXPECT_GT(taken, planned->weights.entries.size() / 2);
  EXPECT_LT(taken, planned->weights.entries.size());
  const auto mixed = Value(Executable::FromPlan(std::move(planned)));
  for (size_t n = 0; n < mixed->graph().nodes().size(); ++n) {
    const std::vector<int>& entries = mixed->planned().weights.by_input[n];
    for (size_t i = 0; i < entries.size(); ++i) {
      const auto location = mixed->planned().LocateInput(static_cast<int>(n), static_cast<int>(i));
      if (entries[i] < 0 || !location) continue;
      const WeightEntry& entry = mixed->planned().weights.entries[entries[i]];
      const char* const pool = static_cast<const char*>(mixed->weights());
      EXPECT_EQ(mixed->AddressOf(*location), entry.packed != nullptr
                                                 ? static_cast<const char*>(entry.packed.get())
                                                 : pool + entry.offset)
          << "what is packed is used where it lies";
    }
  }
  const std::vector<HostTensor> outputs = Infer(mixed, input);
  ASSERT_EQ(outputs.size(), wanted.size());
  EXPECT_EQ(testing::CountDifferences(outputs[0], wanted[0]), 0);

  const Graph other = Value(BuildResNet18({.image = 96}));
  EXPECT_TRUE(absl::IsFailedPrecondition(PlanWithPackedParts(packed, other, request).status()));
}

// Returns whether the plan is valid, by a comparison of all pairs. Unrelated chunks must not
// overlap, related ones must lie as their relation demands, and the arena must end with the highest
// chunk.
bool IsPlan(const RecordedPlan& plan) {
  const std::vector<int> groups = memory::FirstTied(plan.problem());
  int64_t highest = 0;
  for (size_t i = 0; i < plan.chunks.size(); ++i) {
    const memory::Buffer& a = plan.chunks[i].buffer;
    if (*a.offset < 0 || *a.offset % a.alignment != 0) return false;
    if (a.size > 0) highest = std::max(highest, *a.offset + a.size);
    const int outer = plan.chunks[i].inside;
    if (outer >= 0 && *a.offset != *plan.chunks[outer].buffer.offset + plan.chunks[i].at) {
      return false;
    }
    for (size_t k = 0; k < i; ++k) {
      const memory::Buffer& b = plan.chunks[k].buffer;
      const bool together = a.lower < b.upper && b.lower < a.upper;
      const bool overlap = *a.offset < *b.offset + b.size && *b.offset < *a.offset + a.size;
      if (together && overlap && groups[i] != groups[k]) return false;
    }
  }
  return highest == plan.arena;
}

// Returns the text of a document with its correct checksum, as docs/plan.schema.json defines it.
std::string Sealed(nlohmann::json document) {
  if (document.is_object()) {
    document.erase("checksum");
    const std::string text = document.dump();
    document["checksum"] = absl::StrFormat("crc32:%08x", Crc32(0, text.data(), text.size()));
  }
  return document.dump();
}

TEST_F(StoredPlansTest, AnyOffsetThatIsChangedIsRefused) {
  constexpr uint64_t kCases = testing::kSanitized ? 3 : 15;
  int refused = 0, elsewhere = 0;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(::testing::Message() << "MakeCase(" << seed << ")");
    const Case c = MakeCase(seed);
    const nlohmann::json document = nlohmann::json::parse(PlanText(c.stored));
    for (size_t i = 0; i < c.stored.plan.chunks.size(); ++i) {
      nlohmann::json moved = document;
      moved["chunks"][i]["offset"] = moved["chunks"][i]["offset"].get<int64_t>() + 64;
      EXPECT_EQ(ParsePlan(moved.dump()).status().code(), absl::StatusCode::kInvalidArgument);
      EXPECT_TRUE(testing::IsOk(ParsePlan(Sealed(moved)).status())) << "as the schema says";
      const int64_t offset = *c.stored.plan.chunks[i].buffer.offset;
      const int64_t bytes = c.stored.plan.chunks[i].buffer.size;
      for (const int64_t other : {offset + 64, offset - 64, offset + 4096, offset + bytes,
                                  offset + 1, int64_t{0}, c.stored.plan.arena}) {
        if (other == offset || other < 0) continue;
        SCOPED_TRACE(::testing::Message() << "chunk " << i << " at " << other);
        // The file has a checksum; a document with a correct one is refused for its contents.
        RecordedPlan changed = c.stored.plan;
        changed.chunks[i].buffer.offset = other;
        const bool is_plan = IsPlan(changed);
        const absl::Status status = Again(c, std::move(changed)).status();
        ASSERT_EQ(status.ok(), is_plan) << status;
        if (!is_plan) {
          EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
        }
        refused += !is_plan;
        elsewhere += is_plan;
      }
    }
  }
  EXPECT_GT(refused, testing::kSanitized ? 100 : 500);
  EXPECT_GT(elsewhere, 0) << "some other place is as good";
}

TEST_F(StoredPlansTest, WhatContradictsTheGraphIsRefused) {
  const struct {
    const char* name;
    std::function<void(RecordedPlan&)> change;
    const char* message;
  } cases[] = {
      {"size", [](auto& p) { p.chunks[0].buffer.size += 64; }, "the graph makes it"},
      {"smaller", [](auto& p) { p.chunks[0].buffer.size -= 64; }, "the graph makes it"},
      {"birth", [](auto& p) { p.chunks[0].buffer.lower += 1; }, "the graph makes it"},
      {"death", [](auto& p) { p.chunks[0].buffer.upper -= 1; }, "the graph makes it"},
      {"alignment", [](auto& p) { p.chunks[0].buffer.alignment = 1; }, "the graph makes it"},
      {"another chunk", [](auto& p) { p.chunks[0].buffer.id += 1000; }, "the graph makes it"},
      {"a chunk less", [](auto& p) { p.chunks.pop_back(); }, "chunks; the graph has"},
      {"no chunk", [](auto& p) { p.chunks.clear(); }, "0 chunks; the graph has"},
      {"inside",
       [](auto& p) {
         p.chunks[0].inside = 1;
         p.chunks[0].at = 12;
       },
       "lie inside"},
      {"arena", [](auto& p) { p.arena += 64; }, "claims an arena"},
      {"bound", [](auto& p) { p.lower_bound -= 1; }, "lower bound"},
      {"weights", [](auto& p) { p.weights -= 64; }, "bytes of weights"},
      {"output", [](auto& p) { p.outputs += 4; }, "of outputs"},
      {"a step less", [](auto& p) { p.steps.pop_back(); }, "operators; the graph has"},
      {"a step twice", [](auto& p) { p.steps[1] = p.steps[0]; }, "twice"},
      {"an unknown step", [](auto& p) { p.steps[1].id += 10000; }, "the graph has none"},
      {"order", [](auto& p) { std::reverse(p.steps.begin(), p.steps.end()); }, "has to run before"},
      {"no kernel",
       [](auto& p) {
         for (RecordedStep& step : p.steps) step.kernel = "";
       },
       "no kernel is named"},
  };
  const Case c = MakeCase(0);
  for (const auto& changed : cases) {
    SCOPED_TRACE(changed.name);
    RecordedPlan plan = c.stored.plan;
    plan.path = "m.plan";
    changed.change(plan);
    const absl::Status status = Again(c, std::move(plan)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::StartsWith("m.plan: "));
    EXPECT_THAT(std::string(status.message()), HasSubstr(changed.message));
  }
}

TEST_F(StoredPlansTest, AnotherKernelOrProcessorDoesNotSuit) {
  const Case c = MakeCase(0);
  RecordedPlan plan = c.stored.plan;
  for (RecordedStep& step : plan.steps) {
    if (!step.kernel.empty()) step.kernel = "abacus";
  }
  absl::Status status = Again(c, plan).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no kernel 'abacus'"));
  plan = c.stored.plan;
  plan.processor.l2_bytes += 4096;
  status = Again(c, plan).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the plan is for the processor"));
}

TEST_F(StoredPlansTest, AnotherVersionOfTheFormatIsNamed) {
  nlohmann::json document = nlohmann::json::parse(PlanText(MakeCase(0).stored));
  document["version"] = 2;
  const absl::Status status = ParsePlan(document.dump()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("format version 2, this program reads 1"));
}

// Lists pointers to all values of a document, the whole first.
void Pointers(const nlohmann::json& value, const nlohmann::json::json_pointer& at,
              std::vector<nlohmann::json::json_pointer>& pointers) {
  pointers.push_back(at);
  for (const auto& [key, member] : value.items()) {
    if (value.is_object()) Pointers(member, at / key, pointers);
    if (value.is_array()) Pointers(member, at / std::stoul(key), pointers);
  }
}

// Each change is refused with a reason, or has no effect.
TEST_F(StoredPlansTest, AnyValueInTheFileMayBeAnything) {
  const Case c = MakeCase(2);
  const nlohmann::json document = nlohmann::json::parse(PlanText(c.stored));
  std::vector<nlohmann::json::json_pointer> pointers;
  Pointers(document, nlohmann::json::json_pointer(), pointers);
  const nlohmann::json values[] = {nullptr,
                                   -1,
                                   0,
                                   7,
                                   INT64_MAX,
                                   UINT64_MAX,
                                   1e300,
                                   true,
                                   "",
                                   "0-9:rows2",
                                   nlohmann::json::array(),
                                   nlohmann::json::object()};
  std::mt19937_64 random(1);
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    nlohmann::json changed = document;
    const auto& pointer = pointers[random() % pointers.size()];
    const nlohmann::json& value = values[random() % std::size(values)];
    SCOPED_TRACE(::testing::Message() << pointer.to_string() << " is " << value.dump());
    changed[pointer] = value;
    absl::StatusOr<StoredPlan> read = ParsePlan(Sealed(changed));
    absl::Status status = read.status();
    if (status.ok()) status = Again(c, std::move(read->plan)).status();
    ASSERT_TRUE(status.ok() || absl::IsInvalidArgument(status) ||
                absl::IsFailedPrecondition(status) || absl::IsNotFound(status) ||
                absl::IsUnavailable(status))
        << status;
    refused += !status.ok();
  }
  EXPECT_GT(refused, 1000);
  const std::string text = PlanText(c.stored);
  for (size_t length = 0; length < text.size(); length += 97) {
    EXPECT_FALSE(ParsePlan(absl::string_view(text).substr(0, length)).ok()) << length;
  }
}

}  // namespace
}  // namespace ashlar
