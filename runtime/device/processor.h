// The processor that a plan is for, as far as plans depend on it.
#ifndef ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_
#define ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_

#include <cstdint>
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

struct Processor {
  Isa isa = Isa::kBaseline;
  // Of a core's caches of data, first and second level. The defaults are those for which the
  // kernels' blockings were measured.
  int64_t l1_bytes = 32 * 1024;
  int64_t l2_bytes = 1024 * 1024;

  // "avx512/48K/2M". InvalidArgument, with the given text and the expected form.
  static absl::StatusOr<Processor> Parse(absl::string_view text);
  std::string ToString() const;

  friend bool operator==(const Processor&, const Processor&) = default;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_PROCESSOR_H_
