#include "tools/given_options.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tools/exit_code.h"

namespace ashlar {
namespace {

constexpr absl::string_view kCommon[] = {"--json", "--quiet", "--help"};

// Returns "--output" for "-o,--output", and "MODEL" for an argument.
std::string NameOf(const CLI::Option& option) {
  return option.get_name(/*positional=*/option.get_lnames().empty());
}

}  // namespace

Json GivenOptions(const CLI::App& app) {
  Json given = Json::object();
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = NameOf(*option);
    const bool common = std::count(std::begin(kCommon), std::end(kCommon), name) != 0;
    if (option->count() == 0 || option->get_lnames().empty() || common) continue;
    const std::vector<std::string>& values = option->results();
    if (option->get_expected_max() == 0) {
      given[name] = true;
    } else if (values.size() == 1) {
      given[name] = values[0];
    } else {
      given[name] = values;
    }
  }
  return given;
}

std::vector<std::string> AllBut(const CLI::App& app, absl::Span<const absl::string_view> names) {
  std::vector<std::string> others;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = NameOf(*option);
    if (std::count(names.begin(), names.end(), name) != 0) continue;
    if (std::count(std::begin(kCommon), std::end(kCommon), name) != 0) continue;
    others.push_back(name);
  }
  return others;
}

absl::Status CheckIdle(const CLI::App& app, std::vector<IdleOptions> idle) {
  const CLI::Option* const input = app.get_option_no_throw("--input");
  const bool files =
      input != nullptr &&
      input->get_group() == "Inputs";  // other commands use --input for something else
  if (files && input->count() == 0) {
    idle.push_back(
        {{input->get_group()}, "no --input gives a file, and random inputs are as they are"});
  }
  for (const IdleOptions& row : idle) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() == 0) continue;
      const std::string name = NameOf(*option);
      const auto names = [&](const std::string& text) {
        return text == name || text == option->get_group();
      };
      if (std::none_of(row.options.begin(), row.options.end(), names)) continue;
      return UsageError(absl::StrCat(name, " has no effect: ", row.why));
    }
  }
  return absl::OkStatus();
}

}  // namespace ashlar
