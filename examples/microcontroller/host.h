// Functions by which a program without an operating system calls its emulator (semihosting).
#ifndef ASHLAR_EXAMPLES_MICROCONTROLLER_HOST_H_
#define ASHLAR_EXAMPLES_MICROCONTROLLER_HOST_H_

#include <stdint.h>

void host_print(const char* text);
void host_exit(int code);
// Returns the stack pointer of the caller, or a few words below.
unsigned char* host_stack(void);
// Returns the instructions since some fixed moment, under -icount shift=0.
uint64_t host_instructions(void);

#endif  // ASHLAR_EXAMPLES_MICROCONTROLLER_HOST_H_
