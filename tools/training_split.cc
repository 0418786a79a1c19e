#include "tools/training_split.h"

#include <algorithm>
#include <cmath>

#include "training/batch_order.h"

namespace ashlar {

TrainingSplit::TrainingSplit(int64_t count, double share, uint64_t seed)
    : count_(count), seed_(seed) {
  if (share == 0) return;
  learned_ = OrderOfEpoch(count, -1, seed);
  const auto split = learned_.begin() + std::llround(share * static_cast<double>(count));
  held_out_.assign(learned_.begin(), split);
  learned_.erase(learned_.begin(), split);
  std::sort(learned_.begin(), learned_.end());
  std::sort(held_out_.begin(), held_out_.end());
}

std::vector<int64_t> TrainingSplit::OrderOf(int64_t epoch) const {
  std::vector<int64_t> order = OrderOfEpoch(learned(), epoch, seed_);
  if (held_out_.empty()) return order;
  for (int64_t& image : order) image = learned_[static_cast<size_t>(image)];
  return order;
}

}  // namespace ashlar
