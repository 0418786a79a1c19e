// The C library functions that the self-test of a program needs, and the measurements of a run:
// linked with --wrap=net_run.
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "host.h"

static void print_number(uint64_t value) {
  char text[24];
  char* at = text + sizeof(text) - 1;
  *at = 0;
  do {
    *--at = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  host_print(at);
}

// Knows the formats %s and %lu.
int printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  for (; *format != 0; ++format) {
    char letter[2] = {*format, 0};
    if (*format != '%') {
      host_print(letter);
    } else if (*++format == 's') {
      host_print(va_arg(arguments, const char*));
    } else {
      ++format;
      print_number(va_arg(arguments, unsigned long));
    }
  }
  va_end(arguments);
  return 0;
}

int puts(const char* text) {
  host_print(text);
  host_print("\n");
  return 0;
}

#undef putchar
int putchar(int character) {
  char text[2] = {(char)character, 0};
  host_print(text);
  return character;
}

enum { kPainted = 16384, kBetween = 64 };  // bytes: painted, and a gap for the calls made here

// Programs have up to four inputs and outputs; passing more arguments than they take does no harm.
int __real_net_run(void* a, const void* b, void* c, void* d, void* e);
int __wrap_net_run(void* a, const void* b, void* c, void* d, void* e);

// Paints the stack below, runs, and finds how far down the paint was overwritten.
int __wrap_net_run(void* a, const void* b, void* c, void* d, void* e) {
  volatile unsigned char* const here = host_stack() - kBetween;
  uint32_t i;
  uint64_t before;
  int result;
  for (i = 0; i < kPainted; ++i) here[-(intptr_t)i] = 0xa5;
  before = host_instructions();
  result = __real_net_run(a, b, c, d, e);
  before = host_instructions() - before;
  i = kPainted;
  while (i > 0 && here[1 - (intptr_t)i] == 0xa5) --i;
  if (result == 0) {
    printf("stack %lu\n", (unsigned long)i + kBetween);
    host_print("instructions ");
    print_number(before);
    host_print("\n");
  }
  return result;
}
