// Losses and their gradients. Cross entropy is computed row by row, with exponentials of the
// differences from the largest logit. Rows are summed in order, whichever threads computed them.
#include <algorithm>
#include <cmath>

#include "graph/status.h"
#include "opr/cross_entropy.h"
#include "runtime/cpu/isa.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/vector_math.h"

namespace ashlar::cpu {
namespace {

// Finds the largest logit of a row, and the sum of the exponentials of all differences from it.
// Stores these in `exponentials` unless it is null.
void ExponentialsOfRow(const float* x, int64_t classes, float* exponentials, float* largest,
                       double* sum) {
  float most = x[0];
#pragma omp simd reduction(max : most)
  for (int64_t k = 0; k < classes; ++k) most = x[k] > most ? x[k] : most;
  double total = 0;
  if (exponentials == nullptr) {
#pragma omp simd reduction(+ : total)
    for (int64_t k = 0; k < classes; ++k) total += expf(x[k] - most);
  } else {
#pragma omp simd reduction(+ : total)
    for (int64_t k = 0; k < classes; ++k) {
      exponentials[k] = expf(x[k] - most);
      total += exponentials[k];
    }
  }
  *largest = most;
  *sum = total;
}

// A kernel that checks its labels before it does anything else.
class CrossEntropyKernel : public Kernel {
 public:
  explicit CrossEntropyKernel(const KernelRequest& request)
      : rows_(request.inputs[0].shape[0]),
        classes_(request.inputs[0].shape[1]),
        labels_(request.inputs[1].dtype),
        threads_(request.threads),
        exponentials_(Versions<ExponentialsOfRow>::For(request.processor.isa)) {}
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    const void* const labels = args.inputs[CrossEntropy::kLabels];
    ASHLAR_RETURN_IF_ERROR(CheckLabels(labels, labels_, rows_, classes_));
    Compute(args);
    return absl::OkStatus();
  }

 protected:
  virtual void Compute(const KernelArgs& args) const = 0;
  int64_t Label(const KernelArgs& args, int64_t row) const {
    const void* const labels = args.inputs[CrossEntropy::kLabels];
    return labels_ == DType::kInt64 ? static_cast<const int64_t*>(labels)[row]
                                    : static_cast<const int32_t*>(labels)[row];
  }
  // Calls each(row, logits of the row) for all rows.
  template <typename Each>
  void ForRows(const KernelArgs& args, const Each& each) const {
    const float* const logits = args.Input<float>(CrossEntropy::kLogits);
    ParallelFor(threads_, rows_, std::max<int64_t>(1, kElementsPerThread / classes_),
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) each(row, logits + row * classes_);
                });
  }

  const int64_t rows_, classes_;
  const DType labels_;
  const int threads_;
  const Versions<ExponentialsOfRow>::Pointer exponentials_;
};

class MeanLossKernel final : public CrossEntropyKernel {
 public:
  using CrossEntropyKernel::CrossEntropyKernel;
  std::string implementation() const override { return "cross_entropy"; }
  // For the loss of each row.
  int64_t workspace_bytes() const override { return rows_ * int64_t{sizeof(double)}; }

 protected:
  void Compute(const KernelArgs& args) const override {
    double* const losses = static_cast<double*>(args.workspace);
    ForRows(args, [&](int64_t row, const float* x) {
      float largest = 0;
      double sum = 0;
      exponentials_(x, classes_, nullptr, &largest, &sum);
      losses[row] = static_cast<double>(largest) - x[Label(args, row)] + std::log(sum);
    });
    double total = 0;
    for (int64_t row = 0; row < rows_; ++row) total += losses[row];
    *args.Output<float>(0) = static_cast<float>(total / static_cast<double>(rows_));
  }
};

class CrossEntropyGradientKernel final : public CrossEntropyKernel {
 public:
  using CrossEntropyKernel::CrossEntropyKernel;
  std::string implementation() const override { return "cross_entropy_grad"; }

 protected:
  void Compute(const KernelArgs& args) const override {
    float* const dx = args.Output<float>(0);
    const double share =
        *args.Input<float>(CrossEntropyBackward::kDiff) / static_cast<double>(rows_);
    ForRows(args, [&](int64_t row, const float* x) {
      float* const y = dx + row * classes_;
      float largest = 0;
      double sum = 0;
      exponentials_(x, classes_, y, &largest, &sum);
      const int64_t label = Label(args, row);
      const double chosen = y[label] / sum - 1;
      const float scale = static_cast<float>(share / sum);
      for (int64_t k = 0; k < classes_; ++k) y[k] *= scale;
      y[label] = static_cast<float>(chosen * share);
    });
  }
};

template <typename Kernel>
absl::StatusOr<KernelList> MakeLoss(const KernelRequest& request) {
  KernelList kernels;
  kernels.push_back(std::make_unique<Kernel>(request));
  return kernels;
}

}  // namespace

void RegisterLossKernels(KernelRegistry& registry) {
  // Labels may be any integer dtype.
  const std::vector<DType> dtypes = {DType::kFloat32, DType::kInt32, DType::kInt64};
  registry.Register<CrossEntropy>(MakeLoss<MeanLossKernel>, dtypes);
  registry.Register<CrossEntropyBackward>(MakeLoss<CrossEntropyGradientKernel>, dtypes);
}

}  // namespace ashlar::cpu
