// Measures two rates: sums of floats over memory blocks that fit in one cache level, each thread on
// its own block; and multiplications and additions that read no memory.
#include "runtime/cpu/measured_speeds.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>

#include "graph/status.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/parallel.h"
#include "runtime/device/device.h"

namespace ashlar::cpu {
namespace {

constexpr int64_t kMemoryBytes = 256 << 20;  // for all threads together: exceeds most caches
constexpr int64_t kThirdLevel = 4;           // times the second-level caches: reads beyond these
constexpr int kTrials = 7;
constexpr double kTrialMs = 8;

constexpr int kSpeedSums = 8;   // independent registers
constexpr int64_t kStep = 512;  // bytes; block sizes are multiples of it

template <typename Vector>
struct Registers {
  static constexpr int64_t kBytes = sizeof(Vector);

  static void Keep(const Vector* sums, float* sum) {
    Vector all = {};
    for (int k = 0; k < kSpeedSums; ++k) all += sums[k];
    *sum = all[0];
  }

  // Sums a block `times` times.
  static void Read(const float* block, int64_t bytes, int64_t times, float* sum) {
    Vector sums[kSpeedSums] = {};
    for (int64_t t = 0; t < times; ++t) {
      const Vector* at = reinterpret_cast<const Vector*>(block);
      for (int64_t i = 0; i < bytes; i += kSpeedSums * kBytes, at += kSpeedSums) {
#pragma GCC unroll 8
        for (int k = 0; k < kSpeedSums; ++k) sums[k] += at[k];
      }
    }
    Keep(sums, sum);
  }

  // Operations per round of Multiply, counting multiplications and additions alike.
  static constexpr double kProducts = 2.0 * kSpeedSums * kBytes / sizeof(float);

  static void Multiply(int64_t times, float* sum) {
    const Vector factor = Vector{} + *sum;
    Vector sums[kSpeedSums];
    // Compilers merge equal sums into one.
    for (int k = 0; k < kSpeedSums; ++k) sums[k] = factor * static_cast<float>(k);
    for (int64_t t = 0; t < times; ++t) {
#pragma GCC unroll 8
      for (int k = 0; k < kSpeedSums; ++k) sums[k] = sums[k] * factor + factor;
    }
    Keep(sums, sum);
  }
};
using Wide = Registers<float __attribute__((vector_size(64)))>;    // AVX-512 registers
using Narrow = Registers<float __attribute__((vector_size(32)))>;  // AVX2's, or two of others

// Calls work(thread, times) on all threads at once. Returns the best rate, in units per
// millisecond, if each call does `amount` units per time and thread.
template <typename Work>
double BestRate(int threads, double amount, const Work& work) {
  using Clock = std::chrono::steady_clock;
  const auto ms_of = [&](int64_t times) {
    const Clock::time_point start = Clock::now();
    ParallelPieces(threads, threads, [&](int64_t piece, int) { work(piece, times); });
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  int64_t times = 1;
  double ms = ms_of(times);
  while (ms < kTrialMs / 2) {
    times *= 2;
    ms = ms_of(times);
  }
  double best = 0;
  for (int i = 0; i < kTrials; ++i) {
    best = std::max(best, amount * static_cast<double>(times) * threads / ms_of(times));
  }
  return best;
}

}  // namespace

absl::StatusOr<MeasuredSpeeds> MeasureSpeeds(const Processor& processor, int threads) {
  ASHLAR_ASSIGN_OR_RETURN(Device* const device, OpenDevice({CompNode::Type::kCpu, 0, 0}));
  device->UseThreads(threads);
  const int64_t third = kThirdLevel * processor.l2_bytes / kStep * kStep;
  const int64_t block = std::max(third, kMemoryBytes / threads / kStep * kStep);
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<DeviceMemory> memory,
                          device->Allocate(block * threads));
  ASHLAR_RETURN_IF_ERROR(device->Fill(memory->data(), 0, block * threads));
  const bool wide = processor.isa == Isa::kAvx512;
  const auto read =
      wide ? Versions<Wide::Read>::For(processor.isa) : Versions<Narrow::Read>::For(processor.isa);
  const auto multiply = wide ? Versions<Wide::Multiply>::For(processor.isa)
                             : Versions<Narrow::Multiply>::For(processor.isa);
  const auto reading = [&](int64_t bytes) {
    return BestRate(threads, static_cast<double>(bytes), [&](int64_t thread, int64_t times) {
      float sum = 0;
      read(static_cast<const float*>(memory->data()) + thread * block / int64_t{sizeof(float)},
           bytes, times, &sum);
      volatile float kept = sum;
      static_cast<void>(kept);
    });
  };
  MeasuredSpeeds speeds;
  speeds.second_level = reading(std::max(kStep, processor.l2_bytes / 2 / kStep * kStep));
  speeds.third_level = reading(third);
  speeds.memory = reading(block);
  constexpr int64_t kTogether = 64;
  speeds.flops = BestRate(threads, kTogether * (wide ? Wide::kProducts : Narrow::kProducts),
                          [&](int64_t /*thread*/, int64_t times) {
                            float sum = 0.5f;
                            multiply(kTogether * times, &sum);
                            volatile float kept = sum;
                            static_cast<void>(kept);
                          });
  return speeds;
}

}  // namespace ashlar::cpu
