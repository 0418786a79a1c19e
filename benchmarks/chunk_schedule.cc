// Simulates how a model's operators scale to many threads, on any machine:
//   chunk_schedule MODEL.ash [--threads N...] [--runs N] [--top N] [--precision fp32|fp16|bf16]
//
// The model is planned for N threads and runs on one. Each loop's chunks are timed one after the
// other, and then dealt out as the pool does: each thread takes the chunks of its own part, then
// the last ones of others'. Work outside of loops is serial. Waking threads and sharing memory cost
// nothing here, so the table is a limit: it shows the serial part of a plan, and not the
// limits of a processor's memory.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/arguments.h"
#include "graph/status.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/plan/request/request_options.h"
#include "runtime/session/bind_tensors.h"
#include "serialization/native/reader.h"

namespace ashlar {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The chunks of the running step's loops, in milliseconds. Loops inside of chunks count as theirs.
std::vector<std::vector<double>> loops;
bool in_loop = false;

void TimeChunks(int /*threads*/, int64_t count, cpu::ThreadPool::Chunk chunk, const void* context) {
  if (in_loop) {
    for (int64_t i = 0; i < count; ++i) chunk(context, i, 0);
    return;
  }
  in_loop = true;
  std::vector<double> times;
  for (int64_t i = 0; i < count; ++i) {
    const auto start = Clock::now();
    chunk(context, i, 0);
    times.push_back(MillisecondsSince(start));
  }
  loops.push_back(std::move(times));
  in_loop = false;
}

// Returns when the last of `threads` threads has done its chunks.
double Makespan(const std::vector<double>& chunks, int threads) {
  const auto count = static_cast<int64_t>(chunks.size());
  const int64_t parts = std::min<int64_t>(threads, count);
  std::vector<int64_t> begin, end;
  for (int64_t i = 0; i < parts; ++i) {
    begin.push_back(count * i / parts), end.push_back(count * (i + 1) / parts);
  }
  std::vector<double> free(static_cast<size_t>(parts), 0);
  for (int64_t done = 0; done < count; ++done) {
    const auto thread =
        static_cast<size_t>(std::min_element(free.begin(), free.end()) - free.begin());
    for (int64_t i = 0; i < parts; ++i) {
      const size_t part = (thread + static_cast<size_t>(i)) % static_cast<size_t>(parts);
      if (begin[part] >= end[part]) continue;
      free[thread] += chunks[static_cast<size_t>(i == 0 ? begin[part]++ : --end[part])];
      break;
    }
  }
  return *std::max_element(free.begin(), free.end());
}

struct StepTimes {
  double whole = 0, serial = 0, shared = 0;  // on one thread; outside of loops; on all threads
  int64_t chunks = 0;                        // of the largest loop
};

class Simulation final : public RunListener {
 public:
  Simulation(int steps, int threads) : steps_(static_cast<size_t>(steps)), threads_(threads) {}
  void OnStepBegin(int) override {
    loops.clear();
    start_ = Clock::now();
  }
  void OnStepEnd(int step) override {
    StepTimes times;
    times.whole = times.serial = MillisecondsSince(start_);
    for (const std::vector<double>& loop : loops) {
      for (const double chunk : loop) times.serial -= chunk;
      times.shared += Makespan(loop, threads_);
      times.chunks = std::max(times.chunks, static_cast<int64_t>(loop.size()));
    }
    times.serial = std::max(times.serial, 0.0);
    times.shared += times.serial;
    StepTimes& best = steps_[static_cast<size_t>(step)];
    if (best.whole == 0 || times.whole < best.whole) best = times;
  }
  const std::vector<StepTimes>& steps() const { return steps_; }

 private:
  std::vector<StepTimes> steps_;  // of each step, its fastest run
  const int threads_;
  Clock::time_point start_;
};

struct Options {
  std::string model;
  std::vector<int> threads = {4, 8, 16, 64};
  int runs = 5, top = 12;
  PlanRequest request;
};

absl::Status Simulate(const Options& options, int threads) {
  PlanRequest request = options.request;
  request.target.threads = threads;
  ASHLAR_ASSIGN_OR_RETURN(Graph graph, ReadModel(options.model));
  ASHLAR_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                          Executable::Compile(std::move(graph), request));
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(executable));
  const Graph& compiled = executable->graph();
  InputTensors inputs;
  for (const auto& input : compiled.inputs()) {
    inputs.emplace(input.name, HostTensor::Zeros(compiled.var(input.var).type));
  }
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<HostTensor> outputs, BindTensors(*session, inputs));
  const std::vector<int>& order = executable->planned().schedule.order;
  Simulation simulation(static_cast<int>(order.size()), threads);
  ASHLAR_RETURN_IF_ERROR(session->Run());
  cpu::ThreadPool::Shared().Observe(TimeChunks);
  absl::Status status;
  for (int i = 0; i < options.runs && status.ok(); ++i) status = session->Run(simulation);
  cpu::ThreadPool::Shared().Observe(nullptr);
  ASHLAR_RETURN_IF_ERROR(status);

  double whole = 0, serial = 0, shared = 0;
  std::vector<size_t> steps;
  for (size_t i = 0; i < order.size(); ++i) {
    const StepTimes& times = simulation.steps()[i];
    whole += times.whole, serial += times.serial, shared += times.shared;
    steps.push_back(i);
  }
  std::printf(
      "\n%d threads: %.2f ms on one, %.3f on all; speed-up %.1f; serial %.2f %% of one "
      "thread's time\n\n",
      threads, whole, shared, whole / shared, 100 * serial / whole);
  std::printf(
      "| operator | kernel | chunks | 1 thread, ms | serial, %% of the model | %d threads, "
      "%% of their time | speed-up |\n|---|---|---:|---:|---:|---:|---:|\n",
      threads);
  const auto lost = [&](size_t i) {
    return simulation.steps()[i].shared - simulation.steps()[i].whole / threads;
  };
  std::sort(steps.begin(), steps.end(), [&](size_t a, size_t b) { return lost(a) > lost(b); });
  steps.resize(std::min(steps.size(), static_cast<size_t>(options.top)));
  for (const size_t i : steps) {
    const StepTimes& times = simulation.steps()[i];
    const OperatorNode& node = compiled.node(order[i]);
    const Kernel* const kernel = executable->planned().kernels[static_cast<size_t>(order[i])].get();
    std::printf("| %s | %s | %lld | %.3f | %.2f | %.1f | %.1f |\n", node.name.c_str(),
                kernel == nullptr ? "" : kernel->implementation().c_str(),
                static_cast<long long>(std::max<int64_t>(times.chunks, 1)), times.whole,
                100 * times.serial / whole, 100 * times.shared / shared,
                times.whole / times.shared);
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Options options;
  std::string precision = "fp32";
  CLI::App app("How a model's operators scale to many threads, by their chunks.", "chunk_schedule");
  app.add_option("MODEL.ash", options.model)->required();
  app.add_option("--threads", options.threads)->check(CLI::Range(2, 256))->capture_default_str();
  app.add_option("--runs", options.runs, "the fastest run of each operator counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--top", options.top, "operators that lose most")->capture_default_str();
  app.add_option("--precision", precision)->check(CLI::IsMember({"fp32", "fp16", "bf16"}));
  if (const std::optional<int> exit_code = benchmarks::Parse(app, argc, argv)) return *exit_code;
  cpu::RegisterDevice();
  if (precision == "fp16") options.request.target.precision = DType::kFloat16;
  if (precision == "bf16") options.request.target.precision = DType::kBFloat16;
  for (const int threads : options.threads) {
    if (const absl::Status status = Simulate(options, threads); !status.ok()) {
      std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace ashlar

int main(int argc, char** argv) { return ashlar::Main(argc, argv); }
