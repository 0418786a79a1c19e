#include "tools/console.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "library/execution.h"
#include "library/printable.h"
#include "serialization/json_file.h"
#include "tools/format.h"
#include "tools/option_words.h"
#include "tools/version.h"

namespace ashlar {

Console::Console(std::string command, ConsoleFlags flags)
    : command_(std::move(command)), flags_(std::move(flags)), terminal_(isatty(STDERR_FILENO)) {
  if (!wants_json()) return;
  constexpr absl::string_view kEnd = "\"\n}\n";  // the message is the last value
  const std::string text = JsonText(Refusal("", ExitCode::kRejectedInput), 2);
  on_read_fault_ = {text.substr(0, text.size() - kEnd.size()), std::string(kEnd), flags_.json};
  SetReadFaultDocument(&on_read_fault_);
}

Console::~Console() {
  SetReadFaultDocument(nullptr);
  ClearProgress();
}

void Console::Print(absl::string_view text) {
  if (!flags_.prints() || (flags_.quiet && result_is_in_file_)) return;
  ClearProgress();
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void Console::Progress(absl::string_view text) {
  if (!terminal_ || flags_.quiet) return;
  ClearProgress();
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  progress_shown_ = true;
}

void Console::Note(absl::string_view text) {
  if (flags_.quiet) return;
  ClearProgress();
  std::fprintf(stderr, "note: %s\n", Printable(InOptionWords(text)).c_str());
}

void Console::ClearProgress() {
  if (!progress_shown_) return;
  std::fputs("\r\033[K", stderr);
  progress_shown_ = false;
}

Json Console::Document(const CompNode& device, int threads) const {
  return {{"schema_version", kJsonSchemaVersion},
          {"command", command_},
          {"device", device.ToString()},
          {"threads", threads},
          {"version", Version()},
          {"options", flags_.options}};
}

std::string Console::OptionsText() const {
  std::string text;
  for (const auto& [name, values] : flags_.options.items()) {
    for (const Json& value : values.is_array() ? values : Json::array({values})) {
      absl::StrAppend(&text, text.empty() ? "" : " ", name, value.is_string() ? " " : "",
                      value.is_string() ? value.get<std::string>() : "");
    }
  }
  return text;
}

Json Console::Refusal(absl::string_view error, ExitCode code) const {
  const auto given = [&](const char* option) {
    const auto value = flags_.options.find(option);
    const bool is_text = value != flags_.options.end() && value->is_string();
    return is_text ? value->get<std::string>() : std::string();
  };
  int threads = 0;
  if (!absl::SimpleAtoi(given("--threads"), &threads)) threads = DefaultThreads();
  Json document = Document(CompNode::Parse(given("--device")).value_or(CompNode()), threads);
  document["exit_code"] = static_cast<int>(code);
  document["error"] = error;
  return document;
}

absl::Status Console::WriteRefusal(absl::string_view error, ExitCode code) {
  return written_ ? absl::OkStatus() : Write(Refusal(error, code));
}

absl::Status Console::Write(const Json& document) {
  written_ = true;
  SetReadFaultDocument(nullptr);
  if (flags_.json.empty()) return absl::OkStatus();
  if (flags_.json != "-") return WriteJsonFile(flags_.json, document, 2);
  ClearProgress();
  const std::string text = JsonText(document, 2);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return absl::OkStatus();
}

absl::Status Console::Finish() {
  ClearProgress();
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("cannot write to stdout: ", std::strerror(errno)));
}

}  // namespace ashlar
