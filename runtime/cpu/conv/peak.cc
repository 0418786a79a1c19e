#include "runtime/cpu/conv/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "runtime/cpu/conv/code_of_isa.h"
#include "runtime/cpu/host_processor.h"

namespace ashlar::cpu {
namespace {

double Measure(const ConvTileCode& code) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kRounds = 1 << 16;  // a millisecond or two
  double best = 0;
  volatile float result = 1.0f;
  for (int repeat = 0; repeat < 16; ++repeat) {
    const Clock::time_point start = Clock::now();
    result = code.multiply_add(kRounds, result);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(kRounds * code.multiply_add_flops) / seconds);
  }
  return best;
}

}  // namespace

double PeakFlops() {
  static const double peak = [] {
    const Isa isa = HostProcessor().isa;
    return isa == Isa::kBaseline ? 0.0 : Measure(ConvTileCodeFor(isa));
  }();
  return peak;
}

}  // namespace ashlar::cpu
