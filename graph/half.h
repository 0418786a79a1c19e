// Converts the 16-bit floats (round to nearest, ties to even).
#ifndef ASHLAR_GRAPH_HALF_H_
#define ASHLAR_GRAPH_HALF_H_

#include <cstdint>

namespace ashlar {

float HalfToFloat(uint16_t half);
uint16_t FloatToHalf(float value);
float BFloat16ToFloat(uint16_t bits);
uint16_t FloatToBFloat16(float value);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_HALF_H_
