#include "tools/option_kinds.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

CLI::Validator NonNegativeReal() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        if (absl::SimpleAtod(text, &value) && value >= 0 && std::isfinite(value)) return {};
        return absl::StrCat("'", text, "' is not a number of at least 0");
      },
      "");
}

}  // namespace

CLI::Validator WholeNumber(int64_t least, int64_t most) {
  const bool bounded = most != kUnlimited;
  const std::string range =
      bounded ? absl::StrCat("from ", least, " to ", most) : absl::StrCat("of at least ", least);
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        int64_t value = 0;
        if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) return {};
        return absl::StrCat("'", text, "' is not a whole number ", range);
      },
      "");
}

CLI::Option* AddReal(const OptionGroup& group, const std::string& name, double& target,
                     const std::string& help) {
  return group.Take(group.app().add_option(name, target, help))
      ->option_text("X")
      ->check(NonNegativeReal());
}

CLI::Option* AddText(const OptionGroup& group, const std::string& name, std::string& target,
                     const std::string& metavar, const std::string& help) {
  return group.Take(group.app().add_option(name, target, help))->option_text(metavar);
}

CLI::Option* AddRepeated(const OptionGroup& group, const std::string& name,
                         std::vector<std::string>& target, const std::string& metavar,
                         const std::string& help) {
  return group.Take(group.app().add_option(name, target, help))
      ->option_text(metavar)
      ->allow_extra_args(false);
}

CLI::Option* AddFlag(const OptionGroup& group, const std::string& name, bool& target,
                     const std::string& help) {
  return group.Take(group.app().add_flag(name, target, help))->option_text(" ");
}

}  // namespace ashlar
