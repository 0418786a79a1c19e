// The tensors that go into a model: from files, or random.
#ifndef ASHLAR_TOOLS_INPUTS_H_
#define ASHLAR_TOOLS_INPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/measure/measure.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

// Random elements for one input: floats are normal with mean 0 and variance 1, integers uniform in
// [0, 127]. Depends on the seed and the position of the input alone.
HostTensor RandomInput(const TensorType& type, uint64_t seed, int position);

// A tensor for every input of the graph, in its dtype and shape.
//
//   NAME=FILE   for the input NAME; FILE alone for the only input, or for all arrays of an .npz
//   .npy, .npz  converted to the input's dtype
//               Without the first dimension: one image. Uint8 {H,W,3} is a picture.
//   .png, .jpg, .jpeg, .ppm  a picture: --resize, --crop, --letterbox, --color, or else stretched
//   to
//               the input's size (a note says so); without --mean and --scale, normalised by the
//               statistics of ImageNet
//   any other   the bytes of the tensor, row-major
//   -           standard input: any of these, by its first bytes
//
// Files for one input fill it along dimension 0 in their order; a single image fills the whole
// batch. Files that cannot be used are kRejectedInput, wrong names kUsage; ResourceExhausted where
// the inputs exceed the machine's memory.
absl::StatusOr<InputTensors> MakeInputs(const Graph& graph, const InputFlags& flags, uint64_t seed,
                                        Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_INPUTS_H_
