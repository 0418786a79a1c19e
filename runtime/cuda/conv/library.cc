// Convolutions by a library: packs filters in its layout, and copies parts of larger images if it
// requires whole images.
#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/region.h"
#include "graph/status.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/copy.h"
#include "runtime/cuda/launched_kernel.h"

namespace ashlar::cuda {
namespace {

// A kernel that copies a convolution's source, which is part of a larger image, into the workspace.
// The library's kernel, which only takes whole images, then reads the copy.
class GatheredConvolution final : public Kernel {
 public:
  GatheredConvolution(const ConvProblem& problem, std::unique_ptr<Kernel> inner)
      : bytes_(RoundUp(problem.src.bytes(), kAlignment)), inner_(std::move(inner)) {
    const ImageStrides to = StridesOf(problem.src), &from = problem.src_strides;
    copy_ = MakeCopies({{problem.src.shape,
                         {Strides{to.n, to.c, to.h, to.w}, Strides{from.n, from.c, from.h, from.w}},
                         {0, problem.src_offset}}},
                       problem.src.dtype)[0];
  }

  std::string implementation() const override {
    return absl::StrCat("gather+", inner_->implementation());
  }
  int64_t workspace_bytes() const override { return bytes_ + inner_->workspace_bytes(); }
  double relative_time() const override { return inner_->relative_time(); }
  std::optional<Packing> packing(int input) const override { return inner_->packing(input); }
  absl::Status Pack(int input, const HostTensor& value, void* packed) const override {
    return inner_->Pack(input, value, packed);
  }
  absl::StatusOr<std::unique_ptr<KernelState>> NewState() const override {
    return inner_->NewState();
  }

  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    CopyParams copy = copy_;
    copy.in[0] = args.inputs[kSrc];
    copy.out = args.workspace;
    ASHLAR_RETURN_IF_ERROR(ToStatus(Launch(copy, static_cast<CudaStream*>(args.stream)->handle())));
    const void* inputs[kZ + 1] = {};
    std::copy(args.inputs.begin(), args.inputs.end(), inputs);
    inputs[kSrc] = args.workspace;
    KernelArgs gathered = args;
    gathered.inputs = absl::MakeSpan(inputs, args.inputs.size());
    gathered.workspace = static_cast<char*>(args.workspace) + bytes_;
    return inner_->Run(gathered, state);
  }

 private:
  static constexpr int64_t kAlignment = 256;  // of the kernel's workspace, after the copy

  const int64_t bytes_;
  const std::unique_ptr<Kernel> inner_;
  CopyParams copy_;
};

}  // namespace

absl::StatusOr<KernelList> LibraryConvolutions(
    const ConvProblem& problem,
    const std::function<absl::StatusOr<KernelList>(const ConvProblem&)>& library) {
  ASHLAR_ASSIGN_OR_RETURN(KernelList kernels, library(problem));
  if (!kernels.empty() || problem.is_packed()) return kernels;
  ConvProblem packed = problem;
  packed.src_strides = StridesOf(problem.src);
  packed.src_offset = 0;
  ASHLAR_ASSIGN_OR_RETURN(kernels, library(packed));
  for (std::unique_ptr<Kernel>& kernel : kernels) {
    kernel = std::make_unique<GatheredConvolution>(problem, std::move(kernel));
  }
  return kernels;
}

Packing FilterPacking(const ConvProblem& problem) {
  return {problem.flipped() ? "KRSC flipped" : "KRSC", problem.filter.bytes()};
}

void PackFilter(const ConvProblem& problem, const HostTensor& filter, void* packed) {
  const ConvolutionGeometry& g = problem.geometry;
  const size_t element = static_cast<size_t>(SizeOf(filter.dtype()));
  const int64_t taps = g.h.window * g.w.window;
  const char* const from = static_cast<const char*>(filter.raw());
  char* to = static_cast<char*>(packed);
  for (int64_t k = 0; k < g.groups * g.out_channels; ++k) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t source = problem.flipped() ? taps - 1 - tap : tap;
      for (int64_t c = 0; c < g.in_channels; ++c, to += element) {
        std::memcpy(to, from + ((k * g.in_channels + c) * taps + source) * element, element);
      }
    }
  }
}

}  // namespace ashlar::cuda
