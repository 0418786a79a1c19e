// Writes synthetic buffers as CSV: synthetic_buffers [COUNT [SEED]] > buffers.csv

#include "benchmarks/synthetic_buffers.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const int64_t count = argc > 1 ? std::atoll(argv[1]) : 1000000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 7;
  if (argc > 3 || count < 0) {
    std::fprintf(stderr, "usage: synthetic_buffers [COUNT [SEED]] > buffers.csv\n");
    return 2;
  }
  std::puts("id,lower,upper,size");
  for (const auto& b : ashlar::benchmarks::SyntheticBuffers(count, seed).buffers) {
    std::printf("%lld,%lld,%lld,%lld\n", static_cast<long long>(b.id),
                static_cast<long long>(b.lower), static_cast<long long>(b.upper),
                static_cast<long long>(b.size));
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
