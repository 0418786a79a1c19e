#include "tools/interrupt.h"

namespace ashlar {
namespace {

volatile std::sig_atomic_t interrupts = 0;

void Remember(int) { interrupts = 1; }

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupts = 0;
  sigaction(SIGINT, nullptr, &before_);
  if (before_.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = Remember;
  // The first signal restores the default; interrupted waits continue.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

InterruptWatch::~InterruptWatch() { sigaction(SIGINT, &before_, nullptr); }

bool InterruptWatch::interrupted() const { return interrupts != 0; }

}  // namespace ashlar
