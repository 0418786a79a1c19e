// Which bytes of an operator's outputs are, or may be, bytes of its inputs: one of the groups of
// questions that an Operator answers.
#ifndef ASHLAR_GRAPH_ALIASING_H_
#define ASHLAR_GRAPH_ALIASING_H_

#include <cstdint>
#include <vector>

namespace ashlar {

// Formats count, and the values of inputs that are used as kHostValue. Offsets are in bytes.
struct Aliasing {
  // The output is the bytes of the input from `offset` on, contiguous: nothing is computed for it
  // (MegEngine's readonly forward). At most one an output.
  struct View {
    int output = 0, input = 0;
    int64_t offset = 0;
  };
  // The output may overwrite the input, which has as many bytes, when that dies here (MegEngine's
  // writable forward). An operator that names the pair guarantees that this is safe with respect to
  // all of its outputs: no other output is still computed from bytes of the input that are gone.
  struct Overwrite {
    int output = 0, input = 0;
  };
  // The input may be written by its own producer at `offset` inside the output, of which it is one
  // contiguous part, so that nothing is left to copy.
  struct Placement {
    int output = 0, input = 0;
    int64_t offset = 0;
  };
  // The output is the storage of the input, changed in place: how state is updated. Whatever else
  // reads the input runs before.
  struct Update {
    int output = 0, input = 0;
  };

  std::vector<View> views = {};
  std::vector<Overwrite> overwrites = {};  // of each output the best first
  std::vector<Placement> placements = {};
  std::vector<Update> updates = {};
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_ALIASING_H_
