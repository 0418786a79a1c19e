#include "runtime/mcu/instructions.h"

namespace ashlar::mcu {
namespace {

// Instructions of a call, and for each unit of its work.
struct Cost {
  double call, pixel, result, run, product, four, sixteen;

  double Of(const CodeWork& work) const {
    return call + pixel * work.pixels + result * work.results + run * work.runs +
           product * work.products + four * work.fours + sixteen * work.sixteens;
  }
};

// The programs that counts differ for. Cortex-M4 and M7 run the same instructions.
enum Column { kPortable, kDsp, kMve, kRiscV, kColumns };

Column ColumnOf(Microcontroller microcontroller) {
  switch (microcontroller) {
    case Microcontroller::kCortexM4:
    case Microcontroller::kCortexM7:
      return kDsp;
    case Microcontroller::kCortexM55:
      return kMve;
    case Microcontroller::kRv32imc:
      return kRiscV;
    case Microcontroller::kNone:
    case Microcontroller::kGeneric:
      return kPortable;
  }
  return kPortable;
}

struct Row {
  absl::string_view function;
  Cost costs[kColumns];
};

constexpr Row kRows[] = {
#include "runtime/mcu/instructions.inc"
};

}  // namespace

double ExpectedInstructions(absl::string_view function, const CodeWork& work,
                            Microcontroller microcontroller) {
  for (const Row& row : kRows) {
    if (row.function == function) return row.costs[ColumnOf(microcontroller)].Of(work);
  }
  return 0;
}

}  // namespace ashlar::mcu
