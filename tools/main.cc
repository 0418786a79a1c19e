// The command `ashlar`: finds the subcommand, parses its options, runs it and returns the exit
// code.
#include <malloc.h>
#include <sys/resource.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "graph/host_memory.h"
#include "graph/nearest_name.h"
#include "graph/parse.h"
#include "graph/status.h"
#include "library/printable.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/host_processor.h"
#include "runtime/device/code_pages.h"
#include "runtime/device/device_library.h"
#include "runtime/mcu/mcu_device.h"
#include "runtime/measure/process_memory.h"
#include "tools/command.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/option_kinds.h"
#include "tools/option_words.h"
#include "tools/options.h"
#include "tools/output_files.h"
#include "tools/read_faults.h"
#include "tools/version.h"

namespace ashlar {
namespace {

constexpr char kFooter[] =
    "`ashlar SUBCOMMAND -h` shows options and examples.\n\n"
    "Exit codes: 0 ok, 1 failure, 2 usage, 3 does not fit, 4 actual above planned memory,\n"
    "5 outputs differ, 6 input file rejected, 130 ended by Ctrl-C.\n\n"
    "Environment: ASHLAR_KERNELS, the record of measured kernels that `tune` writes (default:\n"
    "ashlar/kernels.json in the user's cache); ASHLAR_PROCESSOR, the processor to plan for;\n"
    "ASHLAR_MAX_ISA, the most that is used of this one (baseline, neon, avx2, avx2_vnni, avx512,\n"
    "avx512_vnni, avx512_bf16, amx_int8, amx_bf16).";

// A subcommand in the parser.
struct Entry {
  explicit Entry(const CommandRow& r) : row(&r), command(r.make()) {}
  const CommandRow* row;
  std::unique_ptr<Command> command;
  CLI::App* app = nullptr;
  ConsoleFlags flags;
  std::string json;  // "true" if --json has no value
};

// Formats the help text of CLI11 without repeated blank lines and without unlisted options. Options
// in its nameless group have no name in its messages either.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    if (group == kUnlistedGroup) return "";
    return Formatter::make_group(std::move(group), is_positional, std::move(options));
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return absl::StrReplaceAll(Formatter::make_help(app, name, mode),
                               {{"\n\n\n\n", "\n\n"}, {"\n\n\n", "\n\n"}});
  }
};

// Runs a command. Its own errors are values; the standard library throws if memory runs out.
absl::Status RunCommand(const Entry& entry, Console& console) {
  Command& command = *entry.command;
  try {
    ASHLAR_RETURN_IF_ERROR(DefaultProcessor().status());
    ASHLAR_RETURN_IF_ERROR(command.CheckOptions());
    ASHLAR_RETURN_IF_ERROR(CheckIdle(*entry.app, command.Idle(entry.flags)));
    std::vector<std::string> files = command.OutputFiles();
    if (entry.flags.json != "-") files.push_back(entry.flags.json);
    std::vector<std::string> values;
    for (const CLI::Option* option : entry.app->get_options()) {
      const std::vector<std::string>& results = option->results();
      values.insert(values.end(), results.begin(), results.end());
    }
    ASHLAR_RETURN_IF_ERROR(CheckOutputFiles(files, std::move(values)));
    LetGoOfCode();  // of the dynamic linker and of parsing: the command needs other pages
    return command.Run(console);
  } catch (const HostMemoryExhausted& error) {
    return error.status();
  } catch (const std::bad_alloc&) {
    return HostMemoryError("the host's memory does not suffice");
  }
}

// Adds advice if a command ran out of the host's memory.
absl::Status WithMemoryHint(const absl::Status& status, const CLI::App& app) {
  const CLI::Option* const prefer = app.get_option_no_throw("--prefer");
  if (!status.GetPayload(kHostMemory) || prefer == nullptr || prefer->count() > 0) return status;
  return absl::ResourceExhaustedError(
      absl::StrCat(status.message(), "; --prefer memory takes less for weights and kernels"));
}

// Names what else may make a model fit the given budget: options of the command that are not in
// use.
std::string OtherWaysToFit(const CLI::App& app) {
  const auto count = [&](const char* name) {
    const CLI::Option* const option = app.get_option_no_throw(name);
    return option == nullptr ? -1 : static_cast<int>(option->count());
  };
  if (count("--memory-budget") <= 0 && count("--total-budget") <= 0) return "";
  struct Way {
    const char* option;
    bool if_given;
    const char* advice;
  };
  constexpr Way kWays[] = {
      {"--max-extra-flops", true, "a larger --max-extra-flops"},
      {"--tile", true, "no --tile"},
      {"--passes", true, "all --passes"},
      {"--exact", true, "no --exact"},
      {"--precision", false, "--precision fp16"},
      {"--release-input", false, "--release-input (the input shares the arena)"},
      {"--threads", false, "fewer --threads"},
  };
  std::vector<std::string> ways;
  for (const Way& way : kWays) {
    const int times = count(way.option);
    if (way.if_given ? times > 0 : times == 0) ways.push_back(way.advice);
  }
  // `plan` and others have the option for --train.
  if (count("--batch") == 0 && count("--train") != 0) ways.push_back("a smaller --batch");
  if (count("--shape") >= 0) ways.push_back("a smaller image or batch (--shape)");
  ways.push_back("8 bits (`ashlar quantize`)");
  return absl::StrCat("\n  it may fit with: ", absl::StrJoin(ways, ", "));
}

int Report(const absl::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "error: %s\n", Printable(InOptionWords(status.message())).c_str());
  }
  return static_cast<int>(ExitCodeOf(status));
}

void Declare(CLI::App& app, Entry& entry) {
  entry.app = app.add_subcommand(entry.row->name, entry.row->summary);
  entry.app->footer(absl::StrCat("Examples:\n", entry.row->examples));
  entry.command->Declare(*entry.app);
  entry.app->add_flag("--json", entry.json, "the result as JSON to stdout; --json=FILE to a file")
      ->group("Output");
  entry.app
      ->add_flag("-q,--quiet", entry.flags.quiet,
                 "no progress and no notes; no text either if -o writes the result to a file")
      ->group("Output");
  entry.app->set_help_flag("-h,--help", "this text")->group("Output");
}

// Returns the error of the command line, with the nearest known name.
absl::Status ParseFailure(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App* chosen = app.get_subcommands().empty() ? &app : app.get_subcommands()[0];
  const std::string hint =
      chosen == &app ? "`ashlar -h` lists the subcommands"
                     : absl::StrCat("`ashlar ", chosen->get_name(), " -h` lists the options");
  bool behind_mark = false;  // after "--" nothing is an option
  for (const std::string& argument : app.remaining(/*recurse=*/true)) {
    if (behind_mark) {
      return UsageError(absl::StrCat("unexpected argument '", argument,
                                     "': what stands behind -- is no option; ", hint));
    }
    behind_mark = argument == "--";
    if (behind_mark) continue;
    std::vector<std::string> names;
    if (chosen == &app && !absl::StartsWith(argument, "-")) {
      for (const CommandRow& row : Commands()) names.push_back(row.name);
      return UsageError(absl::StrCat("unknown subcommand '", argument, "'; did you mean '",
                                     Nearest(argument, names), "'? ", hint));
    }
    if (!absl::StartsWith(argument, "-")) continue;
    const std::string flag = argument.substr(0, argument.find('='));
    for (const CLI::Option* option : chosen->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    }
    const std::string nearest = Nearest(flag, names);
    const bool close = EditDistance(flag, nearest) <= static_cast<int>(flag.size()) / 3;
    std::string meant = close ? nearest : "";
    // Matches endings, too: "--budget" means --memory-budget.
    const std::string end = "-" + std::string(absl::StripPrefix(flag, "--"));
    for (const std::string& name : names) {
      if (meant.empty() && end.size() > 4 && absl::EndsWith(name, end)) meant = name;
    }
    return UsageError(absl::StrCat("unknown option ", flag, "; ",
                                   meant.empty() ? "" : absl::StrCat("did you mean ", meant, "? "),
                                   hint));
  }
  return UsageError(absl::StrCat(error.what(), "; ", hint));
}

// Returns the arguments from the last to the first, for the parser. Splits "-o=value", which the
// parser would read as "=value".
std::vector<std::string> Arguments(int argc, char** argv) {
  std::vector<std::string> arguments;
  // "help COMMAND" is "COMMAND --help".
  const bool help = argc > 1 && std::string(argv[1]) == "help";
  if (help) arguments.push_back("--help");
  for (int i = argc - 1; i > (help ? 1 : 0); --i) {
    const std::string argument = argv[i];
    const bool joined =
        argument.size() > 2 && argument[0] == '-' && argument[1] != '-' && argument[2] == '=';
    if (joined) {
      arguments.push_back(argument.substr(3));
      arguments.push_back(argument.substr(0, 2));
    } else {
      arguments.push_back(argument);
    }
  }
  return arguments;
}

// Limits instruction sets to the ones of an older processor, if ASHLAR_MAX_ISA is set; a usage
// error if its value is unknown.
absl::Status LimitProcessor() {
  const char* const text = std::getenv("ASHLAR_MAX_ISA");
  if (text == nullptr || *text == '\0') return absl::OkStatus();
  const std::optional<InstructionSet> most = InstructionSet::Parse(text);
  if (!most)
    return UsageError(absl::StrCat("ASHLAR_MAX_ISA: '", text, "' is not ", kInstructionSets));
  cpu::LimitProcessor(*most);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const absl::Status limited = LimitProcessor();
  cpu::RegisterDevice();
  mcu::RegisterDevice();
  RegisterDeviceLibrary(CompNode::Type::kGpu, "libashlar_cuda.so");
  CLI::App app("Ashlar plans the memory of a model to the byte, runs it and proves the plan.",
               "ashlar");
  app.set_help_flag("-h,--help", "this text");
  app.set_version_flag("--version", VersionText, "version, kernels and formats of this program");
  app.require_subcommand(1);
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(31);
  app.formatter(formatter);
  app.footer(kFooter);
  std::vector<Entry> entries;
  for (const CommandRow& row : Commands()) entries.emplace_back(row);
  for (Entry& entry : entries) Declare(app, entry);
  try {
    app.parse(Arguments(argc, argv));
  } catch (const CLI::Success& success) {  // help and version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return Report(ParseFailure(error, app));
  }
  for (Entry& entry : entries) {
    if (!entry.app->parsed()) continue;
    entry.flags.json = entry.json == "true" ? "-" : entry.json;
    entry.flags.options = GivenOptions(*entry.app);
    Console console(entry.row->name, entry.flags);
    absl::Status status = limited.ok() ? RunCommand(entry, console) : limited;
    if (!status.ok()) {
      status = WithMemoryHint(status, *entry.app);
      const ExitCode code = ExitCodeOf(status);
      // With --json, a refusal is a document like a result.
      if (code == ExitCode::kDoesNotFit || code == ExitCode::kRejectedInput) {
        console.WriteRefusal(status.message(), code).IgnoreError();
      }
      if (code == ExitCode::kDoesNotFit) {
        status = WithExitCode(absl::ResourceExhaustedError(
                                  absl::StrCat(status.message(), OtherWaysToFit(*entry.app))),
                              code);
      }
    }
    const absl::Status finished = console.Finish();
    return Report(status.ok() ? finished : status);
  }
  return Report(UsageError("no subcommand"));
}

}  // namespace
}  // namespace ashlar

int main(int argc, char** argv) {
  // Planning makes and frees large graphs. Their memory stays in the heap for the next one, and
  // returns to the system after planning (ReturnFreedMemory).
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  // A heap reserves 64 MiB of address space.
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) ashlar::UseOneHeap();
  ashlar::ExitOnReadFaults();
  return ashlar::Main(argc, argv);
}
