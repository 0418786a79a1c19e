// Lists the options given on a command line, and finds options without effect.
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

// Returns the names and values of the options given, as {"--threads": "2", "--exact": true}. An
// option given several times has an array. Options that only direct the output are left out.
Json GivenOptions(const CLI::App& app);

struct IdleOptions {
  std::vector<std::string> options;  // their names ("--seed"), or of whole groups ("Planning")
  std::string why;                   // ends the message "--seed has no effect: "
};

// Returns all options and arguments of a command except `names` and the options common to all
// commands. For forms of a command that read few options.
std::vector<std::string> AllBut(const CLI::App& app, absl::Span<const absl::string_view> names);

// Returns a usage error that names the first given option without effect. Options about input files
// are idle in every command that is given no input file.
absl::Status CheckIdle(const CLI::App& app, std::vector<IdleOptions> idle);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_GIVEN_OPTIONS_H_
