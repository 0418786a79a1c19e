#include "codegen/kernel_sources.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/mcu/code_text.h"

namespace ashlar {
namespace {

constexpr absl::string_view kInclude = "#include \"runtime/mcu/c99/";

absl::string_view TextOf(absl::string_view name) {
  for (size_t i = 0; i < mcu::kNumCodeTexts; ++i) {
    if (mcu::kCodeTexts[i].name == name) return mcu::kCodeTexts[i].text;
  }
  return "";
}

// Returns whether a line belongs to a header guard.
bool IsGuard(absl::string_view line) {
  for (const char* const directive : {"#ifndef ", "#define ", "#endif  // "}) {
    if (absl::ConsumePrefix(&line, directive)) {
      return absl::StartsWith(line, "ASHLAR_RUNTIME_MCU_") && absl::EndsWith(line, "_H_");
    }
  }
  return false;
}

// Appends a file, with its included files in place of the includes, each once.
void Append(absl::string_view name, std::set<std::string>& done, std::string& text) {
  if (!done.insert(std::string(name)).second) return;
  bool blank = true;  // avoids two consecutive blank lines
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(TextOf(name), "\n"), '\n')) {
    if (IsGuard(line)) continue;
    if (absl::ConsumePrefix(&line, kInclude)) {
      Append(absl::StripSuffix(line, "\""), done, text);
      blank = true;
      continue;
    }
    if (!line.empty() || !blank) absl::StrAppend(&text, line, "\n");
    blank = line.empty();
  }
  if (!blank) absl::StrAppend(&text, "\n");
}

}  // namespace

KernelSources JoinKernelSources(const std::set<std::string>& names) {
  KernelSources sources;
  std::set<std::string> done;
  Append("target.h", done, sources.header);
  for (const std::string& name : names) Append(name + ".h", done, sources.header);
  for (const std::string& name : names) Append(name + ".c", done, sources.source);
  return sources;
}

}  // namespace ashlar
