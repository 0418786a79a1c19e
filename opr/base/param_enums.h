// Enumerations that several operators' parameters share, under MegEngine's names.
#ifndef ASHLAR_OPR_BASE_PARAM_ENUMS_H_
#define ASHLAR_OPR_BASE_PARAM_ENUMS_H_

namespace ashlar {

// The precision in which 16-bit operands are summed. For Float32 operands, kFloat32 means exact
// Float32 products.
enum class ComputeMode { kDefault, kFloat32 };
inline constexpr const char* kComputeModeNames[] = {"DEFAULT", "FLOAT32"};

// The logical order of an image's dimensions. The graph decides how images are stored
// (graph/shape.h).
enum class ImageFormat { kNCHW };
inline constexpr const char* kImageFormatNames[] = {"NCHW"};

enum class SparseMode { kDense, kGroup };
inline constexpr const char* kSparseNames[] = {"DENSE", "GROUP"};

}  // namespace ashlar

#endif  // ASHLAR_OPR_BASE_PARAM_ENUMS_H_
