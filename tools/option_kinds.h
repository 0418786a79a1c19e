// Options of a command, by the kind of their value.
#ifndef ASHLAR_TOOLS_OPTION_KINDS_H_
#define ASHLAR_TOOLS_OPTION_KINDS_H_

#include <CLI/App.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ashlar {

// The group of options that the help text does not list.
inline constexpr char kUnlistedGroup[] = "unlisted";

// Options of a command under one heading of its help text; without a name, under the usual one.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, std::string name = "")  // a command is a group, too
      : app_(app), name_(std::move(name)) {}

  CLI::App& app() const { return app_; }
  CLI::Option* Take(CLI::Option* option) const {
    return name_.empty() ? option : option->group(name_);
  }

 private:
  CLI::App& app_;
  const std::string name_;
};

// Adds an option whose value `parse` reads; usage errors name the option. `metavar` stands for the
// value in help texts.
template <typename T>
CLI::Option* AddParsed(const OptionGroup& group, const std::string& name, T& target,
                       absl::StatusOr<T> (*parse)(absl::string_view), const std::string& metavar,
                       const std::string& help) {
  const auto store = [&target, parse, name](const std::string& text) {
    absl::StatusOr<T> value = parse(text);
    if (!value.ok()) throw CLI::ValidationError(name, std::string(value.status().message()));
    target = *std::move(value);
  };
  return group.Take(group.app().add_option_function<std::string>(name, store, help))
      ->option_text(metavar);
}

// Refuses other texts than whole numbers in the range; the message names the text and the range.
CLI::Validator WholeNumber(int64_t least, int64_t most);

// For AddNumber: no limit.
inline constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// Adds an option for a whole number from `least` to `most`.
template <typename T>
CLI::Option* AddNumber(const OptionGroup& group, const std::string& name, T& target, int64_t least,
                       int64_t most, const std::string& help) {
  return group.Take(group.app().add_option(name, target, help))
      ->option_text("N")
      ->check(WholeNumber(least, most));
}

// Adds an option for a number of at least 0.
CLI::Option* AddReal(const OptionGroup& group, const std::string& name, double& target,
                     const std::string& help);

// Adds an option for a text, such as a file's name.
CLI::Option* AddText(const OptionGroup& group, const std::string& name, std::string& target,
                     const std::string& metavar, const std::string& help);

// Adds an option that may be given several times, each with one value.
CLI::Option* AddRepeated(const OptionGroup& group, const std::string& name,
                         std::vector<std::string>& target, const std::string& metavar,
                         const std::string& help);

// Adds an option without a value.
CLI::Option* AddFlag(const OptionGroup& group, const std::string& name, bool& target,
                     const std::string& help);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_OPTION_KINDS_H_
