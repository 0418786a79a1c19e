#include "tools/format.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "memory/utf8.h"

namespace ashlar {

std::string Counted(int64_t number, absl::string_view noun) {
  return absl::StrCat(number, " ", noun, number == 1 ? "" : "s");
}

std::string FormatBytes(int64_t bytes) {
  double value = static_cast<double>(bytes) / 1024;
  if (bytes < 1024) return absl::StrFormat("%d B", bytes);
  if (value < 1024) return absl::StrFormat("%.1f KiB", value);
  for (const char* unit : {"MiB", "GiB"}) {
    value /= 1024;
    if (value < 1024) return absl::StrFormat("%.2f %s", value, unit);
  }
  return absl::StrFormat("%.2f TiB", value / 1024);
}

std::string FormatMilliseconds(double milliseconds) {
  if (milliseconds >= 10000) return absl::StrFormat("%.2f s", milliseconds / 1000);
  if (milliseconds >= 1) return absl::StrFormat("%.2f ms", milliseconds);
  return absl::StrFormat("%.2f us", milliseconds * 1000);
}

std::string FormatFlops(int64_t operations) {
  constexpr std::array<const char*, 7> kUnits = {"FLOP",  "kFLOP", "MFLOP", "GFLOP",
                                                 "TFLOP", "PFLOP", "EFLOP"};
  double value = static_cast<double>(operations);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return absl::StrFormat(unit == 0 ? "%.0f %s" : "%.3f %s", value, kUnits[unit]);
}

std::string FormatPercent(double ratio) { return absl::StrFormat("%.1f %%", ratio * 100); }

std::string FormatName(absl::string_view name, size_t width) {
  std::string text(name);
  if (name.size() > width) {
    const auto within_character = [&](size_t at) {
      return at < name.size() && (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80;
    };
    size_t front = (width - 3) / 2, back = name.size() - (width - 3 - front);
    while (front > 0 && within_character(front)) --front;
    while (within_character(back)) ++back;
    text = absl::StrCat(name.substr(0, front), "...", name.substr(back));
  }
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return absl::ascii_iscntrl(c); }, '?');
  return text;
}

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace ashlar
