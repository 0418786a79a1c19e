#include "runtime/device/processor.h"

#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ashlar {
namespace {

constexpr absl::string_view kIsaNames[] = {"baseline", "neon", "avx2", "avx512"};  // by Isa
constexpr absl::string_view kMicrocontrollerNames[] = {
    "", "generic", "cortex-m4", "cortex-m7", "cortex-m55", "rv32imc"};  // by Microcontroller
constexpr absl::string_view kVnni = "_vnni", kBf16 = "avx512_bf16", kAmxInt8 = "amx_int8",
                            kAmxBf16 = "amx_bf16";
constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int64_t kLeastCache = 4 * kKiB, kMostCache = 1024 * kMiB;

// Parses "48K", "2M", "49152".
std::optional<int64_t> ParseCache(absl::string_view text) {
  int64_t unit = 1;
  if (!text.empty() && (text.back() == 'K' || text.back() == 'M')) {
    unit = text.back() == 'K' ? kKiB : kMiB;
    text.remove_suffix(1);
  }
  int64_t count = 0;
  if (!absl::SimpleAtoi(text, &count) || count <= 0 || count > kMostCache / unit) {
    return std::nullopt;
  }
  return count * unit >= kLeastCache ? std::optional(count * unit) : std::nullopt;
}

std::string CacheName(int64_t bytes) {
  if (bytes % kMiB == 0) return absl::StrCat(bytes / kMiB, "M");
  if (bytes % kKiB == 0) return absl::StrCat(bytes / kKiB, "K");
  return absl::StrCat(bytes);
}

}  // namespace

absl::string_view Name(Isa isa) { return kIsaNames[static_cast<size_t>(isa)]; }

bool Contains(Isa best, Isa isa) {
  return isa == Isa::kBaseline || isa == best || (isa == Isa::kAvx2 && best == Isa::kAvx512);
}

std::optional<InstructionSet> InstructionSet::Parse(absl::string_view text) {
  if (text == kBf16) return InstructionSet{Isa::kAvx512, true, true, false, false};
  if (text == kAmxInt8) return InstructionSet{Isa::kAvx512, true, false, true, false};
  if (text == kAmxBf16) return InstructionSet{Isa::kAvx512, true, true, true, true};
  const bool vnni = absl::ConsumeSuffix(&text, kVnni);
  for (const Isa isa : kIsas) {
    if (text == Name(isa) && (!vnni || Contains(isa, Isa::kAvx2))) return InstructionSet{isa, vnni};
  }
  return std::nullopt;
}

std::string InstructionSet::ToString() const {
  if (amx_bf16) return std::string(kAmxBf16);
  if (amx_int8) return std::string(kAmxInt8);
  return bf16 ? std::string(kBf16) : absl::StrCat(Name(isa), vnni ? kVnni : "");
}

bool Processor::Runs(const Processor& other) const {
  if (other.is_microcontroller()) return true;
  return Contains(isa, other.isa) && (vnni || !other.vnni) && (bf16 || !other.bf16) &&
         (amx_int8 || !other.amx_int8) && (amx_bf16 || !other.amx_bf16);
}

absl::StatusOr<Processor> Processor::Parse(absl::string_view text) {
  for (size_t i = 1; i < std::size(kMicrocontrollerNames); ++i) {
    if (text == kMicrocontrollerNames[i]) return OfMicrocontroller(static_cast<Microcontroller>(i));
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() == 3) {
    const std::optional<InstructionSet> set = InstructionSet::Parse(parts[0]);
    const std::optional<int64_t> l1 = ParseCache(parts[1]), l2 = ParseCache(parts[2]);
    if (set && l1 && l2) {
      return Processor{set->isa, set->vnni, set->bf16, set->amx_int8, set->amx_bf16, *l1, *l2};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", text.substr(0, 64), "' is no processor; expected ", kInstructionSets,
                   ", and the sizes of its first and second cache from 4K to 1024M, such as ",
                   "avx512/48K/2M; or ", kMicrocontrollers));
}

std::string Processor::ToString() const {
  if (is_microcontroller()) {
    return std::string(kMicrocontrollerNames[static_cast<size_t>(microcontroller)]);
  }
  return absl::StrCat(instruction_set().ToString(), "/", CacheName(l1_bytes), "/",
                      CacheName(l2_bytes));
}

}  // namespace ashlar
