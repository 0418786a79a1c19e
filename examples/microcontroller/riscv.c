// RISC-V under qemu: start-up code, and semihosting.
#include "host.h"

int main(void);
void start(void);

__attribute__((naked, section(".vectors"), used)) void reset(void) {
  __asm__ volatile("la sp, stack_top\nj start");
}

// Calls the emulator: its magic sequence of instructions must lie in one line of memory.
__attribute__((naked, noinline, aligned(16))) static long host_call(long operation,
                                                                    const void* argument) {
  __asm__ volatile(
      ".option push\n.option norvc\n"
      "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\nret\n.option pop");
}

void host_print(const char* text) { host_call(0x04, text); }

void host_exit(int code) {
  const struct { long reason, code; } exit = {0x20026, code};
  for (;;) host_call(0x20, &exit);
}

unsigned char* host_stack(void) {
  unsigned char* stack;
  __asm__ volatile("mv %0, sp" : "=r"(stack));
  return stack;
}

uint64_t host_instructions(void) {
  uint32_t low, high, again;
  do {
    __asm__ volatile(
        ".option push\n.option arch, +zicsr\n"
        "csrr %1, minstreth\ncsrr %0, minstret\ncsrr %2, minstreth\n.option pop"
        : "=&r"(low), "=&r"(high), "=&r"(again));
  } while (high != again);
  return (uint64_t)high << 32 | low;
}

void start(void) { host_exit(main()); }
