// In which formats and dtypes an operator's tensors may be stored.
#ifndef ASHLAR_GRAPH_STORAGE_RULES_H_
#define ASHLAR_GRAPH_STORAGE_RULES_H_

namespace ashlar {

// Images are rank-4 tensors of floats; the image format is the device's choice: NCHW16c, NHCW16c or
// NHWC. Where a rule puts outputs in the image format, it does so with each output that is an
// image.
enum class FormatRule {
  kDefaultOnly,  // every input and output row-major
  kBlocked,  // best in the image format: outputs, input 0 and inputs of an output's shape; where
             // that is blocked, input 0 may be row-major if it has less than a block of channels
  kImageInputs,  // reads images best in the image format, but for row-major ones of less than a
                 // block of channels; outputs row-major
  kFollow,       // pointwise: outputs in the image format where an input is; row-major operands,
                 // whatever they broadcast, may stay so
  kUniform,      // row-major throughout, or the image format throughout
  kUniformUnpadded,  // kUniform where the image format pads nothing (NHWC), else kDefaultOnly
};

// The dtype of an operator's Float32 tensors where a model runs in 16-bit floats.
enum class PrecisionRule {
  kFloat32,  // they stay: sums and exponentials, whose range or precision 16 bits have not
  kLow,      // 16 bits, with sums in Float32: the gain pays for casts
  kFollow,   // 16 bits where one of its inputs has them
};

struct StorageRules {
  FormatRule format = FormatRule::kDefaultOnly;
  PrecisionRule precision = PrecisionRule::kFloat32;
  bool moves = false;         // outputs repeat elements of inputs: nothing is computed
  bool names_format = false;  // the operator's parameters say in which format its output is
};

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_STORAGE_RULES_H_
