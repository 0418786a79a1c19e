// Convolution without a library, one thread per output element.
#include "opr/conv_bias.h"
#include "runtime/cuda/conv/conv.h"
#include "runtime/cuda/conv/conv_problem.h"
#include "runtime/cuda/conv/direct_code.h"
#include "runtime/cuda/launched_kernel.h"
#include "runtime/cuda/pointwise_chain.h"
#include "runtime/cuda/walk.h"

namespace ashlar::cuda {
namespace {

const void* BytesOn(const void* data, int64_t bytes) {
  return static_cast<const char*>(data) + bytes;
}

}  // namespace

std::unique_ptr<Kernel> MakeDirectConvolution(const ConvProblem& problem, double relative_time) {
  const ConvolutionGeometry& g = problem.geometry;
  const Shape& out = problem.dst.shape;
  DirectConvParams params;
  params.channels_last = problem.dst.format == Format::kNHWC;
  params.extents = ExtentsOf(params.channels_last ? Shape{out[0], out[2], out[3], out[1]} : out);
  params.dtype = ScalarOf(problem.dst.dtype);
  params.h = StepsOf(g.h);
  params.w = StepsOf(g.w);
  params.in_channels = g.in_channels;
  params.out_channels = g.out_channels;
  params.flipped = problem.flipped();
  const ImageStrides& in = problem.src_strides;
  params.in_steps = {in.n, in.c, in.h, in.w};
  const int64_t offset = problem.src_offset_bytes();
  params.out_steps = StepsOf(problem.dst);
  if (problem.z.has_value()) params.z_steps = StepsOf(*problem.z);
  params.filter_w = 1;  // row-major, unpacked
  params.filter_h = g.w.window;
  params.filter_c = g.h.window * g.w.window;
  params.filter_k = g.in_channels * params.filter_c;
  params.source = problem.source_bounds();
  params.activation = CallOf(ActivationParam(problem.param));
  const bool has_bias = problem.has_bias, has_z = problem.z.has_value();
  return std::make_unique<LaunchedKernel>(
      "direct",
      [=](const KernelArgs& args, void* stream) {
        DirectConvParams bound = params;
        bound.in = BytesOn(args.inputs[kSrc], offset);
        bound.filter = args.inputs[kFilter];
        bound.bias = has_bias ? args.inputs[kBias] : nullptr;
        bound.z = has_z ? args.inputs[kZ] : nullptr;
        bound.out = args.outputs[0];
        return Launch(bound, stream);
      },
      relative_time);
}

}  // namespace ashlar::cuda
