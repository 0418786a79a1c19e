// Rows of pointwise operators as contiguous floats. Rows may span several rounds of a short
// innermost dimension, e.g. channels, over which an operand has one value per channel.
#ifndef ASHLAR_RUNTIME_CPU_LONG_ROWS_H_
#define ASHLAR_RUNTIME_CPU_LONG_ROWS_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/cpu/walk.h"

namespace ashlar::cpu {

constexpr int kLongRowOperands = 4;  // the output, then the inputs

// How a row of an operand becomes contiguous.
enum class RowSource { kInPlace, kRepeatsRound, kRepeatsElements };

// A loop whose rows may span several rounds. Its innermost dimension then counts rounds.
struct LongRows {
  RowLoop<kLongRowOperands> loop;
  int64_t period = 0;  // elements of a round in memory; 0: rows as in the loop
  int64_t lanes = 0;   // of them, without a block's padding
  std::array<RowSource, kLongRowOperands> sources = {};

  int64_t elements_of_step() const { return std::max<int64_t>(period, 1); }
};

// Returns `loop` with long rows if each operand either goes on from round to round, as the output
// does, or repeats one round, or one element in each round. `padded`: the output's rounds are
// blocks of channels, whose padding may be written. Innermost dimensions above `most_short` make
// rows by themselves.
LongRows LongRowsOf(const RowLoop<kLongRowOperands>& loop, bool padded, int threads,
                    int64_t most_short = 64);

// Returns `steps` steps of operand k of a loop: in place, or in `buffer`. load(stride, n, buffer)
// returns the operand's next n elements, `stride` apart, as contiguous floats.
template <typename Load>
const float* ContiguousRounds(const LongRows& rows, int k, int64_t steps, const Load& load,
                              float* buffer) {
  const int64_t stride = rows.loop.strides[k].back();
  if (rows.period == 0) return load(stride, steps, buffer);
  const int64_t n = steps * rows.period;
  if (rows.sources[k] == RowSource::kInPlace) return load(1, n, buffer);
  if (rows.sources[k] == RowSource::kRepeatsElements) {
    const float* const some = load(stride, stride == 0 ? 1 : steps, buffer);
    for (int64_t i = steps - 1; i >= 0; --i) {  // backwards, because `some` may be the buffer
      std::fill_n(buffer + i * rows.period, rows.period, float{some[stride == 0 ? 0 : i]});
    }
    return buffer;
  }
  const float* const round = load(1, rows.lanes, buffer);
  if (round != buffer) std::copy_n(round, rows.lanes, buffer);
  std::fill_n(buffer + rows.lanes, rows.period - rows.lanes, 0.0f);
  for (int64_t filled = rows.period; filled < n; filled *= 2) {
    std::copy_n(buffer, std::min(filled, n - filled), buffer + filled);
  }
  return buffer;
}

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_LONG_ROWS_H_
