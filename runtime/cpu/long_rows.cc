#include "runtime/cpu/long_rows.h"

namespace ashlar::cpu {

LongRows LongRowsOf(const RowLoop<kLongRowOperands>& loop, bool padded, int threads,
                    int64_t most_short) {
  const int rank = loop.shape.rank();
  if (rank < 2 || loop.shape[rank - 1] > most_short) return {loop};
  LongRows rows = {loop};
  rows.lanes = loop.shape[rank - 1];
  rows.period = padded ? kChannelBlock : rows.lanes;
  rows.loop.shape = Shape(loop.shape.dims().first(rank - 1));
  for (int k = 0; k < kLongRowOperands; ++k) {
    const int64_t inner = loop.strides[k][rank - 1], outer = loop.strides[k][rank - 2];
    const bool in_place = inner == 1 && outer == rows.period, stays = inner == 0 && outer == 0;
    if (!in_place && (k == 0 || (!stays && inner != 0 && (inner != 1 || outer != 0)))) {
      return {loop};
    }
    rows.sources[k] = in_place     ? RowSource::kInPlace
                      : inner == 1 ? RowSource::kRepeatsRound
                                   : RowSource::kRepeatsElements;
    rows.loop.strides[k].resize(rank - 1);
  }
  PrepareRowLoop(rows.loop, threads);
  return rows;
}

}  // namespace ashlar::cpu
