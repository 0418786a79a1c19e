// The order of images in training: a fresh permutation in each epoch (Fisher and Yates, in
// Durstenfeld's form of 1964), the same on every machine.
#ifndef ASHLAR_TRAINING_BATCH_ORDER_H_
#define ASHLAR_TRAINING_BATCH_ORDER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/random.h"

namespace ashlar {

// Returns the order of `count` images in epoch `epoch` (from 0), from Random(1000 * seed + epoch).
// Batches are consecutive images of it; images after the last whole batch are left out.
inline std::vector<int64_t> OrderOfEpoch(int64_t count, int64_t epoch, uint64_t seed = 1) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) order[static_cast<size_t>(i)] = i;
  Random random(1000 * seed + static_cast<uint64_t>(epoch));
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Next() % i]);
  return order;
}

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_BATCH_ORDER_H_
