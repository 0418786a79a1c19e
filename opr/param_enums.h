// Enumerations that the parameters of several operators share, under MegEngine's names.
#ifndef ASHLAR_OPR_PARAM_ENUMS_H_
#define ASHLAR_OPR_PARAM_ENUMS_H_

namespace ashlar {

// The precision that 16-bit operands are summed in; of Float32 operands kFloat32: these very
// products.
enum class ComputeMode { kDefault, kFloat32 };
inline constexpr const char* kComputeModeNames[] = {"DEFAULT", "FLOAT32"};

// The order of dimensions of images. How they are stored is the graph's matter (graph/shape.h).
enum class ImageFormat { kNCHW };
inline constexpr const char* kImageFormatNames[] = {"NCHW"};

}  // namespace ashlar

#endif  // ASHLAR_OPR_PARAM_ENUMS_H_
