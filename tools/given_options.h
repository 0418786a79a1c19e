// The options that stand on a command line, and the ones among them that have no effect there.
#ifndef ASHLAR_TOOLS_GIVEN_OPTIONS_H_
#define ASHLAR_TOOLS_GIVEN_OPTIONS_H_

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tools/json_output.h"

namespace ashlar {

// {"--threads": "2", "--exact": true}: names and values of the options given, an array where one is
// given several times; without options that say where results go.
Json GivenOptions(const CLI::App& app);

struct IdleOptions {
  std::vector<std::string> options;  // their names ("--seed"), or of whole groups ("Planning")
  std::string why;                   // behind "--seed has no effect: "
};

// All options and arguments of a command but these, and the ones that every command has: for the
// forms of a command that read few of them.
std::vector<std::string> AllBut(const CLI::App& app, absl::Span<const absl::string_view> names);

// A usage error that names the first option given in vain. Options about input files are idle in
// every command that is given none.
absl::Status CheckIdle(const CLI::App& app, std::vector<IdleOptions> idle);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_GIVEN_OPTIONS_H_
