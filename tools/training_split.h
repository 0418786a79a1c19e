// The images that a training learns from, and the ones that are held out to validate it.
#ifndef ASHLAR_TOOLS_TRAINING_SPLIT_H_
#define ASHLAR_TOOLS_TRAINING_SPLIT_H_

#include <cstdint>
#include <vector>

namespace ashlar {

class TrainingSplit {
 public:
  // Holds out a share of the images (0: none), chosen by the seed: the first of an order that no
  // epoch has.
  TrainingSplit(int64_t count, double share, uint64_t seed);

  // In rising order.
  const std::vector<int64_t>& held_out() const { return held_out_; }
  // The number of images to learn from.
  int64_t learned() const { return count_ - static_cast<int64_t>(held_out_.size()); }
  // Returns the images of an epoch, in order.
  std::vector<int64_t> OrderOf(int64_t epoch) const;

 private:
  int64_t count_;
  uint64_t seed_;
  std::vector<int64_t> learned_, held_out_;  // empty: all are learned from
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_TRAINING_SPLIT_H_
