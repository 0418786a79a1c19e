#include "tools/read_faults.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "absl/strings/string_view.h"
#include "graph/file_mapping.h"
#include "memory/utf8.h"
#include "tools/exit_code.h"

namespace ashlar {
namespace {

constexpr char kWhy[] =
    ": cannot be read: the disk reports an error, or the file was shortened while it was read";

struct sigaction before = {};
std::atomic<bool> reported = false;
std::atomic<const ReadFaultDocument*> error_document = nullptr;
bool on_terminal = false;

// All functions up to Handle call only functions that are safe in a handler of signals.

void Write(int file, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

// Writes a path. Control characters, bytes that are no UTF-8, and the two characters that JSON
// escapes become "\u001b" in JSON, and otherwise "\x1b". JSON has control characters of two bytes
// as they are.
void WritePath(int file, absl::string_view path, bool json) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < path.size();) {
    const size_t length = memory::Utf8Length(path, i);
    const auto first = static_cast<unsigned char>(path[i]);
    const bool control = first < 0x20 || first == 0x7f;
    const bool control_of_two = length == 2 && first == 0xc2 && (path[i + 1] & 0xe0) == 0x80;
    const bool escaped =
        length == 0 || control || (json ? first == '"' || first == '\\' : control_of_two);
    if (escaped) {
      Write(file, json ? "\\u00" : "\\x");
      const char digits[] = {kDigits[first >> 4], kDigits[first & 15]};
      Write(file, {digits, sizeof(digits)});
    } else {
      Write(file, path.substr(i, length));
    }
    i += escaped ? 1 : length;
  }
}

void WriteDocument(absl::string_view path) {
  const ReadFaultDocument* const document = error_document;
  if (document == nullptr) return;
  const bool to_output = document->file == "-";
  const int file =
      to_output ? STDOUT_FILENO
                : open(document->file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  Write(file, document->before);
  WritePath(file, path, /*json=*/true);
  Write(file, kWhy);
  Write(file, document->after);
}

void Handle(int signal, siginfo_t* info, void*) {
  const bool of_memory = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR;
  const FileMapping* const mapping = of_memory ? FileMapping::Find(info->si_addr) : nullptr;
  if (mapping == nullptr) {
    sigaction(signal, &before, nullptr);
    if (info->si_code <= 0) raise(signal);  // sent by a process; otherwise the read is repeated
    return;
  }
  if (reported.exchange(true)) {
    for (;;) pause();  // another thread ends the process
  }
  if (on_terminal) Write(STDERR_FILENO, "\r\033[K");  // over a line of progress
  Write(STDERR_FILENO, "error: ");
  WritePath(STDERR_FILENO, mapping->path(), /*json=*/false);
  Write(STDERR_FILENO, kWhy);
  Write(STDERR_FILENO, "\n");
  WriteDocument(mapping->path());
  _exit(static_cast<int>(ExitCode::kRejectedInput));
}

}  // namespace

void SetReadFaultDocument(const ReadFaultDocument* document) { error_document = document; }

void ExitOnReadFaults() {
  on_terminal = isatty(STDERR_FILENO) != 0;
  struct sigaction action = {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, &before);
}

}  // namespace ashlar
