#include "benchmarks/onednn/convolution.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "benchmarks/onednn/kernel.h"
#include "graph/status.h"
#include "runtime/cpu/parallel.h"

namespace ashlar::onednn {
namespace {

using cpu::ConvProblem;
using dnnl::algorithm;
using dnnl::memory;

constexpr int kSrc = ConvBiasForward::kSrc, kFilter = ConvBiasForward::kFilter,
              kBias = ConvBiasForward::kBias, kZ = ConvBiasForward::kZ;
constexpr int64_t kCopyGrain = 64 * 1024;  // bytes

// A filter of one group is described without the group dimension, because more implementations
// accept it.
memory::dims FilterDims(const ConvProblem& problem) {
  const absl::Span<const int64_t> dims = problem.filter.shape.dims();
  const bool one_group = problem.geometry.groups == 1;
  return memory::dims(dims.end() - (one_group ? 4 : 5), dims.end());
}

memory::desc RowMajorFilter(const ConvProblem& problem) {
  const memory::dims dims = FilterDims(problem);
  return memory::desc(dims, memory::data_type::f32,
                      dims.size() == 5 ? memory::format_tag::goihw : memory::format_tag::oihw);
}

// Returns the filter rotated by 180 degrees: its planes are reversed.
HostTensor Flipped(const HostTensor& filter, int64_t plane) {
  HostTensor flipped = HostTensor::Zeros(filter.dtype(), filter.shape());
  const absl::Span<const float> from = filter.data<float>();
  float* const to = flipped.mutable_data<float>().data();
  for (int64_t i = 0; i < filter.num_elements(); i += plane) {
    std::reverse_copy(from.data() + i, from.data() + i + plane, to + i);
  }
  return flipped;
}

// Appends the activation; false if the library lacks it.
bool AppendActivation(const ConvBiasParam& param, dnnl::post_ops& post_ops) {
  const auto append = [&](algorithm function, double alpha = 0, double beta = 0) {
    post_ops.append_eltwise(1.0f, function, static_cast<float>(alpha), static_cast<float>(beta));
    return true;
  };
  switch (param.nonlineMode) {
    case ScalarFunction::kIdentity:
      return true;
    case ScalarFunction::kRelu:
      return append(algorithm::eltwise_relu);
    case ScalarFunction::kSigmoid:
      return append(algorithm::eltwise_logistic);
    case ScalarFunction::kHSwish:
      return append(algorithm::eltwise_hardswish);
    case ScalarFunction::kClamp:
      return append(algorithm::eltwise_clip, param.parameters[0], param.parameters[1]);
    default:
      return false;
  }
}

class OneDnnConvolution final : public OneDnnKernel {
 public:
  OneDnnConvolution(const dnnl::convolution_forward::primitive_desc& pd, const ConvProblem& problem,
                    double relative_time)
      : OneDnnKernel(pd, Arguments(pd, problem), relative_time),
        row_major_(RowMajorFilter(problem)),
        packed_(pd.weights_desc()),
        flipped_plane_(problem.flipped() ? problem.geometry.h.window * problem.geometry.w.window
                                         : 0),
        z_bytes_(problem.z.has_value() ? problem.z->bytes() : 0),
        threads_(problem.threads) {}

  std::optional<Packing> packing(int input) const override {
    if (input != kFilter || (packed_ == row_major_ && flipped_plane_ == 0)) return std::nullopt;
    return Packing{absl::StrCat(PackingKey(packed_), flipped_plane_ != 0 ? " flipped" : ""),
                   static_cast<int64_t>(packed_.get_size())};
  }

  absl::Status Pack(int /*input*/, const HostTensor& value, void* packed) const override {
    const HostTensor filter = flipped_plane_ == 0 ? value : Flipped(value, flipped_plane_);
    return OneDnnReorder(row_major_, filter.raw(), packed_, packed);
  }

  absl::Status Run(const KernelArgs& args, KernelState* state) const override {
    // The primitive adds to its output, so z is copied there, unless the plan placed both together.
    if (z_bytes_ != 0 && args.inputs[kZ] != args.outputs[0]) {
      const char* const z = static_cast<const char*>(args.inputs[kZ]);
      char* const out = static_cast<char*>(args.outputs[0]);
      cpu::ParallelFor(threads_, z_bytes_, kCopyGrain, [&](int64_t begin, int64_t end) {
        std::memcpy(out + begin, z + begin, static_cast<size_t>(end - begin));
      });
    }
    return OneDnnKernel::Run(args, state);
  }

 private:
  static std::vector<OneDnnArgument> Arguments(const dnnl::convolution_forward::primitive_desc& pd,
                                               const ConvProblem& problem) {
    std::vector<OneDnnArgument> arguments = {
        OneDnnInput(DNNL_ARG_SRC, kSrc, pd.src_desc()),
        OneDnnInput(DNNL_ARG_WEIGHTS, kFilter, pd.weights_desc()),
        OneDnnOutput(DNNL_ARG_DST, 0, pd.dst_desc())};
    if (problem.has_bias) {
      arguments.push_back(OneDnnInput(DNNL_ARG_BIAS, kBias, pd.bias_desc()));
    }
    return arguments;
  }

  memory::desc row_major_, packed_;
  int64_t flipped_plane_;  // elements of a plane that Pack reverses; 0: none
  int64_t z_bytes_;
  int threads_;
};

// Whether the kernel is im2col and a matrix product, oneDNN's kernel for row-major images.
bool IsGemm(const dnnl::convolution_forward::primitive_desc& pd) {
  return absl::StrContains(pd.impl_info_str(), "gemm");
}

// Returns the expected time of the `rank`th implementation relative to the fastest kernel. Measured
// on ResNet-50's layers: only 1x1 layers have a second implementation, the general one for all
// windows. It takes 2 to 16 % longer at stride 1, and 5 to 25 % at stride 2, because the first
// copies the pixels that it reads into workspace. For windows on row-major images the direct kernel
// takes 0.8 of the time of im2col.
double RelativeTime(const ConvProblem& problem, size_t rank, bool gemm) {
  if (gemm && problem.geometry.groups == 1 && !problem.pointwise()) return 1.25;
  if (rank == 0) return 1.0;
  const bool strided = problem.geometry.h.stride > 1 || problem.geometry.w.stride > 1;
  return strided ? 1.15 : 1.1;
}

}  // namespace

absl::Status AddOneDnnConvolutions(const ConvProblem& problem, KernelList& kernels) {
  const WindowAxis &h = problem.geometry.h, &w = problem.geometry.w;
  // Without packing, the kernel reads the filter in its original format.
  const bool filter_fits =
      problem.constant_filter || (!problem.flipped() && problem.filter.format == Format::kDefault);
  const bool z_fits = !problem.z.has_value() || *problem.z == problem.dst;
  const bool formats_fit = OneDnnSupports(problem.src.format) && OneDnnSupports(problem.dst.format);
  const bool crops = std::min({h.pad_begin, h.pad_end, w.pad_begin, w.pad_end}) < 0;
  if (!filter_fits || !z_fits || !formats_fit || crops) return absl::OkStatus();
  return CallOneDnn("convolution", [&] {
    const memory::desc filter =
        problem.constant_filter
            ? memory::desc(FilterDims(problem), memory::data_type::f32, memory::format_tag::any)
            : RowMajorFilter(problem);
    const memory::desc bias =
        problem.has_bias
            ? memory::desc({problem.dst.shape[1]}, memory::data_type::f32, memory::format_tag::x)
            : memory::desc();
    // Must outlive the loop: oneDNN uses it to find the next implementation.
    const dnnl::convolution_forward::desc convolution(
        dnnl::prop_kind::forward_inference, algorithm::convolution_direct, OneDnnDesc(problem.src),
        filter, bias, OneDnnDesc(problem.dst), {h.stride, w.stride},
        {h.dilation - 1, w.dilation - 1}, {h.pad_begin, w.pad_begin}, {h.pad_end, w.pad_end});
    dnnl::post_ops post_ops;
    if (problem.z.has_value()) post_ops.append_sum(1.0f);
    if (!AppendActivation(problem.param, post_ops)) return;
    dnnl::primitive_attr attributes = OneDnnAttributes();
    attributes.set_post_ops(post_ops);
    const dnnl::convolution_forward::primitive_desc first(convolution, attributes, OneDnnEngine(),
                                                          /*allow_empty=*/true);
    const size_t before = kernels.size();
    ForEachImplementation(first, [&](const dnnl::convolution_forward::primitive_desc& pd) {
      const size_t rank = kernels.size() - before;
      if (rank > 0 && IsGemm(pd)) return;
      kernels.push_back(std::make_unique<OneDnnConvolution>(
          pd, problem, RelativeTime(problem, rank, IsGemm(pd))));
    });
  });
}

}  // namespace ashlar::onednn
