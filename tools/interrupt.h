// Handles SIGINT (Ctrl-C) during measurements: the measurements so far are reported.
#ifndef ASHLAR_TOOLS_INTERRUPT_H_
#define ASHLAR_TOOLS_INTERRUPT_H_

#include <csignal>

namespace ashlar {

// While an object exists, the first SIGINT is only recorded, and the measurement ends after the
// current run. The second one ends the process. A process that ignores SIGINT continues to ignore
// it. Only one object may exist at a time.
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
