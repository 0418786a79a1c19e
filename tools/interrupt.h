// SIGINT (Ctrl-C) while something is measured: the measurements so far are kept.
#ifndef ASHLAR_TOOLS_INTERRUPT_H_
#define ASHLAR_TOOLS_INTERRUPT_H_

#include <csignal>

namespace ashlar {

// As long as one lives, the first SIGINT is only remembered: whoever measures ends at the next
// whole run. The second one ends the process. A process that ignores SIGINT goes on to do so. One
// at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool interrupted() const;

 private:
  struct sigaction before_ = {};
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_INTERRUPT_H_
