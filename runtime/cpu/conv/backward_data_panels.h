// ConvolutionBackwardData as direct convolutions by panels of packed weights (panel.h). Outputs
// whose positions have the same remainder modulo the strides form one convolution at stride 1, by
// the taps that meet them (Shi et al. 2016, "Is the deconvolution layer the same as a convolutional
// layer?").
#ifndef ASHLAR_RUNTIME_CPU_CONV_BACKWARD_DATA_PANELS_H_
#define ASHLAR_RUNTIME_CPU_CONV_BACKWARD_DATA_PANELS_H_

#include <memory>

#include "opr/convolution_backward_data.h"
#include "runtime/cpu/conv/panel.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Returns null if PanelConvolutionFits refuses the problem, or if there are too many remainders.
std::unique_ptr<Kernel> MakePanelBackwardData(const ConvolutionBackwardData& op,
                                              const BackwardDataGeometry& geometry,
                                              const KernelRequest& request,
                                              FilterPacking filter_packing);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_BACKWARD_DATA_PANELS_H_
