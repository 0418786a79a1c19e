// The output of a command: results on stdout, progress and log on stderr.
#ifndef ASHLAR_TOOLS_CONSOLE_H_
#define ASHLAR_TOOLS_CONSOLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/comp_node.h"
#include "tools/json_output.h"

namespace ashlar {

struct ConsoleFlags {
  bool quiet = false;             // no progress, no notes, no comment
  std::string json;               // where the document goes: "" nowhere, "-" to stdout, else a file
  Json options = Json::object();  // as GivenOptions has them
  bool prints() const { return json != "-"; }  // whether results go to stdout as text
};

class Console {
 public:
  Console(std::string command, ConsoleFlags flags);
  ~Console();

  // A result. Swallowed where the JSON document goes to stdout.
  void Print(absl::string_view text);
  // Says that the result is in a file ("": in none), for which Print is then mere comment.
  void ResultIsIn(absl::string_view file) { result_is_in_file_ = !file.empty(); }
  // The present work of the program: one line that the next one replaces, on a terminal only.
  void Progress(absl::string_view text);
  // Something worth knowing, on stderr: "note: TEXT".
  void Note(absl::string_view text);

  // A document with the keys that all have.
  Json Document(const CompNode& device, int threads) const;
  // The options of the command line as text: "--exact --threads 2".
  std::string OptionsText() const;
  bool wants_json() const { return !flags_.json.empty(); }
  // Puts the document where --json says, if it was given.
  absl::Status Write(const Json& document);
  // The document of a command that ended with `error` before it had a result; nothing where it has
  // written one.
  absl::Status WriteRefusal(absl::string_view error, int exit_code);

  // Whether all results reached stdout.
  absl::Status Finish();

 private:
  void ClearProgress();

  const std::string command_;
  const ConsoleFlags flags_;
  const bool terminal_;  // stderr is one
  bool progress_shown_ = false;
  bool result_is_in_file_ = false;
  bool written_ = false;  // the document
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_CONSOLE_H_
