// Prints results that must be the same on all processors: planner results, and plans of a model,
// whole and within a budget. The model's outputs may differ by rounding: they are written to a
// file, or compared with the file if it exists. scripts/test_aarch64.sh compares the text of x86
// and 64-bit Arm.
//
//   cross_check OUTPUTS       exit 0: the memory used equals the memory planned, and outputs agree
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/measure/measure.h"
#include "runtime/plan/plan_graph.h"
#include "runtime/plan/record/recorded_plan.h"
#include "tests/memory/packed_problem.h"
#include "tools/zoo/zoo.h"

namespace ashlar {
namespace {

constexpr int64_t kBudget = 300 << 10;  // bytes; the untiled model takes 1,105,920
constexpr double kTolerance = 1e-4;     // relative to the largest output

absl::Status PrintPlannersAnswers() {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const memory::Problem problem = memory::testing::PackedProblem(
        seed, {.buffers = 60, .steps = 200, .bytes = 1 << 12, .related = 30, .alignments = true});
    for (const auto& planner : memory::Planners()) {
      ASHLAR_ASSIGN_OR_RETURN(const memory::PlanResult result,
                              memory::PlanMemory(problem, *planner, {}));
      std::cout << planner->name() << " on problem " << seed << ": " << result.plan.arena
                << " bytes, " << memory::ProofText(result) << ", offsets";
      for (const int64_t offset : result.plan.offsets) std::cout << " " << offset;
      std::cout << "\n";
    }
  }
  return absl::OkStatus();
}

PlanRequest Request(bool in_budget) {
  PlanRequest request;
  if (in_budget) request.target.budget = MemoryBudget{kBudget};
  return request;
}

absl::Status PrintPlan(const Graph& model, const char* processor, bool in_budget) {
  PlanRequest request = Request(in_budget);
  ASHLAR_ASSIGN_OR_RETURN(request.target.processor, Processor::Parse(processor));
  ASHLAR_ASSIGN_OR_RETURN(const auto planned, PlanGraph(model, request));
  ASHLAR_ASSIGN_OR_RETURN(const RecordedPlan plan, RecordPlan(model, *planned));
  std::cout << "plan for " << processor << (in_budget ? " in a budget" : "") << ": arena "
            << plan.arena << ", weights " << plan.weights << ", bound " << plan.lower_bound
            << " at step " << plan.bottleneck_step << ", by " << plan.found_by << "\n";
  for (const RecordedStep& step : plan.steps) {
    std::cout << step.id << " " << step.name << " " << step.kernel << " " << step.workspace_bytes
              << "\n";
  }
  for (const RecordedChunk& chunk : plan.chunks) {
    const memory::Buffer& buffer = chunk.buffer;
    std::cout << chunk.name << " [" << buffer.lower << ", " << buffer.upper << ") " << buffer.size
              << " bytes at " << buffer.offset.value_or(-1) << ", in " << chunk.inside << "\n";
  }
  return absl::OkStatus();
}

InputTensors Inputs(const Graph& model) {
  InputTensors inputs;
  std::mt19937 random(1);
  for (const Binding& input : model.inputs()) {
    HostTensor tensor = HostTensor::Zeros(model.var(input.var).type);
    for (float& each : tensor.mutable_data<float>()) {
      each = static_cast<float>(random() % 2001) / 1000 - 1;
    }
    inputs[input.name] = std::move(tensor);
  }
  return inputs;
}

// Appends the model's outputs to `outputs`.
absl::Status Run(const Graph& model, bool in_budget, std::vector<float>& outputs) {
  const PlanRequest request = Request(in_budget);
  ASHLAR_ASSIGN_OR_RETURN(const Measurement measured,
                          Measure(model, request, Inputs(model), {.runs = 2}));
  std::cerr << "arena planned " << measured.arena.planned_bytes << ", used "
            << measured.arena.actual_bytes << "; heap calls " << measured.heap.own_calls << "\n";
  if (!measured.ok || measured.arena.planned_bytes != measured.arena.actual_bytes) {
    return absl::InternalError("what a run used is not what was planned");
  }
  ASHLAR_ASSIGN_OR_RETURN(const auto executable, Executable::Compile(model, request));
  ASHLAR_ASSIGN_OR_RETURN(const auto session, Session::Create(executable));
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> made,
                          BindTensors(*session, measured.inputs));
  ASHLAR_RETURN_IF_ERROR(session->Run());
  const absl::Span<const float> values = made[0].data<float>();
  outputs.insert(outputs.end(), values.begin(), values.end());
  return absl::OkStatus();
}

absl::Status WriteOrCompare(const std::vector<float>& outputs, const std::string& path) {
  const auto bytes = static_cast<std::streamsize>(outputs.size() * sizeof(float));
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::ofstream made(path, std::ios::binary);
    made.write(reinterpret_cast<const char*>(outputs.data()), bytes);
    return made ? absl::OkStatus() : absl::UnavailableError(path + ": cannot be written");
  }
  std::vector<float> expected(outputs.size());
  file.read(reinterpret_cast<char*>(expected.data()), bytes);
  if (file.gcount() != bytes) return absl::InvalidArgumentError(path + ": of another length");
  double worst = 0, largest = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const double difference = std::fabs(outputs[i] - expected[i]);
    if (!(difference <= worst)) worst = difference;  // true for NaN too
    largest = std::fmax(largest, std::fabs(expected[i]));
  }
  std::cerr << outputs.size() << " outputs, the largest " << largest << ", differ by at most "
            << worst << "\n";
  if (worst <= kTolerance * largest) return absl::OkStatus();
  return absl::InternalError("outputs differ");
}

absl::Status Check(const std::string& path) {
  cpu::RegisterDevice();
  ASHLAR_RETURN_IF_ERROR(PrintPlannersAnswers());
  ASHLAR_ASSIGN_OR_RETURN(const Graph model, BuildMobileNetV2({.image = 96}));
  std::vector<float> outputs;
  for (const bool in_budget : {false, true}) {
    for (const char* const processor : {"neon/32K/512K", "avx2/32K/512K"}) {
      ASHLAR_RETURN_IF_ERROR(PrintPlan(model, processor, in_budget));
    }
    ASHLAR_RETURN_IF_ERROR(Run(model, in_budget, outputs));
  }
  return WriteOrCompare(outputs, path);
}

}  // namespace
}  // namespace ashlar

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: cross_check OUTPUTS\n";
    return 2;
  }
  const absl::Status status = ashlar::Check(argv[1]);
  if (!status.ok()) std::cerr << "error: " << status << "\n";
  return status.ok() ? 0 : 1;
}
