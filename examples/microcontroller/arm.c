// Cortex-M under qemu: vectors, start-up code, and semihosting.
#include "host.h"

int main(void);
void reset(void);
extern unsigned char stack_top[];

static void fault(void) {
  host_print("fault\n");
  host_exit(3);
}

// The initial stack pointer, reset, and the faults.
__attribute__((section(".vectors"), used)) static const struct {
  unsigned char* stack;
  void (*handlers[6])(void);
} vectors = {stack_top, {reset, fault, fault, fault, fault, fault}};

static int host_call(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void host_print(const char* text) { host_call(0x04, text); }

void host_exit(int code) {
  const struct { int reason, code; } exit = {0x20026, code};
  for (;;) host_call(0x20, &exit);
}

unsigned char* host_stack(void) {
  unsigned char* stack;
  __asm__ volatile("mov %0, sp" : "=r"(stack));
  return stack;
}

// Returns a counter of CLOCK_HZ; an instruction takes a nanosecond. MPS2 boards have timer 0, which
// counts down. MPS3's subsystem has a counter with one frame for control and one for reading.
uint64_t host_instructions(void) {
#ifdef MPS3
  volatile uint32_t* const control = (volatile uint32_t*)0x58100000u;
  volatile uint32_t* const counter = (volatile uint32_t*)0x48101000u;
  *control = 1;
  return (uint64_t)counter[0] * 1000000000u / CLOCK_HZ;
#else
  volatile uint32_t* const timer = (volatile uint32_t*)0x40000000u;
  if ((timer[0] & 1u) == 0) {
    timer[2] = 0xffffffffu;
    timer[1] = 0xffffffffu;
    timer[0] = 1;
  }
  return (uint64_t)(0xffffffffu - timer[1]) * 1000000000u / CLOCK_HZ;
#endif
}

void reset(void) {
  *(volatile uint32_t*)0xe000ed88u |= 0xfu << 20;  // the floating-point unit, if there is one
  __asm__ volatile("dsb\nisb");
  host_exit(main());
}
