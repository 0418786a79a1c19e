// Formats and dtypes in which an operator's tensors may be stored.
#ifndef ASHLAR_GRAPH_STORAGE_RULES_H_
#define ASHLAR_GRAPH_STORAGE_RULES_H_

namespace ashlar {

// Images are rank-4 floating-point tensors. The device chooses the image format: NCHW16c, NHCW16c
// or NHWC. A rule that puts outputs in the image format applies to each output that is an image.
enum class FormatRule {
  kDefaultOnly,  // every input and output row-major
  kBlocked,  // best in the image format: outputs, input 0, and inputs with an output's shape; in
             // blocked formats input 0 may be row-major if it has less than a block of channels
  kImageInputs,  // reads images best in the image format, except row-major ones of less than a
                 // block of channels; outputs row-major
  kFollow,   // pointwise: outputs in the image format if an input is; row-major operands may stay
             // row-major, whatever they broadcast
  kUniform,  // row-major throughout, or the image format throughout
  kUniformUnpadded,  // kUniform if the image format has no padding (NHWC), otherwise kDefaultOnly
};

// The dtype of an operator's Float32 tensors in models that run in 16-bit floats.
enum class PrecisionRule {
  kFloat32,  // unchanged: sums and exponentials, which need more range or precision than 16 bits
  kLow,      // 16 bits, with sums in Float32: the gain justifies casts
  kFollow,   // 16 bits if an input has them
};

struct StorageRules {
  FormatRule format = FormatRule::kDefaultOnly;
  PrecisionRule precision = PrecisionRule::kFloat32;
  bool moves = false;         // outputs repeat elements of inputs: nothing is computed
  bool names_format = false;  // the operator's parameters name the format of its output
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_STORAGE_RULES_H_
