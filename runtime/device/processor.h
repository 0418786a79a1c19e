// The processor that a plan is for, as far as plans depend on it.
#ifndef ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_
#define ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// Instruction sets: every processor's baseline, four floats of 64-bit Arm, and x86's.
enum class Isa { kBaseline, kNeon, kAvx2, kAvx512 };
inline constexpr Isa kIsas[] = {Isa::kBaseline, Isa::kNeon, Isa::kAvx2, Isa::kAvx512};

absl::string_view Name(Isa isa);  // "baseline", "neon", "avx2", "avx512"
// Whether code for `isa` runs on a processor whose best instruction set is `best`.
bool Contains(Isa best, Isa isa);

inline constexpr char kInstructionSets[] = "baseline, neon, avx2, avx2_vnni, avx512 or avx512_vnni";

// An instruction set with or without VNNI, x86's sums of products of bytes: AVX-VNNI beside AVX2,
// AVX512-VNNI beside AVX-512.
struct InstructionSet {
  Isa isa = Isa::kBaseline;
  bool vnni = false;

  // "avx512_vnni", "avx2". Nullopt: any text but those of kInstructionSets.
  static std::optional<InstructionSet> Parse(absl::string_view text);
  std::string ToString() const;
};

struct Processor {
  Isa isa = Isa::kBaseline;
  bool vnni = false;  // as InstructionSet says
  // Of a core's caches of data, first and second level. The defaults are those for which the
  // kernels' blockings were measured.
  int64_t l1_bytes = 32 * 1024;
  int64_t l2_bytes = 1024 * 1024;

  InstructionSet instruction_set() const { return {isa, vnni}; }
  // Whether what is planned for `other` runs here. Caches do not matter to that.
  bool Runs(const Processor& other) const;

  // "avx512_vnni/48K/2M". InvalidArgument, with the given text and the expected form.
  static absl::StatusOr<Processor> Parse(absl::string_view text);
  std::string ToString() const;

  friend bool operator==(const Processor&, const Processor&) = default;
};

// What threads do together in a millisecond, as measured.
struct MeasuredSpeeds {
  double flops = 0;  // multiplications and additions of floats in registers
  // Bytes read from the second-level caches, from the third level, and from memory.
  double second_level = 0, third_level = 0, memory = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_
