// Numbers of the libraries' types, read and written as doubles.
#ifndef ASHLAR_TESTS_EMULATED_GPU_NUMBERS_H_
#define ASHLAR_TESTS_EMULATED_GPU_NUMBERS_H_

#include <cstdint>

namespace ashlar::emulated {

enum class Number { kFloat, kHalf, kBFloat16, kInt8, kInt32 };

int64_t BytesOf(Number type);
double Load(Number type, const void* data, int64_t element);
// Stores the value, rounded to nearest, ties to even; integers must be in the type's range.
void Store(Number type, void* data, int64_t element, double value);
double Rounded(Number type, double value);
// Rounds a normal number to that many bits after the leading one.
double RoundTo(double value, int bits);
// Rounds a float to 10 bits, as tensor cores read it.
inline double AsTf32(double value) { return RoundTo(value, 10); }

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_NUMBERS_H_
