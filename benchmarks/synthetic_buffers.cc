// Writes synthetic buffers as CSV: synthetic_buffers [COUNT [SEED]] > buffers.csv

#include "benchmarks/synthetic_buffers.h"

#include <cstdio>
#include <optional>

#include "benchmarks/arguments.h"

int main(int argc, char** argv) {
  int64_t count = 1000000;
  uint64_t seed = 7;
  CLI::App app("Writes synthetic buffers as CSV to stdout.", "synthetic_buffers");
  app.add_option("COUNT", count)->capture_default_str()->check(CLI::Range(0, 1000000000));
  app.add_option("SEED", seed)->capture_default_str();
  if (const std::optional<int> exit_code = ashlar::benchmarks::Parse(app, argc, argv)) {
    return *exit_code;
  }
  std::puts("id,lower,upper,size");
  for (const auto& b : ashlar::benchmarks::SyntheticBuffers(count, seed).buffers) {
    std::printf("%lld,%lld,%lld,%lld\n", static_cast<long long>(b.id),
                static_cast<long long>(b.lower), static_cast<long long>(b.upper),
                static_cast<long long>(b.size));
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
