// Parses values of options: sizes, durations, shapes, numbers, names.
#ifndef ASHLAR_GRAPH_PARSE_H_
#define ASHLAR_GRAPH_PARSE_H_

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "graph/shape.h"

namespace ashlar {

// All return InvalidArgument that quotes the text and the expected form.

// Parses bytes: "4096", "16MiB", "16MB", "1.5GiB"; units B, kB, MB, GB, TB and KiB, MiB, GiB, TiB,
// in upper or lower case.
absl::StatusOr<int64_t> ParseSize(absl::string_view text);

// Parses "3s", "200ms", "1.5s", "50us"; not negative.
absl::StatusOr<absl::Duration> ParseDuration(absl::string_view text);

// Parses seconds, "5", or a duration.
absl::StatusOr<absl::Duration> ParseSeconds(absl::string_view text);

// A number of runs, "10", or their duration, "200ms".
using CountOrDuration = std::variant<int64_t, absl::Duration>;
absl::StatusOr<CountOrDuration> ParseCountOrDuration(absl::string_view text);

// Parses "1x3x224x224"; also with commas.
absl::StatusOr<Shape> ParseShape(absl::string_view text);

// Parses "50,90,99.9".
absl::StatusOr<std::vector<double>> ParseNumbers(absl::string_view text);

// Parses "on" or "off".
absl::StatusOr<bool> ParseSwitch(absl::string_view text);

// Returns an error: the text is none of the names.
absl::Status NoneOf(absl::string_view text, absl::Span<const absl::string_view> names);

// Returns the value that belongs to the name `text`.
template <typename T>
absl::StatusOr<T> ParseName(absl::string_view text,
                            std::initializer_list<std::pair<absl::string_view, T>> values) {
  std::vector<absl::string_view> names;
  for (const auto& [name, value] : values) {
    if (text == name) return value;
    names.push_back(name);
  }
  return NoneOf(text, names);
}

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PARSE_H_
