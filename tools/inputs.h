// The input tensors of a model: from files, or random.
#ifndef ASHLAR_TOOLS_INPUTS_H_
#define ASHLAR_TOOLS_INPUTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/measure/measure.h"
#include "tools/console.h"
#include "tools/options.h"

namespace ashlar {

// Returns random elements for one input: floats are normal with mean 0 and variance 1, integers
// uniform in [0, 127]. They depend only on the seed and the position of the input.
HostTensor RandomInput(const TensorType& type, uint64_t seed, int position);

// Returns a tensor for every input of the graph, in its dtype and shape.
//
//   NAME=FILE   for the input NAME; FILE alone for the only input, or for all arrays of an .npz
//   .npy, .npz  converted to the input's dtype by ConvertElements
//               Without the first dimension: one image. Uint8 {H,W,3} is a picture.
//   .png, .jpg, .jpeg, .ppm  a picture: --resize, --crop, --letterbox and --color apply, or else it
//               is stretched to the input's size (a note says so); without --mean and --scale,
//               normalised by the statistics of ImageNet
//   any other   the bytes of the tensor, row-major
//   -           standard input: any of these, by its first bytes
//
// Several files for one input fill it along dimension 0 in their order; a single image fills the
// whole batch. Unusable files are kRejectedInput, wrong names kUsage. ResourceExhausted if the
// inputs exceed the machine's memory.
absl::StatusOr<InputTensors> MakeInputs(const Graph& graph, const InputFlags& flags, uint64_t seed,
                                        Console& console);

// The inputs of several runs, one after the other.
struct InputSteps {
  int64_t count = 0;
  // By input: the tensors of all runs along dimension 0; of one run: every run takes it.
  InputTensors tensors;
};

// Returns the tensors of as many runs as the files hold, as MakeInputs reads them. The elements of
// an input come one run after the other, along its first dimension or one before it. An input whose
// files hold one run has the same elements in all runs, as one without files. kRejectedInput names
// two inputs of different numbers of runs.
absl::StatusOr<InputSteps> MakeInputSteps(const Graph& graph, const InputFlags& flags,
                                          uint64_t seed, Console& console);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_INPUTS_H_
