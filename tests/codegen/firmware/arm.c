// Cortex-M under qemu: vectors, the first instructions, and semihosting.
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

// SysTick counts 24 bits down, at CLOCK_HZ; an instruction takes a nanosecond.
uint32_t host_instructions(void) {
  volatile uint32_t* const systick = (volatile uint32_t*)0xe000e010u;
  static uint32_t last, ticks;
  if ((systick[0] & 1u) == 0) {
    systick[1] = 0xffffffu;
    systick[2] = 0;
    systick[0] = 5;
    while (systick[2] == 0) {
    }
    last = systick[2];
  }
  ticks += (last - systick[2]) & 0xffffffu;
  last = systick[2];
  return (uint32_t)((uint64_t)ticks * 1000000000u / CLOCK_HZ);
}

void reset(void) {
  *(volatile uint32_t*)0xe000ed88u |= 0xfu << 20;  // the floating-point unit, if there is one
  __asm__ volatile("dsb\nisb");
  host_exit(main());
}
