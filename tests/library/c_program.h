/* What a program in C does with the library: compiled as C99. */
#ifndef ASHLAR_TESTS_LIBRARY_C_PROGRAM_H_
#define ASHLAR_TESTS_LIBRARY_C_PROGRAM_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a model of one input and one output, runs it once in an arena of its own on `input`, and
 * fills `output`. An ashlar_status. */
int RunModelInC(const char* path, const float* input, size_t input_bytes, float* output,
                size_t output_bytes);

#ifdef __cplusplus
}
#endif
#endif /* ASHLAR_TESTS_LIBRARY_C_PROGRAM_H_ */
