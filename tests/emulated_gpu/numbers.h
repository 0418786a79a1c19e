// Numbers of the libraries' types, read and written as doubles.
#ifndef ASHLAR_TESTS_EMULATED_GPU_NUMBERS_H_
#define ASHLAR_TESTS_EMULATED_GPU_NUMBERS_H_

#include <cstdint>

namespace ashlar::emulated {

enum class Number { kFloat, kHalf, kBFloat16, kInt8, kInt32 };

int64_t BytesOf(Number type);
double Load(Number type, const void* data, int64_t element);
// Rounds to nearest, ties to even; integers have to be what their type holds.
void Store(Number type, void* data, int64_t element, double value);
double Rounded(Number type, double value);
// The value with that many bits behind the leading one, of normal numbers.
double RoundTo(double value, int bits);
// As tensor cores see a float: with 10 bits.
inline double AsTf32(double value) { return RoundTo(value, 10); }

}  // namespace ashlar::emulated

#endif  // ASHLAR_TESTS_EMULATED_GPU_NUMBERS_H_
