// SgdUpdate, AdamUpdate and AddUpdate.
#include "opr/update.h"

#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/update_code.h"

namespace ashlar::cuda {
namespace {

absl::StatusOr<KernelList> MakeSgd(const SgdUpdate& op, const KernelRequest& request) {
  SgdParams params;
  params.elements = request.inputs[0].shape.num_elements();
  params.momentum = static_cast<float>(op.param().momentum);
  params.decay = static_cast<float>(op.param().weight_decay);
  params.nesterov = op.param().nesterov;
  const bool moves = op.has_velocity();
  return OnlyLaunch("sgd_update", params, [moves](SgdParams& bound, const KernelArgs& args) {
    bound.weight = args.Input<float>(SgdUpdate::kWeight);
    bound.gradient = args.Input<float>(SgdUpdate::kGradient);
    bound.rate = args.Input<float>(SgdUpdate::kRate);
    bound.new_weight = args.Output<float>(0);
    if (moves) {
      bound.velocity = args.Input<float>(SgdUpdate::kVelocity);
      bound.new_velocity = args.Output<float>(1);
    }
  });
}

absl::StatusOr<KernelList> MakeAdam(const AdamUpdate& op, const KernelRequest& request) {
  const AdamUpdateParam& p = op.param();
  AdamParams params;
  params.elements = request.inputs[0].shape.num_elements();
  params.beta1 = p.beta1;
  params.beta2 = p.beta2;
  params.epsilon = p.epsilon;
  params.decay = p.weight_decay;
  params.decoupled = p.decoupled;
  return OnlyLaunch("adam_update", params, [](AdamParams& bound, const KernelArgs& args) {
    bound.weight = args.Input<float>(AdamUpdate::kWeight);
    bound.gradient = args.Input<float>(AdamUpdate::kGradient);
    bound.rate = args.Input<float>(AdamUpdate::kRate);
    bound.step = args.Input<int64_t>(AdamUpdate::kStep);
    bound.mean = args.Input<float>(AdamUpdate::kMean);
    bound.square = args.Input<float>(AdamUpdate::kSquare);
    bound.new_weight = args.Output<float>(0);
    bound.new_mean = args.Output<float>(1);
    bound.new_square = args.Output<float>(2);
  });
}

absl::StatusOr<KernelList> MakeAdd(const AddUpdate& op, const KernelRequest& request) {
  AddParams params;
  params.elements = request.inputs[0].shape.num_elements();
  params.alpha = static_cast<float>(op.param().alpha);
  params.beta = static_cast<float>(op.param().beta);
  params.bias = static_cast<float>(op.param().bias);
  return OnlyLaunch("add_update", params, [](AddParams& bound, const KernelArgs& args) {
    bound.dest = args.Input<float>(AddUpdate::kDest);
    bound.delta = args.Input<float>(AddUpdate::kDelta);
    bound.sum = args.Output<float>(0);
  });
}

}  // namespace

void RegisterUpdateKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<SgdUpdate>(MakeSgd, {DType::kFloat32});
  registry.Register<AdamUpdate>(MakeAdam, {DType::kFloat32, DType::kInt64});
  registry.Register<AddUpdate>(MakeAdd, {DType::kFloat32});
}

}  // namespace ashlar::cuda
