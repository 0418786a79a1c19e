// A random axis of an image over which windows slide, for tests that compute by hand.
#ifndef ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_SLIDING_AXIS_H_
#define ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_SLIDING_AXIS_H_

#include <cstdint>
#include <random>

namespace ashlar::testing {

struct SlidingAxis {
  int64_t input, window, stride, dilation, before, behind;

  // Returns the number of windows.
  int64_t places() const {
    return (input + before + behind - dilation * (window - 1) - 1) / stride + 1;
  }
};

// Returns a number from `low` to `high`.
inline int64_t Draw(std::mt19937& random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
}

// Returns an axis with windows and strides up to `most_window`, room for up to `most_room` windows
// at stride 1, and no padding yet.
inline SlidingAxis RandomAxis(std::mt19937& random, int64_t most_window, int64_t most_room) {
  const int64_t window = Draw(random, 1, most_window), stride = Draw(random, 1, most_window);
  const int64_t dilation = Draw(random, 1, 2);
  const int64_t input = Draw(random, 1, most_room) + dilation * (window - 1);
  return {input, window, stride, dilation, 0, 0};
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_ONNX_IMPORT_SLIDING_AXIS_H_
