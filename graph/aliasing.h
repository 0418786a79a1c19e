// Declares which bytes of an operator's outputs are, or may be, bytes of its inputs. Part of the
// Operator interface.
#ifndef ASHLAR_GRAPH_ALIASING_H_
#define ASHLAR_GRAPH_ALIASING_H_

#include <cstdint>
#include <vector>

namespace ashlar {

// Offsets are in bytes. The answers may depend on formats and on the values of kHostValue inputs.
struct Aliasing {
  // The output is a contiguous range of the input's bytes that starts at `offset`; nothing is
  // computed (MegEngine's readonly forward). At most one view per output.
  struct View {
    int output = 0, input = 0;
    int64_t offset = 0;
  };
  // The output may overwrite an input of the same size in bytes if the input dies here (MegEngine's
  // writable forward). An operator that lists the pair guarantees safety for all of its outputs: no
  // other output is still computed from overwritten bytes.
  struct Overwrite {
    int output = 0, input = 0;
  };
  // The producer of the input may write it directly at `offset` inside the output, so that nothing
  // is left to copy. The input is one contiguous range of the output.
  struct Placement {
    int output = 0, input = 0;
    int64_t offset = 0;
  };
  // The operator first copies the input, as one run of bytes, to its place in the output. If the
  // input dies here, it may overlap the output at any addresses. At most one move.
  struct Move {
    int output = 0, input = 0;
  };
  // The output is the input's storage, changed in place; states are updated this way. All other
  // readers of the input run before.
  struct Update {
    int output = 0, input = 0;
  };

  std::vector<View> views = {};
  std::vector<Overwrite> overwrites = {};  // for each output, the best first
  std::vector<Placement> placements = {};
  std::vector<Move> moves = {};
  std::vector<Update> updates = {};
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_ALIASING_H_
