// Linear operators (convolutions and products with weights): their bias, activation, and 8-bit
// forms.
#ifndef ASHLAR_SERIALIZATION_TFLITE_IMPORT_LINEAR_H_
#define ASHLAR_SERIALIZATION_TFLITE_IMPORT_LINEAR_H_

#include <functional>

#include "opr/conv_param.h"
#include "serialization/tflite/import/node.h"

namespace ashlar {

struct TfliteLinear {
  int64_t channels = 0;  // of the output
  Shape per_channel;     // that broadcasts a number per channel to the output
  int weights_axis = 0;  // of the output's channels, in the file's weights
  // Adds the operator on Float32 tensors. `exact`: its sums of integers must stay exact.
  std::function<TfliteVar(TfliteVar x, TfliteVar weights, bool exact)> floats;
  // Adds the 8-bit operator; null if there is none. `arranged` brings the file's weights into its
  // order.
  std::function<TfliteVar(TfliteVar x, TfliteVar weights, TfliteVar bias, const ConvBiasParam& of)>
      integers = nullptr;
  std::function<TfliteVar(TfliteVar weights)> arranged = nullptr;
};

// Returns the operator of x with the weights and bias at these inputs of the node; the bias may be
// absent. The result has the type of output 0 if x and it are quantised, otherwise Float32.
TfliteVar Computed(TfliteNode& node, const TfliteLinear& linear, TfliteVar x, int weights, int bias,
                   tflite::Activation activation);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_TFLITE_IMPORT_LINEAR_H_
