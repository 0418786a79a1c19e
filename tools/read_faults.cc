#include "tools/read_faults.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "graph/file_mapping.h"
#include "tools/exit_code.h"

namespace ashlar {
namespace {

struct sigaction before = {};
std::atomic<bool> reported = false;
bool on_terminal = false;

void Write(const char* text) {
  size_t left = std::strlen(text);
  while (left > 0) {
    const ssize_t written = write(STDERR_FILENO, text, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text += written;
    left -= static_cast<size_t>(written);
  }
}

// Calls only functions that are safe in a handler of signals.
void Handle(int signal, siginfo_t* info, void*) {
  const bool of_memory = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
  const char* const path = of_memory ? PathMappedAt(info->si_addr) : nullptr;
  if (path == nullptr) {
    sigaction(signal, &before, nullptr);
    if (info->si_code <= 0) raise(signal);  // sent by a process; otherwise the read is repeated
    return;
  }
  if (reported.exchange(true)) {
    for (;;) pause();  // another thread ends the process
  }
  if (on_terminal) Write("\r\033[K");  // over a line of progress
  Write("error: ");
  Write(path);
  Write(
      ": cannot be read: the disk reports an error, or the file was shortened while it was read\n");
  _exit(static_cast<int>(ExitCode::kRejectedInput));
}

}  // namespace

void ExitOnReadFaults() {
  on_terminal = isatty(STDERR_FILENO) != 0;
  struct sigaction action = {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, &before);
}

}  // namespace ashlar
