#include "library/shell_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace ashlar {
namespace {

bool IsWord(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::string_view("-_=,.:/+%@").find(c) != absl::string_view::npos;
  });
}

}  // namespace

std::string ShellText(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* text, const std::string& word) {
    absl::StrAppend(
        text,
        IsWord(word) ? word : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'"));
  });
}

}  // namespace ashlar
