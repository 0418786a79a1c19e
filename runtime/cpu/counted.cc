// NonZero, IndicesWithin, CheckCount and NonMaxSuppression: operators of tensors whose sizes depend
// on data. They run on one thread, and can fail.
#include "opr/counted.h"

#include "graph/status.h"
#include "opr/base/axis.h"
#include "opr/non_max_suppression.h"
#include "runtime/cpu/kernels.h"

namespace ashlar::cpu {
namespace {

class FallibleKernel final : public Kernel {
 public:
  using Function = std::function<absl::Status(const KernelArgs&)>;
  FallibleKernel(std::string implementation, Function run, int64_t workspace_bytes)
      : implementation_(std::move(implementation)),
        run_(std::move(run)),
        workspace_bytes_(workspace_bytes) {}
  std::string implementation() const override { return implementation_; }
  int64_t workspace_bytes() const override { return workspace_bytes_; }
  absl::Status Run(const KernelArgs& args, KernelState*) const override { return run_(args); }

 private:
  std::string implementation_;
  Function run_;
  int64_t workspace_bytes_;
};

KernelList OnlyFallible(std::string implementation, FallibleKernel::Function run,
                        int64_t workspace_bytes = 0) {
  KernelList kernels;
  kernels.push_back(
      std::make_unique<FallibleKernel>(std::move(implementation), std::move(run), workspace_bytes));
  return kernels;
}

template <typename T>
KernelList NonZeroOf(const NonZero& op, const Shape& shape) {
  const int64_t at_most = op.param().at_most;
  return OnlyFallible("non_zero", [=](const KernelArgs& args) {
    const T* const x = args.Input<T>(0);
    return NonZero::Find(
        shape, at_most, [x](int64_t i) { return x[i] == 0; }, args.Output<int64_t>(0),
        args.Output<int64_t>(1));
  });
}

absl::StatusOr<KernelList> MakeNonZero(const NonZero& op, const KernelRequest& request) {
  const TensorType& x = request.inputs[0];
  if (x.dtype == DType::kFloat32) return NonZeroOf<float>(op, x.shape);
  if (x.dtype == DType::kFloat64) return NonZeroOf<double>(op, x.shape);
  switch (SizeOf(x.dtype)) {  // integers: the sign does not matter
    case 1:
      return NonZeroOf<uint8_t>(op, x.shape);
    case 2:
      return NonZeroOf<uint16_t>(op, x.shape);
    case 4:
      return NonZeroOf<uint32_t>(op, x.shape);
    default:
      return NonZeroOf<uint64_t>(op, x.shape);
  }
}

template <typename Index>
absl::Status MoveWithin(const AxisView& view, bool counted, const KernelArgs& args) {
  const int64_t count = *args.Input<int64_t>(1);
  const int64_t own = counted ? *args.Input<int64_t>(2) : view.length;
  const Index* const x = args.Input<Index>(0);
  Index* const y = args.Output<Index>(0);
  for (int64_t i = 0; i < view.outer * view.length * view.inner; ++i) {
    y[i] = 0;
    if (i / view.inner % view.length >= own) continue;
    ASHLAR_ASSIGN_OR_RETURN(const int64_t index, IndexWithin(x[i], count));
    y[i] = static_cast<Index>(index);
  }
  return absl::OkStatus();
}

absl::StatusOr<KernelList> MakeIndicesWithin(const IndicesWithin& op,
                                             const KernelRequest& request) {
  const TensorType& indices = request.inputs[0];
  const bool counted = op.param().axis != -1;
  const AxisView view = counted ? AroundAxis(indices.shape, static_cast<int>(op.param().axis))
                                : AxisView{1, indices.shape.num_elements(), 1};
  const bool narrow = indices.dtype == DType::kInt32;
  return OnlyFallible("indices_within", [=](const KernelArgs& args) {
    return narrow ? MoveWithin<int32_t>(view, counted, args)
                  : MoveWithin<int64_t>(view, counted, args);
  });
}

absl::StatusOr<KernelList> MakeCheckCount(const CheckCount& op, const KernelRequest&) {
  const CheckCountParam param = op.param();
  return OnlyFallible("check_count", [=](const KernelArgs& args) {
    *args.Output<int64_t>(0) = *args.Input<int64_t>(0);
    return CheckCount::Check(param, *args.Input<int64_t>(0), *args.Input<int64_t>(1));
  });
}

absl::StatusOr<KernelList> MakeNonMaxSuppression(const NonMaxSuppression& op,
                                                 const KernelRequest& request) {
  const NonMaxSuppressionParam param = op.param();
  const Shape scores = request.inputs[1].shape;
  const bool counted = request.inputs.size() > 2;
  return OnlyFallible(
      "nms",
      [=](const KernelArgs& args) {
        return NonMaxSuppression::Take(
            param,
            {scores[0], scores[1], scores[2], args.Input<float>(0), args.Input<float>(1),
             counted ? *args.Input<int64_t>(2) : scores[2]},
            static_cast<int64_t*>(args.workspace), args.Output<int64_t>(0),
            args.Output<int64_t>(1));
      },
      2 * scores[2] * SizeOf(DType::kInt64));
}

}  // namespace

void RegisterCountedKernels(KernelRegistry& registry) {
  registry.Register<NonZero>(MakeNonZero);
  registry.Register<IndicesWithin>(MakeIndicesWithin);
  registry.Register<CheckCount>(MakeCheckCount);
  registry.Register<NonMaxSuppression>(MakeNonMaxSuppression);
}

}  // namespace ashlar::cpu
