#include "tools/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

std::string ReadAll(int descriptor) {
  std::string text;
  char buffer[4096];
  ssize_t bytes = 0;
  while ((bytes = read(descriptor, buffer, sizeof(buffer))) > 0 || (bytes < 0 && errno == EINTR)) {
    if (bytes > 0) text.append(buffer, static_cast<size_t>(bytes));
  }
  return text;
}

void WriteAll(int descriptor, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = write(descriptor, text.data(), text.size());
    if (bytes < 0 && errno != EINTR) return;
    if (bytes > 0) text.remove_prefix(static_cast<size_t>(bytes));
  }
}

std::string EndOf(int status) {
  return WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                             : absl::StrCat("code ", WEXITSTATUS(status));
}

}  // namespace

absl::StatusOr<Json> InChild(absl::FunctionRef<absl::StatusOr<Json>()> work) {
  int ends[2];
  if (pipe(ends) != 0) return absl::UnknownError(absl::StrCat("pipe: ", std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return absl::UnknownError(absl::StrCat("fork: ", std::strerror(errno)));
  }
  if (child == 0) {
    const absl::StatusOr<Json> result = work();
    const Json told = result.ok() ? Json{{"result", *result}}
                                  : Json{{"code", static_cast<int>(result.status().code())},
                                         {"message", std::string(result.status().message())}};
    WriteAll(ends[1], told.dump());
    _exit(0);
  }
  close(ends[1]);
  const std::string text = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const Json told = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (told.is_object() && told.contains("result")) return told["result"];
  if (told.is_object() && told.contains("message")) {
    return absl::Status(static_cast<absl::StatusCode>(told["code"].get<int>()),
                        told["message"].get<std::string>());
  }
  return absl::UnknownError(absl::StrCat("the child ended with ", EndOf(status)));
}

}  // namespace ashlar
