#include "codegen/self_test.h"

#include <array>
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"

namespace ashlar {
namespace {

// Xorshift (Marsaglia 2003), as in the generated test.
class Generator {
 public:
  explicit Generator(uint32_t seed) : state_(seed) {}
  uint32_t Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }

 private:
  uint32_t state_;
};

class TraceListener final : public RunListener {
 public:
  TraceListener(Session& session, std::vector<SelfTest::Trace>& traces)
      : planned_(session.executable().planned()), session_(session), traces_(traces) {}

  void OnStepEnd(int step) override {
    const int index = planned_.schedule.order[static_cast<size_t>(step)];
    const OperatorNode& node = planned_.graph.node(index);
    if (planned_.kernels[static_cast<size_t>(index)] == nullptr || node.op->role() == Role::kOutput)
      return;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const std::optional<Location> location = planned_.LocateOutput(index, static_cast<int>(i));
      if (!location.has_value()) continue;
      traces_.push_back({step, static_cast<int>(i),
                         Crc32(static_cast<const char*>(BaseOf(*location)) + location->offset,
                               planned_.graph.var(node.outputs[i]).type.bytes())});
    }
  }
  bool reads_memory() const override { return true; }

 private:
  // Returns the address that the location's offset counts from.
  const void* BaseOf(const Location& location) const {
    switch (location.pool) {
      case Pool::kArena:
        return session_.arena().data();
      case Pool::kState: {
        const StateEntry& entry = planned_.state.entries[static_cast<size_t>(location.binding)];
        return session_.state()->Find(entry.name);
      }
      default:
        return session_.output_data(location.binding);
    }
  }

  const PlannedGraph& planned_;
  Session& session_;
  std::vector<SelfTest::Trace>& traces_;
};

}  // namespace

uint32_t Crc32(const void* data, int64_t bytes) {
  static const std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table;
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
      table[i] = crc;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  const auto* const from = static_cast<const uint8_t*>(data);
  for (int64_t i = 0; i < bytes; ++i) crc = crc >> 8 ^ kTable[(crc ^ from[i]) & 0xff];
  return ~crc;
}

HostTensor SelfTestInput(const TensorType& type, int index) {
  HostTensor tensor = HostTensor::Zeros(type);
  Generator generator(static_cast<uint32_t>(index) + 1);
  const DType stored = StoredAs(type.dtype);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const uint32_t bits = generator.Next();
    if (IsFloat(stored)) {
      tensor.Set(i, static_cast<double>(bits >> 8) / (1 << 23) - 1);
    } else if (stored == DType::kBool) {
      tensor.Set(i, bits & 1);
    } else if (SizeOf(stored) > 1) {
      tensor.Set(i, bits & 127);
    } else {
      static_cast<uint8_t*>(tensor.mutable_raw())[i] = static_cast<uint8_t>(bits);
    }
  }
  return tensor;
}

absl::StatusOr<SelfTest> MakeSelfTest(const std::shared_ptr<const Executable>& executable) {
  const Graph& graph = executable->graph();
  SelfTest test;
  InputTensors inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Binding& input = graph.inputs()[i];
    test.inputs.push_back(SelfTestInput(graph.var(input.var).type, static_cast<int>(i)));
    inputs.emplace(input.name, test.inputs.back());
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(executable));
  std::vector<bool> resets = {false};
  if (executable->planned().state.bytes > 0) resets = {true, false, true};
  for (const bool reset : resets) {
    SelfTest::Run run;
    run.resets = reset;
    if (reset) ASHLAR_RETURN_IF_ERROR(session->ResetStates());
    ASHLAR_ASSIGN_OR_RETURN(run.output_values, BindTensors(*session, inputs));
    TraceListener listener(*session, run.traces);
    ASHLAR_RETURN_IF_ERROR(session->Run(listener));
    for (const HostTensor& value : run.output_values) {
      run.outputs.push_back(Crc32(value.raw(), value.bytes()));
    }
    test.runs.push_back(std::move(run));
  }
  return test;
}

}  // namespace ashlar
