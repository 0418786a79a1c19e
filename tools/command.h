// A subcommand.
#ifndef ASHLAR_TOOLS_COMMAND_H_
#define ASHLAR_TOOLS_COMMAND_H_

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tools/console.h"
#include "tools/given_options.h"

namespace ashlar {

class Command {
 public:
  virtual ~Command() = default;
  // Adds its options. They keep pointers into the command.
  virtual void Declare(CLI::App& app) = 0;
  // Checks combinations of options; called after parsing, before Run. Returns a usage error if they
  // conflict.
  virtual absl::Status CheckOptions() const { return absl::OkStatus(); }
  // Returns the options that Run would not read, given the others: giving one of them is a usage
  // error.
  virtual std::vector<IdleOptions> Idle(const ConsoleFlags&) const { return {}; }
  // Returns the files that Run will write; "" means none. Before Run, each is checked to be
  // writable.
  virtual std::vector<std::string> OutputFiles() const { return {}; }
  // Runs the command. Errors carry the program's exit code (tools/exit_code.h).
  virtual absl::Status Run(Console& console) = 0;
};

struct CommandRow {
  const char* name;
  const char* summary;   // one line
  const char* examples;  // lines for the end of the help text
  std::unique_ptr<Command> (*make)();
};

// Returns all subcommands, in the order of the help text.
absl::Span<const CommandRow> Commands();

std::unique_ptr<Command> MakeRunCommand();
std::unique_ptr<Command> MakeBenchCommand();
std::unique_ptr<Command> MakeProfileCommand();
std::unique_ptr<Command> MakePlanCommand();
std::unique_ptr<Command> MakeFitCommand();
std::unique_ptr<Command> MakeVerifyCommand();
std::unique_ptr<Command> MakeCompareCommand();
std::unique_ptr<Command> MakeInspectCommand();
std::unique_ptr<Command> MakeConvertCommand();
std::unique_ptr<Command> MakeQuantizeCommand();
std::unique_ptr<Command> MakeCompileCommand();
std::unique_ptr<Command> MakeTuneCommand();
std::unique_ptr<Command> MakeTrainCommand();
std::unique_ptr<Command> MakeProbeCommand();
std::unique_ptr<Command> MakeZooCommand();
std::unique_ptr<Command> MakeDemoCommand();
std::unique_ptr<Command> MakeOpsCommand();
std::unique_ptr<Command> MakeDoctorCommand();

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_COMMAND_H_
