// Updates of states: pointwise, element i of a state from element i of all inputs.
#include "opr/update.h"

#include <cmath>

#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/own_kernel.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::cpu {
namespace {

// The arguments of a step, which updates elements [begin, end) of states of one length. Outputs may
// share the inputs' addresses.
struct SgdStep {
  const float *weight, *gradient, *velocity;
  float *new_weight, *new_velocity;
  float rate, momentum, decay;
  bool nesterov;
};

void StepSgd(const SgdStep& s, int64_t begin, int64_t end) {
  if (s.velocity == nullptr) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      s.new_weight[i] = s.weight[i] - s.rate * (s.gradient[i] + s.decay * s.weight[i]);
    }
    return;
  }
  const float of_gradient = s.nesterov ? 1 : 0, of_velocity = s.nesterov ? s.momentum : 1;
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float d = s.gradient[i] + s.decay * s.weight[i];
    const float velocity = s.momentum * s.velocity[i] + d;
    s.new_velocity[i] = velocity;
    s.new_weight[i] = s.weight[i] - s.rate * (of_gradient * d + of_velocity * velocity);
  }
}

struct AdamStep {
  const float *weight, *gradient, *mean, *square;
  float *new_weight, *new_mean, *new_square;
  float keep_mean, keep_square, epsilon, decay;  // decay: added to the gradient
  float weight_factor, step_size, root_scale;
};

void StepAdam(const AdamStep& s, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float d = s.gradient[i] + s.decay * s.weight[i];
    const float mean = s.keep_mean * s.mean[i] + (1 - s.keep_mean) * d;
    const float square = s.keep_square * s.square[i] + (1 - s.keep_square) * d * d;
    s.new_mean[i] = mean;
    s.new_square[i] = square;
    s.new_weight[i] = s.weight[i] * s.weight_factor -
                      s.step_size * mean / (std::sqrt(square) * s.root_scale + s.epsilon);
  }
}

struct AddStep {
  const float *dest, *delta;
  float* sum;
  float alpha, beta, bias;
};

void StepAdd(const AddStep& s, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    s.sum[i] = s.alpha * s.dest[i] + s.beta * s.delta[i] + s.bias;
  }
}

// Returns a kernel that builds its step from the arguments of a run, and applies it to ranges of
// elements.
template <auto kStep, typename Make>
KernelList Updating(const KernelRequest& request, const char* name, const Make& make) {
  const int64_t elements = request.inputs[0].shape.num_elements();
  const int threads = request.threads;
  const auto step = Versions<kStep>::For(request.processor.isa);
  return OnlyKernel(absl::StrCat(name, ":", Name(request.processor.isa)),
                    [=](const KernelArgs& args) {
                      const auto made = make(args);
                      ParallelFor(threads, elements, kElementsPerThread,
                                  [&](int64_t begin, int64_t end) { step(made, begin, end); });
                    });
}

absl::StatusOr<KernelList> MakeSgdUpdate(const SgdUpdate& op, const KernelRequest& request) {
  const SgdUpdateParam p = op.param();
  const bool moves = op.has_velocity();
  return Updating<StepSgd>(request, "sgd_update", [=](const KernelArgs& args) {
    return SgdStep{args.Input<float>(SgdUpdate::kWeight),
                   args.Input<float>(SgdUpdate::kGradient),
                   moves ? args.Input<float>(SgdUpdate::kVelocity) : nullptr,
                   args.Output<float>(0),
                   moves ? args.Output<float>(1) : nullptr,
                   *args.Input<float>(SgdUpdate::kRate),
                   static_cast<float>(p.momentum),
                   static_cast<float>(p.weight_decay),
                   p.nesterov};
  });
}

absl::StatusOr<KernelList> MakeAdamUpdate(const AdamUpdate& op, const KernelRequest& request) {
  const AdamUpdateParam p = op.param();
  return Updating<StepAdam>(request, "adam_update", [=](const KernelArgs& args) {
    const AdamFactors factors = FactorsOf(p, *args.Input<float>(AdamUpdate::kRate),
                                          *args.Input<int64_t>(AdamUpdate::kStep));
    return AdamStep{args.Input<float>(AdamUpdate::kWeight),
                    args.Input<float>(AdamUpdate::kGradient),
                    args.Input<float>(AdamUpdate::kMean),
                    args.Input<float>(AdamUpdate::kSquare),
                    args.Output<float>(0),
                    args.Output<float>(1),
                    args.Output<float>(2),
                    static_cast<float>(p.beta1),
                    static_cast<float>(p.beta2),
                    static_cast<float>(p.epsilon),
                    static_cast<float>(p.decoupled ? 0 : p.weight_decay),
                    static_cast<float>(factors.decay),
                    static_cast<float>(factors.step_size),
                    static_cast<float>(factors.root_scale)};
  });
}

absl::StatusOr<KernelList> MakeAddUpdate(const AddUpdate& op, const KernelRequest& request) {
  const AddUpdateParam p = op.param();
  return Updating<StepAdd>(request, "add_update", [=](const KernelArgs& args) {
    return AddStep{args.Input<float>(AddUpdate::kDest),
                   args.Input<float>(AddUpdate::kDelta),
                   args.Output<float>(0),
                   static_cast<float>(p.alpha),
                   static_cast<float>(p.beta),
                   static_cast<float>(p.bias)};
  });
}

}  // namespace

void RegisterUpdateKernels(KernelRegistry& registry) {
  registry.Register<SgdUpdate>(MakeSgdUpdate, {DType::kFloat32});
  registry.Register<AdamUpdate>(MakeAdamUpdate, {DType::kFloat32, DType::kInt64});
  registry.Register<AddUpdate>(MakeAddUpdate, {DType::kFloat32});
}

}  // namespace ashlar::cpu
