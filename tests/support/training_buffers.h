// Generates synthetic buffers of training steps, in the shape that compilers record, for measuring
// planners on many problems.
#ifndef ASHLAR_TESTS_SUPPORT_TRAINING_BUFFERS_H_
#define ASHLAR_TESTS_SUPPORT_TRAINING_BUFFERS_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "memory/problem/buffer.h"

namespace ashlar::testing {

// Returns some 9,000 to 30,000 buffers. The seed decides everything, the same on every machine.
// - Layers of like operators run forward, then backward in the opposite order.
// - A third of the outputs is saved until the backward operator of the same name; others die within
//   a few steps.
// - Backward operators have outputs that die soon, and gradients of weights. Gradients live to the
//   end, or until the update of their layer, or are added to buffers that exist from the start.
// - So saved tensors die while gradients are born, and the load stays near its peak for long.
// - The update needs copies of each weight.
// - In some problems layers are computed once more (recomputation).
// - Sizes are multiples of 512 bytes, or have one byte more.
inline memory::Problem TrainingBuffers(uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  const int64_t layers = draw(6, 36);
  const int64_t operators = draw(6000, 14000) / layers / 5 * 2;  // per layer, forward
  const int64_t width = 128 * draw(4, 24);                       // values per token
  const int64_t tokens = 256 << draw(0, 3);
  const bool recomputed = draw(0, 3) == 0;
  const int64_t odd = draw(0, 1);            // bytes above a multiple
  const int64_t crossing = draw(0, 2) * 20;  // percent of saved outputs that other layers read
  enum class Gradients { kToTheEnd, kUpdatedByLayer, kAddedUp };
  const auto gradients = static_cast<Gradients>(draw(0, 2));

  struct Operator {
    int64_t output;    // bytes
    int64_t life;      // steps, if it is not saved
    bool kept;         // saved until the backward operator
    int64_t weight;    // bytes, or 0
    int64_t gradient;  // bytes of the gradient of its input
  };
  const auto size_of_output = [&]() -> int64_t {
    if (draw(0, 2) == 0) return 4 * draw(1, 64);
    return tokens * width / 4 * draw(1, 40);
  };
  std::vector<Operator> layer;
  for (int64_t k = 0; k < operators; ++k) {
    Operator op{size_of_output(), draw(2, draw(0, 5) == 0 ? 30 : 5), draw(0, 2) == 0, 0, 0};
    if (draw(0, 5) == 0) op.weight = draw(0, 1) == 0 ? 4 * width : width * width * 2 * draw(1, 4);
    op.gradient = draw(0, 1) == 0 ? op.output : size_of_output();
    layer.push_back(op);
  }

  memory::Problem problem;
  const auto add = [&](int64_t lower, int64_t upper, int64_t bytes) {
    memory::Buffer b;
    b.id = static_cast<int64_t>(problem.buffers.size());
    b.lower = lower;
    b.upper = upper;
    b.size = (bytes < 512 ? bytes : (bytes + 511) / 512 * 512) + odd;
    problem.buffers.push_back(b);
  };
  const int64_t forward = 2 * operators;                      // steps per layer
  const int64_t backward = (recomputed ? 5 : 3) * operators;  // steps per layer
  const int64_t turn = layers * forward;
  const int64_t update = turn + layers * backward;
  int64_t weights = 0;
  for (const Operator& op : layer) weights += op.weight > 0;
  const int64_t end = update + 3 * weights * layers;
  int64_t updated = update;  // the step of the next update
  for (int64_t l = 0; l < layers; ++l) {
    const int64_t back = turn + (layers - 1 - l) * backward;  // first step of its backward pass
    const int64_t first = back + backward - 3 * operators;    // the step of its first gradient
    if (recomputed) add(l * forward, back + 2, 4 * tokens * width);
    for (int64_t k = 0; k < operators; ++k) {
      const Operator& op = layer[k];
      const int64_t now = l * forward + 2 * k;
      const int64_t twin = first + 3 * (operators - 1 - k);
      // Sometimes a buffer lives a little longer than others of its kind.
      const int64_t longer = draw(0, 9) == 0 ? draw(1, 12) : 0;
      const int64_t later = draw(0, 99) < crossing ? draw(1, 2 * backward) : 0;
      const bool kept = op.kept && !recomputed;
      add(now, kept ? twin + 2 + longer + later : now + op.life + longer, op.output);
      if (recomputed) {
        const int64_t again = back + 2 * k;
        add(again, op.kept ? twin + 2 + longer + later : again + op.life, op.output);
      }
      add(twin, twin + op.life + 3 + longer, op.gradient);
      if (op.weight == 0) continue;
      switch (gradients) {
        case Gradients::kToTheEnd:
          add(twin + 1, updated + 2, op.weight);
          break;
        case Gradients::kUpdatedByLayer:
          add(twin + 1, back + backward + 2, op.weight);
          break;
        case Gradients::kAddedUp:
          add(0, updated + 2, op.weight);
          add(twin + 1, twin + 4, op.weight);
          break;
      }
      if (draw(0, 1) == 0) add(0, end, op.weight);
      add(updated, updated + 3, op.weight);
      add(updated + 1, updated + 4, op.weight);
      updated += 3;
    }
  }
  return problem;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_TRAINING_BUFFERS_H_
