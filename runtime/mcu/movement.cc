// Operators that only move elements, if the plan did not turn them into views.
#include "runtime/mcu/movement.h"

#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "opr/assign.h"
#include "opr/bit_cast.h"
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/expand.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/relayout_format.h"
#include "opr/reshape.h"
#include "opr/split.h"
#include "opr/subtensor.h"
#include "runtime/device/register_each.h"
#include "runtime/mcu/code_kernel.h"
#include "runtime/mcu/kernels.h"
#include "runtime/mcu/walk.h"

namespace ashlar::mcu {
namespace {

// Joins elements that are adjacent in both tensors into one unit.
CodeCall CopyCall(const Walk<2>& walk, int64_t element, CodeOperand from, CodeOperand to) {
  constexpr int kInner = ASHLAR_AXES - 1;
  auto shape = ShapeOver<ashlar_copy_shape>(walk);
  shape.unit = static_cast<int32_t>(element);
  int32_t& count = shape.walk.sizes[kInner];
  const auto in_runs = [&](const ashlar_strides& strides) {
    const int32_t* const outer = strides.by_axis;
    return count > 0 && (count == 1 || strides.by_axis[kInner] == 1) &&
           std::all_of(outer, outer + kInner, [&](int32_t step) { return step % count == 0; });
  };
  if (in_runs(shape.src) && in_runs(shape.dst)) {
    for (int axis = 0; axis < kInner; ++axis) {
      shape.src.by_axis[axis] /= count;
      shape.dst.by_axis[axis] /= count;
    }
    shape.unit *= std::exchange(count, 1);
  }
  CodeCall call = ASHLAR_CODE_CALL(copy, shape, from, to);
  const int32_t* const sizes = shape.walk.sizes;
  call.is_copy = std::all_of(sizes, sizes + ASHLAR_AXES, [](int32_t size) { return size == 1; });
  return call;
}

// Copies the elements of input 0 that `strides` walk from element `base` on, to output `index`.
absl::StatusOr<CodeCall> StridedCopy(const KernelRequest& request, int index, int64_t base,
                                     const Strides& strides) {
  const TensorType& output = request.outputs[static_cast<size_t>(index)];
  const int64_t element = SizeOf(output.dtype);
  ASHLAR_ASSIGN_OR_RETURN(const Walk<2> walk,
                          (WalkInOrder<2>(output.shape, GridOf(output).order,
                                          {strides, StridesOver(output, output.shape)})));
  return CopyCall(walk, element, {CodeOperand::Kind::kInput, 0, base * element}, Output(index));
}

absl::StatusOr<KernelList> OnlyCopy(absl::StatusOr<CodeCall> call) {
  if (!call.ok()) return call.status();
  return OnlyKernel({*std::move(call)});
}

// Copies one run of bytes; the tensors may overlap.
CodeCall RunCopyCall(int64_t bytes, CodeOperand from, CodeOperand to) {
  ashlar_copy_shape shape = {};
  for (int32_t& size : shape.walk.sizes) size = 1;
  shape.unit = static_cast<int32_t>(bytes);
  CodeCall call = ASHLAR_CODE_CALL(copy, shape, from, to);
  call.is_copy = true;
  return call;
}

// Copies the bytes of input 0 in order: Assign, BitCast, Reshape, OutputCallback.
absl::StatusOr<KernelList> MakePlainCopy(const KernelRequest& request) {
  return OnlyKernel({RunCopyCall(request.inputs[0].bytes(), Input(0), Output(0))});
}

Strides StridesOfInput(const KernelRequest& request) {
  return StridesOver(request.inputs[0], request.inputs[0].shape);
}

absl::StatusOr<KernelList> MakeSubtensor(const Subtensor& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<AxisRange> ranges, op.Ranges(request.infos()));
  const StridedView view = ViewOf(ranges, StridesOfInput(request));
  return OnlyCopy(StridedCopy(request, 0, view.base, view.strides));
}

absl::StatusOr<KernelList> MakeDimshuffle(const Dimshuffle& op, const KernelRequest& request) {
  return OnlyCopy(StridedCopy(request, 0, 0, op.Permuted(StridesOfInput(request))));
}

absl::StatusOr<KernelList> MakeExpand(const KernelRequest& request) {
  return OnlyCopy(StridedCopy(request, 0, 0,
                              BroadcastStrides(request.inputs[0].shape, request.outputs[0].shape)));
}

// Copies each piece from its start in the input; a run skips pieces that are views.
absl::StatusOr<KernelList> MakeSplit(const Split& op, const KernelRequest& request) {
  const TensorType& input = request.inputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, input.shape.rank()));
  const Strides strides = StridesOfInput(request);
  std::vector<CodeCall> calls;
  int64_t start = 0;
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    ASHLAR_ASSIGN_OR_RETURN(
        CodeCall call, StridedCopy(request, static_cast<int>(i), start * strides[axis], strides));
    calls.push_back(std::move(call));
    start += request.outputs[i].shape[axis];
  }
  return OnlyKernel(std::move(calls));
}

// Copies each input to its place in the output, the first one first (Aliasing::Move); skips inputs
// that the plan has placed there.
absl::StatusOr<KernelList> MakeConcat(const Concat& op, const KernelRequest& request) {
  const TensorType& output = request.outputs[0];
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, output.shape.rank()));
  const int64_t element = SizeOf(output.dtype);
  const Strides to = StridesOver(output, output.shape);
  // Whether each input is one run of the output: nothing is outside the axis in memory.
  bool in_runs = true;
  for (const int outer : GridOf(output).order) {
    if (outer == axis) break;
    in_runs = in_runs && output.shape[outer] == 1;
  }
  std::vector<CodeCall> calls;
  int64_t start = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorType& input = request.inputs[i];
    if (in_runs) {
      const CodeOperand place = Output(0, start * to[axis] * element);
      calls.push_back(RunCopyCall(input.bytes(), Input(static_cast<int>(i)), place));
      start += input.shape[axis];
      continue;
    }
    ASHLAR_ASSIGN_OR_RETURN(
        const Walk<2> walk,
        (WalkInOrder<2>(input.shape, GridOf(input).order, {StridesOver(input, input.shape), to})));
    const int64_t offset = start * to[axis] * element;
    calls.push_back(CopyCall(walk, element, Input(static_cast<int>(i)), Output(0, offset)));
    start += input.shape[axis];
  }
  return OnlyKernel(std::move(calls));
}

// The shape is known before the run.
absl::StatusOr<KernelList> MakeGetVarShape(const GetVarShape& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<int32_t> dims, op.Dimensions(request.inputs[0].shape));
  ashlar_copy_shape shape = {};
  for (int32_t& size : shape.walk.sizes) size = 1;
  shape.unit = static_cast<int32_t>(dims.size() * sizeof(int32_t));
  return OnlyKernel({ASHLAR_CODE_CALL(copy, shape, Table(0), Output(0))},
                    {CodeTable::Of<int32_t>(DType::kInt32, dims)});
}

}  // namespace

absl::StatusOr<KernelList> CopyOf(const KernelRequest& request) {
  const TensorType &input = request.inputs[0], &output = request.outputs[0];
  if (input.format == output.format) return MakePlainCopy(request);
  return OnlyCopy(StridedCopy(request, 0, 0, StridesOver(input, output.shape)));
}

void RegisterMovementKernels(KernelRegistry& registry) {
  registry.Register<Concat>(MakeConcat);
  registry.Register<Dimshuffle>(MakeDimshuffle);
  registry.Register<Expand>(MakeExpand);
  registry.Register<GetVarShape>(MakeGetVarShape);
  RegisterEach<Assign, BitCast, OutputCallback, Reshape>(registry, MakePlainCopy);
  registry.Register<RelayoutFormat>(CopyOf);
  registry.Register<Split>(MakeSplit);
  registry.Register<Subtensor>(MakeSubtensor);
}

}  // namespace ashlar::mcu
