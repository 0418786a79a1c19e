/* A C99 program that uses the library. */
#ifndef ASHLAR_TESTS_LIBRARY_C_C_PROGRAM_H_
#define ASHLAR_TESTS_LIBRARY_C_C_PROGRAM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a model of one input and one output, runs it once in an arena of its own on `input`, and
 * fills `output`. Returns an ashlar_status. */
int RunModelInC(const char* path, const float* input, size_t input_bytes, float* output,
                size_t output_bytes);

/* Trains the model on the same images in every step, by SGD with momentum 0.9 at rate 0.05. Writes
 * the loss of each step to `losses`. Returns an ashlar_status. */
int TrainModelInC(const char* path, const float* images, size_t image_bytes, const int32_t* labels,
                  size_t label_bytes, int steps, float* losses);

#ifdef __cplusplus
}
#endif
#endif /* ASHLAR_TESTS_LIBRARY_C_C_PROGRAM_H_ */
