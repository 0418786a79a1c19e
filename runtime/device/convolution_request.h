// Reads the part of a request that the convolution kernels of all devices share.
#ifndef ASHLAR_RUNTIME_DEVICE_CONVOLUTION_REQUEST_H_
#define ASHLAR_RUNTIME_DEVICE_CONVOLUTION_REQUEST_H_

#include "opr/conv_bias.h"
#include "runtime/device/kernel.h"

namespace ashlar {

// Fills a device's problem: its members `param`, `src`, `filter`, `dst`, `constant_filter`,
// `has_bias` and `z`. `param` belongs to request.op, a ConvolutionForward or ConvBiasForward;
// inputs are in the order of ConvBiasForward.
template <typename Problem>
Problem ReadConvolutionRequest(const KernelRequest& request, const ConvBiasParam& param) {
  const std::vector<TensorType>& inputs = request.inputs;
  Problem problem;
  problem.param = param;
  problem.src = inputs[ConvBiasForward::kSrc];
  problem.filter = inputs[ConvBiasForward::kFilter];
  problem.dst = request.outputs[0];
  problem.constant_filter = request.constant[ConvBiasForward::kFilter];
  problem.has_bias = inputs.size() > ConvBiasForward::kBias;
  if (inputs.size() > ConvBiasForward::kZ) problem.z = inputs[ConvBiasForward::kZ];
  return problem;
}

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_DEVICE_CONVOLUTION_REQUEST_H_
