// The output of a command: results on stdout, progress and log on stderr.
#ifndef ASHLAR_TOOLS_CONSOLE_H_
#define ASHLAR_TOOLS_CONSOLE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/comp_node.h"
#include "tools/exit_code.h"
#include "tools/json_output.h"
#include "tools/read_faults.h"

namespace ashlar {

struct ConsoleFlags {
  bool quiet = false;  // no progress, no notes, no commentary
  std::string json;    // the document's destination: "" none, "-" stdout, otherwise a file
  Json options = Json::object();               // in the format of GivenOptions
  bool prints() const { return json != "-"; }  // whether results go to stdout as text
};

class Console {
 public:
  Console(std::string command, ConsoleFlags flags);
  ~Console();

  // Prints a result. Does nothing if the JSON document goes to stdout.
  void Print(absl::string_view text);
  // States that the result is in a file ("": in none), so that Print writes mere commentary.
  void ResultIsIn(absl::string_view file) { result_is_in_file_ = !file.empty(); }
  // Shows the current work in one line that the next one replaces, on a terminal only.
  void Progress(absl::string_view text);
  // Prints a note on stderr: "note: TEXT".
  void Note(absl::string_view text);

  // Returns a document with the keys common to all commands.
  Json Document(const CompNode& device, int threads) const;
  // Returns the options of the command line as text: "--exact --threads 2".
  std::string OptionsText() const;
  bool wants_json() const { return !flags_.json.empty(); }
  // Writes the document to the destination of --json, if given.
  absl::Status Write(const Json& document);
  // Writes the document of a command that ended with `error` before it had a result. Does nothing
  // if the command has written a document. A read of a mapped file that fails (read_faults.h)
  // writes the same.
  absl::Status WriteRefusal(absl::string_view error, ExitCode code);

  // Returns an error unless all results reached stdout.
  absl::Status Finish();

 private:
  void ClearProgress();
  Json Refusal(absl::string_view error, ExitCode code) const;

  const std::string command_;
  const ConsoleFlags flags_;
  const bool terminal_;  // whether stderr is a terminal
  bool progress_shown_ = false;
  bool result_is_in_file_ = false;
  bool written_ = false;  // the document was written
  ReadFaultDocument on_read_fault_;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_CONSOLE_H_
