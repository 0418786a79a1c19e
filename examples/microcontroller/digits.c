// Classifies a picture of a digit (a four of scikit-learn's) with the program that
// docs/microcontrollers.md makes.
#include "host.h"
#include "net.h"

static const uint8_t picture[NET_INPUT_BYTES] = {
    0, 0,   0,   159, 143, 0,   0,   0,   //
    0, 0,   80,  239, 0,   0,   143, 80,  //
    0, 0,   223, 159, 0,   112, 255, 64,  //
    0, 80,  255, 112, 80,  255, 96,  0,   //
    0, 175, 255, 255, 255, 223, 0,   0,   //
    0, 48,  64,  175, 255, 128, 0,   0,   //
    0, 0,   0,   112, 255, 32,  0,   0,   //
    0, 0,   0,   191, 191, 0,   0,   0,   //
};

static union {
  long long align;
  unsigned char bytes[NET_ARENA_BYTES];
} arena;

int main(void) {
  float scores[NET_OUTPUT_BYTES / sizeof(float)];
  char text[] = "digit 0\n";
  int best = 0, i;
  if (net_run(arena.bytes, picture, scores) != NET_OK) return 1;
  for (i = 1; i < 10; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  text[6] = (char)('0' + best);
  host_print(text);
  return 0;
}
