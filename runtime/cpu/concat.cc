// Concat: copies contiguous runs, except inputs that are already in place. The first input comes
// first, and may overlap the output (Aliasing::Move).
#include "opr/concat.h"

#include <algorithm>
#include <cstring>

#include "graph/status.h"
#include "opr/base/strided.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

// The place of an input inside the output: `count` runs of `run` bytes, `pitch` bytes apart.
struct Piece {
  int64_t offset = 0;
  int64_t run = 0;
};

void CopyPart(const Piece& part, int64_t count, int64_t pitch, int threads, char* output,
              const char* input) {
  if (part.run == 0) return;  // an empty input may have no address
  char* const target = output + part.offset;
  if (count == 1 && target == input) return;
  constexpr int64_t kGrain = 1 << 16;  // in bytes
  if (count == 1 && target < input + part.run && input < target + part.run) {
    std::memmove(target, input, static_cast<size_t>(part.run));
    return;
  }
  if (count == 1) {
    ParallelFor(threads, part.run, kGrain, [&](int64_t begin, int64_t end) {
      std::memcpy(target + begin, input + begin, end - begin);
    });
    return;
  }
  ParallelFor(threads, count, std::max<int64_t>(1, kGrain / std::max<int64_t>(part.run, 1)),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  std::memcpy(target + i * pitch, input + i * part.run, part.run);
                }
              });
}

absl::StatusOr<KernelList> MakeConcat(const Concat& op, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, output.shape.rank()));
  int64_t count = 1, pitch = 0;
  std::vector<Piece> parts;
  for (const TensorType& input : request.inputs) {
    const StorageGrid grid = GridOf(input);
    count = 1;
    Piece part{pitch, grid.unit_bytes};
    bool outer = true;
    for (int dim : grid.order) {
      outer = outer && dim != axis;
      (outer ? count : part.run) *= grid.dims[dim];
    }
    parts.push_back(part);
    pitch += part.run;
  }
  const int threads = request.threads;
  return OnlyKernel("copy", [=](const KernelArgs& args) {
    for (size_t i = 0; i < parts.size(); ++i) {
      CopyPart(parts[i], count, pitch, threads, args.Output<char>(0),
               static_cast<const char*>(args.inputs[i]));
    }
  });
}

}  // namespace

void RegisterConcatKernels(KernelRegistry& registry) { registry.Register<Concat>(MakeConcat); }

}  // namespace ashlar::cpu
