// SgdUpdate, AdamUpdate and AddUpdate.
#include "opr/update.h"

#include "runtime/cuda/kernels.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/update_code.h"

namespace ashlar::cuda {
namespace {

const float* In(const KernelArgs& args, int input) {
  return static_cast<const float*>(args.inputs[static_cast<size_t>(input)]);
}

float* Out(const KernelArgs& args, int output) {
  return static_cast<float*>(args.outputs[static_cast<size_t>(output)]);
}

absl::StatusOr<KernelList> MakeSgd(const SgdUpdate& op, const KernelRequest& request) {
  SgdParams params;
  params.elements = request.inputs[0].shape.num_elements();
  params.momentum = static_cast<float>(op.param().momentum);
  params.decay = static_cast<float>(op.param().weight_decay);
  params.nesterov = op.param().nesterov;
  const bool moves = op.has_velocity();
  return OnlyLaunch("sgd_update", [params, moves](const KernelArgs& args, void* stream) {
    SgdParams bound = params;
    bound.weight = In(args, SgdUpdate::kWeight);
    bound.gradient = In(args, SgdUpdate::kGradient);
    bound.rate = In(args, SgdUpdate::kRate);
    bound.new_weight = Out(args, 0);
    if (moves) {
      bound.velocity = In(args, SgdUpdate::kVelocity);
      bound.new_velocity = Out(args, 1);
    }
    return Launch(bound, stream);
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
  return OnlyLaunch("adam_update", [params](const KernelArgs& args, void* stream) {
    AdamParams bound = params;
    bound.weight = In(args, AdamUpdate::kWeight);
    bound.gradient = In(args, AdamUpdate::kGradient);
    bound.rate = In(args, AdamUpdate::kRate);
    bound.step = static_cast<const int64_t*>(args.inputs[AdamUpdate::kStep]);
    bound.mean = In(args, AdamUpdate::kMean);
    bound.square = In(args, AdamUpdate::kSquare);
    bound.new_weight = Out(args, 0);
    bound.new_mean = Out(args, 1);
    bound.new_square = Out(args, 2);
    return Launch(bound, stream);
  });
}

absl::StatusOr<KernelList> MakeAdd(const AddUpdate& op, const KernelRequest& request) {
  AddParams params;
  params.elements = request.inputs[0].shape.num_elements();
  params.alpha = static_cast<float>(op.param().alpha);
  params.beta = static_cast<float>(op.param().beta);
  params.bias = static_cast<float>(op.param().bias);
  return OnlyLaunch("add_update", [params](const KernelArgs& args, void* stream) {
    AddParams bound = params;
    bound.dest = In(args, AddUpdate::kDest);
    bound.delta = In(args, AddUpdate::kDelta);
    bound.sum = Out(args, 0);
    return Launch(bound, stream);
  });
}

}  // namespace

void RegisterUpdateKernels(KernelRegistry& registry, const LibraryKernels&) {
  registry.Register<SgdUpdate>(MakeSgd, {DType::kFloat32});
  registry.Register<AdamUpdate>(MakeAdam, {DType::kFloat32, DType::kInt64});
  registry.Register<AddUpdate>(MakeAdd, {DType::kFloat32});
}

}  // namespace ashlar::cuda
