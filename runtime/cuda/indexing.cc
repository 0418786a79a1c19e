// Gathering and scattering operators, for any dtype if elements are only moved.
#include <algorithm>
#include <utility>

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/gather.h"
#include "opr/scatter.h"
#include "runtime/cuda/indexing_code.h"
#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/walk.h"
#include "runtime/device/register_each.h"

namespace ashlar::cuda {
namespace {

// Updates that keep a device busy; beyond these, a thread may apply several.
constexpr int64_t kBusyUpdates = 8192;

absl::StatusOr<Runs> RunsOnDevice(const IndexedRuns& from, DType indices) {
  if (from.sizes.size() > static_cast<size_t>(kMaxRank)) {
    return absl::UnimplementedError(
        absl::StrCat("tuples of ", from.sizes.size(), " indices, expected at most ", kMaxRank));
  }
  Runs runs;
  runs.walk = ExtentsOf(from.walk);
  for (size_t i = 0; i < from.strides.size(); ++i) runs.strides[i] = from.strides[i];
  runs.tuples = from.tuples;
  runs.depth = static_cast<int>(from.sizes.size());
  for (size_t i = 0; i < from.sizes.size(); ++i) {
    runs.sizes[i] = from.sizes[i];
    runs.steps[i] = from.steps[i];
  }
  runs.wide = indices == DType::kInt64;
  return runs;
}

// Rescales runs and offsets to the largest element size, up to 16 bytes, that divides all of them.
// Returns that size.
int JoinElements(IndexedRuns& runs, int64_t bytes) {
  int64_t joined = 1;
  const auto fits = [&](int64_t elements) { return elements % (2 * joined) == 0; };
  while (bytes * joined < 16 && fits(runs.length) &&
         std::all_of(runs.strides.begin(), runs.strides.end(), fits) &&
         std::all_of(runs.steps.begin(), runs.steps.end(), fits)) {
    joined *= 2;
  }
  runs.length /= joined;
  for (int64_t& stride : runs.strides) stride /= joined;
  for (int64_t& step : runs.steps) step /= joined;
  return static_cast<int>(bytes * joined);
}

absl::StatusOr<KernelList> MakeGather(const GatheringOperator& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(IndexedRuns runs,
                          op.RunsOf(request.inputs[0].shape, request.inputs[1].shape));
  if (runs.count * runs.length == 0) return NoLaunch();
  GatherParams params;
  params.bytes = JoinElements(runs, SizeOf(request.inputs[0].dtype));
  params.extents = ExtentsOf({runs.count, runs.length});
  ASHLAR_ASSIGN_OR_RETURN(params.runs, RunsOnDevice(runs, request.inputs[1].dtype));
  return OnlyLaunch("gather", params, [](GatherParams& bound, const KernelArgs& args) {
    bound.in = args.inputs[GatheringOperator::kX];
    bound.runs.indices = args.inputs[GatheringOperator::kIndices];
    bound.out = args.outputs[0];
  });
}

// `line` and `inner` as in ScatterParams.
absl::StatusOr<KernelList> ScatterBy(const ScatteringOperator& op, const KernelRequest& request,
                                     int64_t line, int64_t inner) {
  const TensorType& x = request.inputs[ScatteringOperator::kX];
  ASHLAR_ASSIGN_OR_RETURN(IndexedRuns runs,
                          op.RunsOf(x.shape, request.inputs[ScatteringOperator::kIndices].shape));
  ScatterParams params;
  params.reduction = op.reduction();
  if (params.reduction != ScatterReduction::kNone) {
    ASHLAR_RETURN_IF_ERROR(CheckComputed("input 0", x.dtype));
  }
  params.dtype = ScalarOf(x.dtype);
  params.bytes = static_cast<int>(SizeOf(x.dtype));
  if (params.reduction == ScatterReduction::kNone) params.bytes = JoinElements(runs, params.bytes);
  const bool any = runs.count * runs.length > 0;
  if (any) {
    params.line = line;
    params.inner = inner;
    params.length = runs.length;
    params.in_order = runs.count / line * runs.length >= kBusyUpdates || line == 1;
    params.extents = ExtentsOf({runs.count / line, params.in_order ? 1 : line, runs.length});
    ASHLAR_ASSIGN_OR_RETURN(params.runs,
                            RunsOnDevice(runs, request.inputs[ScatteringOperator::kIndices].dtype));
  }
  const int64_t bytes = x.bytes();
  return OnlyLaunch(params.in_order ? "scatter:in order" : "scatter",
                    [params, bytes, any](const KernelArgs& args, void* stream) -> LaunchError {
                      const void* const from = args.inputs[ScatteringOperator::kX];
                      if (from != args.outputs[0] && bytes > 0) {
                        if (LaunchError error = CopyBytes(args.outputs[0], from, bytes, stream))
                          return error;
                      }
                      if (!any) return nullptr;
                      ScatterParams bound = params;
                      bound.runs.indices = args.inputs[ScatteringOperator::kIndices];
                      bound.updates = args.inputs[ScatteringOperator::kUpdates];
                      bound.out = args.outputs[0];
                      return Launch(bound, stream);
                    });
}

// Updates at different positions outside the axis never meet.
absl::StatusOr<KernelList> MakeScatterElements(const ScatterElements& op,
                                               const KernelRequest& request) {
  const Shape& indices = request.inputs[ScatterElements::kIndices].shape;
  ASHLAR_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(op.param().axis, indices.rank()));
  return ScatterBy(op, request, std::max<int64_t>(1, indices[axis]),
                   AroundAxis(indices, axis).inner);
}

absl::StatusOr<KernelList> MakeScatterND(const ScatterND& op, const KernelRequest& request) {
  const Shape& indices = request.inputs[ScatterND::kIndices].shape;
  const int64_t tuples = indices.num_elements() / std::max<int64_t>(1, indices[indices.rank() - 1]);
  return ScatterBy(op, request, std::max<int64_t>(1, tuples), 1);
}

}  // namespace

void RegisterIndexingKernels(KernelRegistry& registry, const LibraryKernels&) {
  RegisterEach<Gather, GatherElements, GatherND>(registry, MakeGather);
  registry.Register<ScatterElements>(MakeScatterElements);
  registry.Register<ScatterND>(MakeScatterND);
}

}  // namespace ashlar::cuda
