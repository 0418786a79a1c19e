#include "runtime/cpu/host_processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace ashlar::cpu {
namespace {

// Each architecture defines Detected, DetectName, and CacheBytes, which returns the size of the
// level 1 or 2 data cache, or 0 if unknown.

InstructionSet most = {Isa::kAvx512, true, true, true, true};

#if defined(__x86_64__)

// Implements __builtin_cpu_supports("f16c"), which clang 14 lacks.
bool HasF16c() {
  unsigned eax, ebx, ecx = 0, edx;
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  return (ecx & bit_F16C) != 0;
}

// Implements __builtin_cpu_supports("avx512bf16"), which clang 14 lacks.
bool HasAvx512Bf16() {
  unsigned eax = 0, ebx, ecx, edx;
  __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx);
  return (eax >> 5 & 1) != 0;
}

// Whether the processor has AMX's tiles and this kind of products, a bit of CPUID, and the system
// saves its registers (the state components 17 and 18).
bool HasAmx(unsigned product) {
  unsigned eax, ebx, ecx = 0, edx = 0;
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  if ((ecx & bit_OSXSAVE) == 0) return false;
  constexpr unsigned kTile = 1u << 24, kSaved = 3u << 17;
  edx = 0;
  __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx);
  if ((edx & kTile) == 0 || (edx & product) == 0) return false;
  asm("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
  return (eax & kSaved) == kSaved;
}

InstructionSet Detected() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  const Isa isa = std::min(most.isa, avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kBaseline);
  const bool avx512_vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  constexpr unsigned kAmxInt8 = 1u << 25, kAmxBf16 = 1u << 22;
  const bool amx_int8 = most.amx_int8 && isa == Isa::kAvx512 && avx512_vnni && HasAmx(kAmxInt8);
  const bool has_bf16 = most.bf16 && isa == Isa::kAvx512 && avx512_vnni && HasAvx512Bf16();
  const bool amx_bf16 = most.amx_bf16 && amx_int8 && has_bf16 && HasAmx(kAmxBf16);
  // Intel's dot products of BFloat16 take twice the time of Float32's.
  const bool bf16 = amx_bf16 || (has_bf16 && !__builtin_cpu_is("intel"));
  return {isa, most.vnni && (avx512_vnni || (isa == Isa::kAvx2 && HasAvxVnni())), bf16, amx_int8,
          amx_bf16};
}

// The C library asks the processor; virtual machines may hide its features.
int64_t CacheBytes(int level) {
  return sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
}

std::string DetectName() {
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

#elif defined(__aarch64__)

InstructionSet Detected() { return {std::min(most.isa, Isa::kNeon)}; }  // every processor has it

// Reads the main identification register, which Linux allows programs to do.
std::string DetectName() {
  uint64_t midr = 0;
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) != 0) asm("mrs %0, MIDR_EL1" : "=r"(midr));
  return absl::StrCat("AArch64 ", absl::Hex(midr, absl::kZeroPad8));
}

// Reads the size from Linux, because no instruction returns it. It is the first core's, often one
// of the small cores.
int64_t CacheBytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", index, "/");
    const auto word = [&](const char* name) {
      std::string text;
      std::ifstream(folder + name) >> text;
      return text;
    };
    const std::string size = word("size");
    int64_t kib = 0;
    if (word("level") != absl::StrCat(level) || word("type") == "Instruction") continue;
    if (absl::SimpleAtoi(absl::StripSuffix(size, "K"), &kib)) return kib * 1024;
  }
  return 0;
}

#else

InstructionSet Detected() { return {}; }
int64_t CacheBytes(int) { return 0; }
std::string DetectName() { return "unknown"; }

#endif

Processor Detect() {
  Processor processor;
  const InstructionSet detected = Detected();
  processor.isa = detected.isa, processor.vnni = detected.vnni;
  processor.bf16 = detected.bf16;
  processor.amx_int8 = detected.amx_int8, processor.amx_bf16 = detected.amx_bf16;
  const int64_t l1 = CacheBytes(1), l2 = CacheBytes(2);
  if (l1 > 0 && l2 > 0) processor.l1_bytes = l1, processor.l2_bytes = l2;
  return processor;
}

}  // namespace

const Processor& HostProcessor() {
  static const Processor processor = Detect();
  return processor;
}

void LimitProcessor(InstructionSet set) { most = set; }

absl::Status RequestAmx() {
#if defined(__x86_64__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // of arch_prctl; headers lack them
  static const int refusal =
      syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 ? 0 : errno;
  if (refusal == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the system refuses this process the use of AMX: ", std::strerror(refusal)));
#else
  return absl::UnavailableError("only x86-64 has AMX");
#endif
}

bool HasAvxVnni() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx, ecx, edx;
  __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx);
  return __builtin_cpu_supports("avx2") && (eax >> 4 & 1) != 0;
#else
  return false;
#endif
}

std::string HostProcessorName() { return DetectName(); }

}  // namespace ashlar::cpu
