#include "tools/probe_ladder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/region.h"
#include "graph/status.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/session/binder.h"
#include "runtime/session/session.h"

namespace ashlar {
namespace {

// Larger than any memory.
constexpr int64_t kLargestSize = int64_t{1} << 24;

bool IsRefusal(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

}  // namespace

// The caller's tensors of a run. On the host they are the device's blocks, which kernels use
// directly.
class ProbeTensors {
 public:
  absl::Status Bind(Session& session) {
    const PlannedGraph& planned = session.executable().planned();
    const Graph& graph = planned.graph;
    for (const Binding& input : graph.inputs()) {
      ASHLAR_ASSIGN_OR_RETURN(const ProbeTensor tensor, Make(planned, input));
      ASHLAR_RETURN_IF_ERROR(session.BindInput(input.name, tensor.data, tensor.type.bytes()));
      inputs.push_back(tensor);
    }
    for (const Binding& output : graph.outputs()) {
      ASHLAR_ASSIGN_OR_RETURN(const ProbeTensor tensor, Make(planned, output));
      ASHLAR_RETURN_IF_ERROR(session.BindOutput(output.name, tensor.data, tensor.type.bytes()));
      outputs.push_back(tensor);
    }
    return absl::OkStatus();
  }

  std::vector<ProbeTensor> inputs, outputs;

 private:
  absl::StatusOr<ProbeTensor> Make(const PlannedGraph& planned, const Binding& binding) {
    ProbeTensor tensor{binding.name, planned.graph.var(binding.var).type, nullptr};
    if (planned.device->is_host()) {
      ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> block,
                              planned.device->Allocate(tensor.type.bytes()));
      tensor.data = block->data();
      blocks_.push_back(std::move(block));
    } else {
      on_host_.push_back(HostTensor::Zeros(tensor.type.dtype, tensor.type.shape));
      tensor.data = on_host_.back().mutable_raw();
    }
    return tensor;
  }

  std::vector<std::unique_ptr<DeviceMemory>> blocks_;
  std::vector<HostTensor> on_host_;
};

int64_t ProbeSizes::at(int index) {
  while (sizes_.size() <= static_cast<size_t>(index)) {
    const int64_t size = unit_ * static_cast<int64_t>(power_);
    if (sizes_.empty() || size > sizes_.back()) sizes_.push_back(size);
    power_ *= growth_;
  }
  return sizes_[static_cast<size_t>(index)];
}

bool ProbeReport::below() const {
  return std::any_of(rounds.begin(), rounds.end(), [&](const ProbeRound& round) {
    return round.refused < planned.refused || round.bytes > planned.bytes;
  });
}

bool ProbeReport::ok() const { return reason().empty(); }

std::string ProbeReport::reason() const {
  if (!wrong.empty()) return wrong;
  for (size_t i = 0; i < rounds.size(); ++i) {
    const ProbeRound& round = rounds[i];
    const std::string which = absl::StrCat("round ", i + 1, ": ");
    if (round.refused != planned.refused) {
      return absl::StrCat(which, "size ", round.refused, " was refused, and by the plans ",
                          planned.refused);
    }
    if (round.bytes != planned.bytes) {
      return absl::StrCat(which, "size ", round.fits, " took ", round.bytes, " bytes, planned ",
                          planned.bytes);
    }
    if (round.held != 0) {
      return absl::StrCat(which, round.held, " bytes stay allocated after it");
    }
  }
  return "";
}

// The session of a size. The tensors outlive the session.
class ProbeLadder::Instance {
 public:
  ProbeTensors tensors;
  std::unique_ptr<Session> session;
};

ProbeLadder::ProbeLadder(ProbeSubject& subject, const PlanRequest& request,
                         const ProbeSettings& settings, LimitedDevice& device)
    : subject_(subject),
      request_(request),
      settings_(settings),
      device_(device),
      sizes_(subject.unit(), settings.growth) {}

ProbeLadder::~ProbeLadder() = default;

absl::StatusOr<int64_t> ProbeLadder::PlannedBytes(int64_t size) {
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, subject_.At(size));
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<PlannedGraph> planned,
                          PlanGraph(std::move(graph), request_));
  std::vector<int64_t> blocks = {planned->plan.plan.arena, planned->state.bytes,
                                 planned->weights.bytes};
  if (planned->device->is_host()) {
    for (const auto* side : {&planned->graph.inputs(), &planned->graph.outputs()}) {
      for (const Binding& binding : *side) {
        blocks.push_back(planned->graph.var(binding.var).type.bytes());
      }
    }
  } else {
    const int64_t copies = Binder(planned->graph, *planned->device).copies_bytes();
    blocks.push_back(copies);
    if (settings_.counts_staging) blocks.push_back(copies);
  }
  int64_t sum = -settings_.understate_bytes;
  for (const int64_t bytes : blocks) {
    sum += CeilDivide(bytes, settings_.granularity) * settings_.granularity;
  }
  return sum;
}

absl::StatusOr<ProbeRound> ProbeLadder::Plan() {
  ProbeRound round;
  int64_t before = 0;
  for (int i = 0; sizes_.at(i) < kLargestSize; ++i) {
    ASHLAR_ASSIGN_OR_RETURN(const int64_t bytes, PlannedBytes(sizes_.at(i)));
    const int64_t together = bytes + (settings_.keep_previous ? before : 0);
    if (together > settings_.limit) {
      if (i == 0) {
        return absl::ResourceExhaustedError(
            absl::StrCat("size ", sizes_.at(0), " needs ", together,
                         " bytes, and the limit (--memory-limit) is ", settings_.limit));
      }
      round.refused = sizes_.at(i);
      return round;
    }
    round.fits = sizes_.at(i);
    round.bytes = together;
    before = bytes;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("all sizes to ", kLargestSize, " need less than ", settings_.limit, " bytes"));
}

absl::StatusOr<std::unique_ptr<ProbeLadder::Instance>> ProbeLadder::RunAt(int64_t size,
                                                                          std::string& wrong) {
  auto instance = std::make_unique<Instance>();
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, subject_.At(size));
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph), request_));
  ASHLAR_ASSIGN_OR_RETURN(instance->session, Session::Create(std::move(executable)));
  ASHLAR_RETURN_IF_ERROR(instance->tensors.Bind(*instance->session));
  subject_.Fill(instance->tensors.inputs);
  ASHLAR_RETURN_IF_ERROR(instance->session->Run());
  const absl::Status right = subject_.Check(instance->tensors.inputs, instance->tensors.outputs);
  if (!right.ok() && wrong.empty()) {
    wrong = absl::StrCat("size ", size, ": ", right.message());
  }
  return instance;
}

absl::Status ProbeLadder::WarmUp(const ProbeRound& planned) {
  std::unique_ptr<Instance> last;
  std::string ignored;
  for (int i = 0; sizes_.at(i) <= planned.fits; ++i) {
    if (!settings_.keep_previous) last.reset();
    ASHLAR_ASSIGN_OR_RETURN(last, RunAt(sizes_.at(i), ignored));
  }
  return absl::OkStatus();
}

absl::StatusOr<ProbeRound> ProbeLadder::RunRound(std::string& wrong) {
  ProbeRound round;
  const int64_t held = device_.used();  // kept by the negative control
  std::unique_ptr<Instance> last;
  for (int i = 0;; ++i) {
    const int64_t size = sizes_.at(i);
    if (size >= kLargestSize) {
      return absl::FailedPreconditionError(absl::StrCat("no size to ", size, " was refused"));
    }
    if (!settings_.keep_previous) last.reset();
    absl::StatusOr<std::unique_ptr<Instance>> made = RunAt(size, wrong);
    if (!made.ok()) {
      if (!IsRefusal(made.status())) return made.status();
      round.refused = size;
      return round;
    }
    round.fits = size;
    round.bytes = device_.used() - held;
    last = *std::move(made);
  }
}

absl::StatusOr<ProbeReport> ProbeLadder::Run(const ProbeRound& planned) {
  ProbeReport report;
  report.planned = planned;
  for (int i = 0; i < settings_.rounds; ++i) {
    ASHLAR_ASSIGN_OR_RETURN(ProbeRound round, RunRound(report.wrong));
    if (settings_.keep_session && i == 0) {
      ASHLAR_ASSIGN_OR_RETURN(kept_, RunAt(round.fits, report.wrong));
    }
    round.held = device_.used();
    report.rounds.push_back(round);
  }
  kept_.reset();
  return report;
}

}  // namespace ashlar
