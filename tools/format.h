// Formats numbers for people. Exact values are in the JSON output.
#ifndef ASHLAR_TOOLS_FORMAT_H_
#define ASHLAR_TOOLS_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace ashlar {

// Returns "1 byte", "2 bytes": for nouns whose plural adds an s.
std::string Counted(int64_t number, absl::string_view noun);

// Formats "49.77 MiB", "1.50 GiB", "2.25 TiB"; below 1 MiB "12.3 KiB", below 1 KiB "512 B".
std::string FormatBytes(int64_t bytes);

// Formats milliseconds as "1.234 s", "12.34 ms" or "3.21 us".
std::string FormatMilliseconds(double milliseconds);

// Formats scalar operations as "8.178 GFLOP", up to EFLOP.
std::string FormatFlops(int64_t operations);

// Returns "12.3 %" for 0.123.
std::string FormatPercent(double ratio);

// Returns a name from a file on one line of at most `width` bytes. Control characters become '?'. A
// longer name gets "..." in its middle, because names of exporters differ at their ends.
std::string FormatName(absl::string_view name, size_t width = 60);

// Returns "model.onnx" for "folder/model.onnx".
std::string FileName(const std::string& path);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_FORMAT_H_
