// Plans buffers and prints the results:
//   planner_benchmark [--planner=NAME] [--capacity=BYTES] [--time=MS] [--synthetic=COUNT]
//   [--training=SEEDS] [FILE.csv...]
// The millisecond columns: wall time of the planner alone, wall time with bound and validation, and
// processor time of the latter, which other load disturbs least.

#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/arguments.h"
#include "benchmarks/synthetic_buffers.h"
#include "memory/csv.h"
#include "memory/planner.h"
#include "memory/problem/work.h"
#include "tests/support/training_buffers.h"

namespace ashlar::benchmarks {
namespace {

double ProcessorMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

struct Totals {
  double search_ms = 0;
  double processor_ms = 0;
  int failures = 0;
};

void Row(const std::string& name, const memory::Problem& problem,
         const memory::PlanOptions& options, Totals& totals) {
  const double start = ProcessorMilliseconds();
  const absl::StatusOr<memory::PlanResult> result = memory::PlanMemory(problem, options);
  const double processor_ms = ProcessorMilliseconds() - start;
  if (!result.ok()) {
    std::printf("%-34s %s\n", name.c_str(), std::string(result.status().message()).c_str());
    ++totals.failures;
    return;
  }
  const double ratio = result->lower_bound == 0 ? 1
                                                : static_cast<double>(result->plan.arena) /
                                                      static_cast<double>(result->lower_bound);
  std::printf("%-34s %9zu %14lld %14lld %9.5f %-34s %-13s %10.2f %10.2f %10.2f\n", name.c_str(),
              problem.buffers.size(), static_cast<long long>(result->lower_bound),
              static_cast<long long>(result->plan.arena), ratio, memory::ProofText(*result).c_str(),
              result->plan.planner.c_str(), result->search_ms, result->total_ms, processor_ms);
  std::fflush(stdout);
  totals.search_ms += result->search_ms;
  totals.processor_ms += processor_ms;
  if (options.limits.capacity.has_value() && result->plan.arena > *options.limits.capacity) {
    ++totals.failures;
  }
}

int Main(int argc, char** argv) {
  memory::PlanOptions options;
  std::vector<std::string> files;
  int64_t synthetic = 0;
  uint32_t training = 0;
  CLI::App app("Plans buffers: arena, lower bound, proof and time of each.", "planner_benchmark");
  app.add_option("--planner", options.planner)->capture_default_str();
  app.add_option("--capacity", options.limits.capacity, "the search ends at a plan within it")
      ->option_text("BYTES");
  app.add_option_function<double>(
         "--time",
         [&options](double ms) {
           options.limits.work = static_cast<int64_t>(ms * memory::kWorkPerMillisecond);
         },
         "of the search, about: it is counted")
      ->option_text("MS");
  app.add_option("--synthetic", synthetic, "as many synthetic buffers")->option_text("COUNT");
  app.add_option("--training", training, "made-up training steps, of seeds 1 to SEEDS")
      ->option_text("SEEDS");
  app.add_option("FILE.csv", files, "buffers")->option_text("...");
  if (const std::optional<int> exit_code = Parse(app, argc, argv)) return *exit_code;
  std::printf("%-34s %9s %14s %14s %9s %-34s %-13s %10s %10s %10s\n", "instance", "buffers",
              "lower bound", "arena", "ratio", "proof", "planner", "search ms", "total ms",
              "cpu ms");
  Totals totals;
  for (const std::string& file : files) {
    const absl::StatusOr<memory::CsvProblem> csv = memory::ReadCsvFile(file);
    if (!csv.ok()) {
      std::fprintf(stderr, "%s\n", std::string(csv.status().message()).c_str());
      return 6;
    }
    Row(std::filesystem::path(file).filename().string(), csv->problem, options, totals);
  }
  if (synthetic > 0) {
    Row(absl::StrCat("synthetic-", synthetic), SyntheticBuffers(synthetic, 7), options, totals);
  }
  for (uint32_t seed = 1; seed <= training; ++seed) {
    Row(absl::StrCat("training-", seed), ashlar::testing::TrainingBuffers(seed), options, totals);
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf("search %.2f ms in all, cpu %.2f ms; peak resident set %.0f MiB", totals.search_ms,
              totals.processor_ms, static_cast<double>(usage.ru_maxrss) / 1024);
  std::printf(totals.failures > 0 ? "; %d failed or over capacity\n" : "\n", totals.failures);
  return totals.failures > 0 ? 1 : 0;
}

}  // namespace
}  // namespace ashlar::benchmarks

int main(int argc, char** argv) { return ashlar::benchmarks::Main(argc, argv); }
