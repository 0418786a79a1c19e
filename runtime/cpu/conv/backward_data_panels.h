// ConvolutionBackwardData as direct convolutions by panels of packed weights (panel.h): the outputs
// whose places leave the same remainder by the strides are the convolution at stride 1 of the image
// with the taps that meet them (Shi et al. 2016, "Is the deconvolution layer the same as a
// convolutional layer?").
#ifndef ASHLAR_RUNTIME_CPU_CONV_BACKWARD_DATA_PANELS_H_
#define ASHLAR_RUNTIME_CPU_CONV_BACKWARD_DATA_PANELS_H_

#include <memory>

#include "opr/convolution_backward_data.h"
#include "runtime/cpu/conv/panel.h"
#include "runtime/device/kernel.h"

namespace ashlar::cpu {

// Null where PanelConvolutionFits refuses, and where there are very many remainders.
std::unique_ptr<Kernel> MakePanelBackwardData(const ConvolutionBackwardData& op,
                                              const BackwardDataGeometry& geometry,
                                              const KernelRequest& request,
                                              FilterPacking filter_packing);

}  // namespace ashlar::cpu

#endif  // ASHLAR_RUNTIME_CPU_CONV_BACKWARD_DATA_PANELS_H_
