// Measures the memory that runs touch: the highest bytes changed under two complementary patterns,
// in and after arena, weights (or their window) and outputs. Guard pages, and the handler that ends
// the process, are used by the command only.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "runtime/device/changed_bytes.h"

namespace ashlar::c {
namespace {

constexpr uint8_t kPatterns[] = {0xA5, 0x5A};
constexpr int64_t kSlack = 1 << 16;  // bytes after arena and outputs that must stay unchanged
constexpr int kCountedRuns = 2;

// The session's tensors: inputs of zeros, outputs with slack.
class Tensors {
 public:
  absl::Status Bind(const ashlar_plan& plan, Session& session) {
    for (const ashlar_tensor& input : plan.inputs) {
      blocks_.emplace_back(static_cast<size_t>(input.bytes));
      ASHLAR_RETURN_IF_ERROR(session.BindInput(input.name, blocks_.back().data(), input.bytes));
    }
    for (const ashlar_tensor& output : plan.outputs) {
      blocks_.emplace_back(static_cast<size_t>(output.bytes + kSlack));
      outputs_.push_back(absl::MakeSpan(blocks_.back()));
      ASHLAR_RETURN_IF_ERROR(session.BindOutput(output.name, blocks_.back().data(), output.bytes));
    }
    highest_.resize(outputs_.size(), 0);
    return absl::OkStatus();
  }
  void Fill(uint8_t pattern) {
    for (const absl::Span<uint8_t> output : outputs_) {
      std::fill(output.begin(), output.end(), pattern);
    }
  }
  void RaiseHighest(uint8_t pattern) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const auto bytes = static_cast<int64_t>(outputs_[i].size());
      highest_[i] = std::max(highest_[i], HighestChanged(outputs_[i].data(), bytes, pattern));
    }
  }
  int64_t highest() const {
    int64_t sum = 0;
    for (const int64_t bytes : highest_) sum += bytes;
    return sum;
  }

 private:
  std::deque<std::vector<uint8_t>> blocks_;
  std::vector<absl::Span<uint8_t>> outputs_;
  std::vector<int64_t> highest_;
};

// Counts calls of malloc and its relatives by this process. The program or a preloaded library must
// count them in a function int64_t ashlar_heap_calls().
class HeapCalls {
 public:
  HeapCalls() : count_(reinterpret_cast<Count>(dlsym(RTLD_DEFAULT, "ashlar_heap_calls"))) {}
  bool counted() const { return count_ != nullptr; }
  int64_t now() const { return counted() ? count_() : -1; }

 private:
  using Count = int64_t (*)();
  Count count_;
};

absl::StatusOr<ashlar_measured> Verify(const ashlar_plan& plan) {
  ashlar_measured measured = {};
  ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                          plan.loaded->Load(&measured.weights));
  ASHLAR_ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      Session::Create(executable, {.arena_slack = kSlack, .window_slack = kSlack}));
  Tensors tensors;
  ASHLAR_RETURN_IF_ERROR(tensors.Bind(plan, *session));
  Device& device = *executable->planned().device;
  DeviceMemory& arena = session->arena();
  StreamedWeights* const streamed = executable->streamed();
  for (const uint8_t pattern : kPatterns) {
    ASHLAR_RETURN_IF_ERROR(device.Fill(arena.data(), pattern, arena.bytes()));
    tensors.Fill(pattern);
    if (streamed != nullptr) ASHLAR_RETURN_IF_ERROR(streamed->Fill(pattern));
    ASHLAR_RETURN_IF_ERROR(session->Run());
    ASHLAR_ASSIGN_OR_RETURN(const int64_t highest,
                            HighestChangedOn(device, arena.data(), arena.bytes(), pattern));
    measured.arena = std::max(measured.arena, highest);
    if (streamed != nullptr) {
      ASHLAR_ASSIGN_OR_RETURN(const int64_t window, streamed->Highest(pattern));
      measured.weights = std::max(measured.weights, window);
    }
    tensors.RaiseHighest(pattern);
  }
  measured.output = tensors.highest();
  const HeapCalls heap;
  const int64_t before = heap.now();
  for (int run = 0; run < kCountedRuns; ++run) ASHLAR_RETURN_IF_ERROR(session->Run());
  measured.heap_calls = heap.counted() ? heap.now() - before : -1;
  measured.ok = measured.arena <= plan.memory.arena && measured.weights <= plan.memory.weights &&
                measured.output <= plan.memory.output && measured.heap_calls <= 0;
  return measured;
}

}  // namespace
}  // namespace ashlar::c

ashlar_status ashlar_plan_verify(const ashlar_plan* plan, ashlar_measured* measured) {
  return ashlar::c::Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(ashlar::c::CheckGiven(plan, "plan"));
    ASHLAR_ASSIGN_OR_RETURN(const ashlar_measured result, ashlar::c::Verify(*plan));
    return ashlar::c::Write(result, "ashlar_measured", measured);
  });
}
