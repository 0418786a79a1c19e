#include "graph/parse.h"

#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"

namespace ashlar {
namespace {

struct Unit {
  const char* name;
  double bytes;
};

constexpr Unit kUnits[] = {
    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
    {"KB", 1e3},     {"MB", 1e6},        {"GB", 1e9},           {"TB", 1e12},
    {"B", 1.0}};

absl::Status Expected(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("'", text.substr(0, 80), "' is not ", what));
}

}  // namespace

absl::StatusOr<int64_t> ParseSize(absl::string_view text) {
  constexpr absl::string_view kWhat = "a size such as 4096, 16MiB or 16MB";
  int64_t bytes = 0;
  if (absl::SimpleAtoi(text, &bytes)) {
    if (bytes < 0) return Expected(text, kWhat);
    return bytes;
  }
  for (const Unit& unit : kUnits) {
    if (!absl::EndsWithIgnoreCase(text, unit.name)) continue;
    double number = 0;
    const absl::string_view digits = text.substr(0, text.size() - std::strlen(unit.name));
    if (!absl::SimpleAtod(digits, &number) || !std::isfinite(number) || number < 0) break;
    const double product = std::round(number * unit.bytes);
    if (product >= 0x1p62) break;
    return static_cast<int64_t>(product);
  }
  return Expected(text, kWhat);
}

absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text) {
  absl::Duration duration;
  if (!absl::ParseDuration(std::string(text), &duration) || duration < absl::ZeroDuration() ||
      duration == absl::InfiniteDuration() || text == "0") {
    return Expected(text, "a duration such as 3s or 200ms");
  }
  return duration;
}

absl::StatusOr<absl::Duration> ParseSeconds(absl::string_view text) {
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds) && seconds >= 0 && std::isfinite(seconds)) {
    return absl::Seconds(seconds);
  }
  return ParseDuration(text);
}

absl::StatusOr<CountOrDuration> ParseCountOrDuration(absl::string_view text) {
  int64_t count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 0) return CountOrDuration(count);
  if (absl::StatusOr<absl::Duration> duration = ParseDuration(text); duration.ok()) {
    return CountOrDuration(*duration);
  }
  return Expected(text, "a number of runs or a duration, such as 10 or 200ms");
}

absl::StatusOr<Shape> ParseShape(absl::string_view text) {
  std::vector<int64_t> dims;
  for (absl::string_view part : absl::StrSplit(text, absl::ByAnyChar("x,"))) {
    int64_t dim = 0;
    if (!absl::SimpleAtoi(part, &dim) || dim < 0) {
      return Expected(text, "a shape, such as 1x3x224x224");
    }
    dims.push_back(dim);
  }
  return Shape::Make(dims);
}

absl::StatusOr<std::vector<double>> ParseNumbers(absl::string_view text) {
  std::vector<double> numbers;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    double number = 0;
    if (!absl::SimpleAtod(part, &number) || !std::isfinite(number)) {
      return Expected(text, "a list of numbers with commas, such as 1,2.5,99.9");
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<bool> ParseSwitch(absl::string_view text) {
  if (text == "on") return true;
  if (text == "off") return false;
  return Expected(text, "on or off");
}

absl::Status NoneOf(absl::string_view text, absl::Span<const absl::string_view> names) {
  std::string list(names[0]);
  for (size_t i = 1; i < names.size(); ++i) {
    absl::StrAppend(&list, i + 1 < names.size() ? ", " : " or ", names[i]);
  }
  return absl::InvalidArgumentError(absl::StrCat("'", text.substr(0, 40), "' is not ", list));
}

}  // namespace ashlar
