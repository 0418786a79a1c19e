#include "runtime/cpu/host_processor.h"

#include <cpuid.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace ashlar::cpu {
namespace {

Isa most_isa = Isa::kAvx512;

Isa DetectIsa() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return std::min(most_isa, avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kBaseline);
}

Processor Detect() {
  Processor processor;
  processor.isa = DetectIsa();
  // The C library asks the processor; virtual machines may hide what it has.
  const int64_t l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (l1 > 0 && l2 > 0) processor.l1_bytes = l1, processor.l2_bytes = l2;
  return processor;
}

}  // namespace

const Processor& HostProcessor() {
  static const Processor processor = Detect();
  return processor;
}

void LimitIsa(Isa most) { most_isa = most; }

std::string HostProcessorName() {
  std::array<unsigned, 13> words = {};
  for (unsigned leaf = 0; leaf < 3; ++leaf) {
    unsigned* const word = &words[4 * leaf];
    __get_cpuid(0x80000002 + leaf, &word[0], &word[1], &word[2], &word[3]);
  }
  char brand[sizeof(words)];
  std::memcpy(brand, words.data(), sizeof(brand));  // the last word ends the text
  unsigned signature = 0, ebx, ecx, edx;
  __get_cpuid(1, &signature, &ebx, &ecx, &edx);
  return absl::StrCat(absl::StripAsciiWhitespace(brand), " ",
                      absl::Hex(signature, absl::kZeroPad8));
}

}  // namespace ashlar::cpu
