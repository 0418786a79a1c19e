// The properties of a processor that plans depend on.
#ifndef ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_
#define ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// Instruction sets: each processor's baseline, 64-bit Arm's vectors of four floats, and x86's.
enum class Isa { kBaseline, kNeon, kAvx2, kAvx512 };
inline constexpr Isa kIsas[] = {Isa::kBaseline, Isa::kNeon, Isa::kAvx2, Isa::kAvx512};

absl::string_view Name(Isa isa);  // "baseline", "neon", "avx2", "avx512"
// Returns whether code for `isa` runs on a processor whose best instruction set is `best`.
bool Contains(Isa best, Isa isa);

inline constexpr char kInstructionSets[] =
    "baseline, neon, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, amx_int8 or amx_bf16";

// An instruction set with or without VNNI, x86's dot products of bytes (AVX-VNNI with AVX2,
// AVX512-VNNI with AVX-512), AVX512_BF16, its dot products of BFloat16, which comes with
// AVX512-VNNI, and AMX, its products of matrices of bytes, which comes with AVX512-VNNI, and of
// BFloat16, which needs the product of bytes and AVX512_BF16.
struct InstructionSet {
  Isa isa = Isa::kBaseline;
  bool vnni = false, bf16 = false;
  bool amx_int8 = false, amx_bf16 = false;

  // Parses "amx_bf16", "avx512_vnni", "avx2". Returns nullopt for texts that are not in
  // kInstructionSets.
  static std::optional<InstructionSet> Parse(absl::string_view text);
  std::string ToString() const;
};

// Processors that run generated C. kGeneric is any that C99 is compiled for, kNone one of x86 or
// 64-bit Arm, which an InstructionSet describes.
enum class Microcontroller { kNone, kGeneric, kCortexM4, kCortexM7, kCortexM55, kRv32imc };
inline constexpr char kMicrocontrollers[] =
    "generic, cortex-m4, cortex-m7, cortex-m55 or rv32imc";  // as Processor::Parse reads them

struct Processor {
  Isa isa = Isa::kBaseline;
  bool vnni = false, bf16 = false, amx_int8 = false, amx_bf16 = false;  // as in InstructionSet
  // Sizes of a core's data caches, first and second level. The kernels' blockings were measured
  // with the default sizes.
  int64_t l1_bytes = 32 * 1024;
  int64_t l2_bytes = 1024 * 1024;
  Microcontroller microcontroller = Microcontroller::kNone;  // otherwise nothing above matters

  InstructionSet instruction_set() const { return {isa, vnni, bf16, amx_int8, amx_bf16}; }
  InstructionSet vectors() const { return {isa, vnni}; }  // without AMX and AVX512_BF16
  bool is_microcontroller() const { return microcontroller != Microcontroller::kNone; }
  // Returns whether a plan for `other` runs here. Caches do not matter for this. Plans for
  // microcontrollers run everywhere, as their kernels are C99.
  bool Runs(const Processor& other) const;

  static Processor OfMicrocontroller(Microcontroller which) {
    Processor processor;
    processor.microcontroller = which;
    return processor;
  }
  // Parses "avx512_vnni/48K/2M" or "cortex-m7". InvalidArgument, with the given text and the
  // expected form.
  static absl::StatusOr<Processor> Parse(absl::string_view text);
  std::string ToString() const;

  friend bool operator==(const Processor&, const Processor&) = default;
};

// Measured rates of all threads together, per millisecond.
struct MeasuredSpeeds {
  double flops = 0;  // multiplications and additions of floats in registers
  // Bytes read from the second-level caches, from the third level, and from memory.
  double second_level = 0, third_level = 0, memory = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_
