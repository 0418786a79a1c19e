// Gathering and scattering operators, for any dtype. Indices are only known when the kernel runs;
// an index out of range is an error of the run.
#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/status.h"
#include "opr/base/strided.h"
#include "opr/gather.h"
#include "opr/scatter.h"
#include "runtime/cpu/copy.h"
#include "runtime/cpu/element.h"
#include "runtime/cpu/kernels.h"
#include "runtime/cpu/parallel.h"
#include "runtime/device/register_each.h"

namespace ashlar::cpu {
namespace {

// A kernel that checks its indices before it does anything else.
class IndexingKernel : public Kernel {
 public:
  IndexingKernel(IndexedRuns runs, DType indices) : runs_(std::move(runs)), indices_(indices) {}
  std::string implementation() const override { return "indexing"; }
  absl::Status Run(const KernelArgs& args, KernelState*) const override {
    if (runs_.count * runs_.length > 0) {
      ASHLAR_RETURN_IF_ERROR(runs_.CheckIndices(args.inputs[1], indices_));
    }
    if (indices_ == DType::kInt64) {
      Move(args, [&](int64_t r) { return runs_.Begin(args.Input<int64_t>(1), r); });
    } else {
      Move(args, [&](int64_t r) { return runs_.Begin(args.Input<int32_t>(1), r); });
    }
    return absl::OkStatus();
  }

 protected:
  // Returns the start of a run in x, in elements.
  using Begin = absl::FunctionRef<int64_t(int64_t run)>;
  virtual void Move(const KernelArgs& args, Begin begin) const = 0;
  const IndexedRuns& runs() const { return runs_; }

 private:
  const IndexedRuns runs_;
  const DType indices_;
};

class GatherKernel final : public IndexingKernel {
 public:
  GatherKernel(IndexedRuns runs, const KernelRequest& request)
      : IndexingKernel(std::move(runs), request.inputs[1].dtype),
        element_(SizeOf(request.inputs[0].dtype)),
        threads_(request.threads) {}

 protected:
  void Move(const KernelArgs& args, Begin begin) const override {
    const char* const x = args.Input<char>(0);
    char* const y = args.Output<char>(0);
    const int64_t bytes = runs().length * element_;
    ParallelFor(threads_, runs().count,
                std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(runs().length, 1)),
                [&](int64_t first, int64_t end) {
                  for (int64_t r = first; r < end; ++r) {
                    std::memcpy(y + r * bytes, x + begin(r) * element_, static_cast<size_t>(bytes));
                  }
                });
  }

 private:
  const int64_t element_;
  const int threads_;
};

// A kernel that applies updates one after the other, because several may meet one element.
template <typename Number>
class ScatterKernel final : public IndexingKernel {
 public:
  ScatterKernel(IndexedRuns runs, ScatterReduction reduction, const KernelRequest& request)
      : IndexingKernel(std::move(runs), request.inputs[1].dtype),
        reduction_(reduction),
        x_(request.inputs[0]),
        rows_(x_.dtype, request.processor.isa),
        threads_(request.threads) {}

 protected:
  void Move(const KernelArgs& args, Begin begin) const override {
    CopyBytes(args.outputs[0], args.inputs[0], x_.bytes(), threads_);
    const int64_t element = SizeOf(x_.dtype), length = runs().length;
    for (int64_t r = 0; r < runs().count; ++r) {
      const int64_t to = begin(r), from = r * length;
      if (reduction_ == ScatterReduction::kNone) {
        std::memcpy(args.Output<char>(0) + to * element, args.Input<char>(2) + from * element,
                    static_cast<size_t>(length * element));
      } else {
        Reduce(args, to, from, length);
      }
    }
  }

 private:
  void Reduce(const KernelArgs& args, int64_t to, int64_t from, int64_t length) const {
    constexpr int64_t kRow = 256;
    for (int64_t i = 0; i < length; i += kRow) {
      const int64_t n = std::min(kRow, length - i);
      Number elements[kRow], updates[kRow];
      rows_.load(args.outputs[0], to + i, 1, n, elements);
      rows_.load(args.inputs[2], from + i, 1, n, updates);
      for (int64_t k = 0; k < n; ++k) elements[k] = Updated(reduction_, elements[k], updates[k]);
      rows_.store(elements, n, args.outputs[0], to + i, 1);
    }
  }

  const ScatterReduction reduction_;
  const TensorType x_;
  const RowAccess<Number> rows_;
  const int threads_;
};

absl::StatusOr<KernelList> MakeGather(const GatheringOperator& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(IndexedRuns runs,
                          op.RunsOf(request.inputs[0].shape, request.inputs[1].shape));
  KernelList kernels;
  kernels.push_back(std::make_unique<GatherKernel>(std::move(runs), request));
  return kernels;
}

absl::StatusOr<KernelList> MakeScatter(const ScatteringOperator& op, const KernelRequest& request) {
  ASHLAR_ASSIGN_OR_RETURN(IndexedRuns runs,
                          op.RunsOf(request.inputs[0].shape, request.inputs[1].shape));
  KernelList kernels;
  WithNumber(request.inputs[0].dtype, [&]<typename Number>(Number) {
    kernels.push_back(
        std::make_unique<ScatterKernel<Number>>(std::move(runs), op.reduction(), request));
  });
  return kernels;
}

}  // namespace

void RegisterIndexingKernels(KernelRegistry& registry) {
  RegisterEach<Gather, GatherElements, GatherND>(registry, MakeGather);
  RegisterEach<ScatterElements, ScatterND>(registry, MakeScatter);
}

}  // namespace ashlar::cpu
