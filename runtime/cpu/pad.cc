// Pad: rows of the output are runs of an input row, between added elements.
#include "opr/pad.h"

#include <algorithm>
#include <cstring>

#include "graph/status.h"
#include "opr/base/strided.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/walk.h"

namespace ashlar::cpu {
namespace {

// The layout of a padded tensor, in units of `unit` bytes: elements, or blocks of channels of one
// pixel. Dimensions are in memory order.
struct Padding {
  struct Dimension {
    std::vector<int64_t> source;  // by output index: the input index, or -1
    int64_t stride = 0;           // in the input
  };
  std::vector<Dimension> outer;
  Dimension row;
  int64_t run_begin = 0, run_end = 0;  // outputs of the row that copy adjacent inputs
  int64_t rows = 1;
  int64_t unit = 0;
  std::vector<char> constant;  // one unit
};

void FillUnits(const Padding& p, char* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * p.unit, p.constant.data(), static_cast<size_t>(p.unit));
  }
}

void PadRow(const Padding& p, const char* input, int64_t row, char* to) {
  const auto length = static_cast<int64_t>(p.row.source.size());
  int64_t from = 0;
  for (size_t i = p.outer.size(); i-- > 0;) {
    const auto size = static_cast<int64_t>(p.outer[i].source.size());
    const int64_t source = p.outer[i].source[static_cast<size_t>(row % size)];
    if (source < 0) return FillUnits(p, to, length);
    from += source * p.outer[i].stride;
    row /= size;
  }
  const char* const line = input + from * p.unit;
  const auto copy = [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const int64_t source = p.row.source[static_cast<size_t>(o)];
      std::memcpy(to + o * p.unit, source < 0 ? p.constant.data() : line + source * p.unit,
                  static_cast<size_t>(p.unit));
    }
  };
  copy(0, p.run_begin);
  if (p.run_end > p.run_begin) {
    std::memcpy(to + p.run_begin * p.unit,
                line + p.row.source[static_cast<size_t>(p.run_begin)] * p.unit,
                static_cast<size_t>((p.run_end - p.run_begin) * p.unit));
  }
  copy(p.run_end, length);
}

absl::StatusOr<KernelList> MakePad(const Pad& op, const KernelRequest& request) {
  const TensorType &x = request.inputs[0], output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<PadAxis> axes, PadAxesOf(op.param(), x));
  const StorageGrid from = GridOf(x), to = GridOf(output);
  Padding p;
  p.unit = to.unit_bytes;
  p.constant.resize(static_cast<size_t>(p.unit));
  HostTensor constant = HostTensor::Zeros(x.dtype, {p.unit / SizeOf(x.dtype)});
  for (int64_t i = 0; i < constant.num_elements(); ++i) constant.Set(i, op.param().value);
  std::memcpy(p.constant.data(), constant.raw(), p.constant.size());
  int64_t stride = 1;
  for (size_t i = from.order.size(); i-- > 0;) {
    const int dim = from.order[i];
    PadAxis axis = axes[static_cast<size_t>(dim)];
    if (IsBlocked(x.format) && dim == 1) axis = {0, from.dims[dim], 0, 0};  // no blocks are padded
    Padding::Dimension dimension{{}, stride};
    for (int64_t o = 0; o < axis.output(); ++o) {
      dimension.source.push_back(axis.InputOf(op.param().mode, o));
    }
    stride *= from.dims[dim];
    if (i + 1 == from.order.size()) {
      p.run_begin = axis.before;
      p.run_end = axis.before + axis.kept;
      p.row = std::move(dimension);
    } else {
      p.rows *= axis.output();
      p.outer.insert(p.outer.begin(), std::move(dimension));
    }
  }
  if (from.order.empty()) p.row.source = {0}, p.run_end = 1;  // a scalar
  const int threads = request.threads;
  const auto length = static_cast<int64_t>(p.row.source.size());
  const int64_t grain =
      std::max<int64_t>(1, kElementsPerThread * 4 / std::max<int64_t>(1, length * p.unit));
  return OnlyKernel("pad", [=](const KernelArgs& args) {
    ParallelFor(threads, length == 0 ? 0 : p.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        PadRow(p, args.Input<char>(0), row, args.Output<char>(0) + row * length * p.unit);
      }
    });
    ZeroChannelPadding(output, args.outputs[0]);
  });
}

}  // namespace

void RegisterPadKernels(KernelRegistry& registry) { registry.Register<Pad>(MakePad); }

}  // namespace ashlar::cpu
