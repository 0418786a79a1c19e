#include "codegen/c_calls.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ashlar {
namespace {

// Compilers keep addresses that several calls share on the stack. Functions of few calls limit
// this.
constexpr int kCallsOfPart = 16;
// Repeated calls are written once if each repeats more often on average. Then a table has their
// order and offsets, which takes less memory than the code of calls.
constexpr size_t kRepeatsOfTable = 2;

// Returns the text of a line; `write` writes the `index`-th of its numbers.
std::string TextOf(const CLine& line,
                   absl::FunctionRef<std::string(const CArgument& argument, size_t index)> write) {
  size_t index = 0;
  std::vector<std::string> arguments;
  for (const CArgument& argument : line.arguments) {
    arguments.push_back(argument.Text(argument.number ? write(argument, index++) : ""));
  }
  return absl::StrCat(line.before, absl::StrJoin(arguments, ", "), line.after);
}
// Returns the text with its numbers.
std::string TextOf(const CLine& line) {
  return TextOf(line, [](const CArgument& argument, size_t) {
    return *argument.number == 0 && !argument.is_element ? "" : absl::StrCat(*argument.number);
  });
}

// The calls without their numbers.
struct Forms {
  int64_t unit = 1;                       // the greatest common divisor of offsets
  std::map<std::string, size_t> numbers;  // by text
  std::vector<size_t> of_line;            // of calls
};

Forms FindForms(const std::vector<CLine>& lines) {
  Forms forms;
  int64_t unit = 0;
  for (const CLine& line : lines) {
    for (const CArgument& argument : line.arguments) {
      if (!line.is_trace && !argument.is_element) {
        unit = std::gcd(unit, argument.number.value_or(0));
      }
    }
  }
  forms.unit = std::max<int64_t>(unit, 1);
  const std::string times = forms.unit > 1 ? absl::StrCat(" * ", forms.unit, "u") : "";
  for (const CLine& line : lines) {
    forms.of_line.push_back(0);
    if (line.is_trace) continue;
    const std::string form = TextOf(line, [&](const CArgument& argument, size_t index) {
      return absl::StrCat("at[", index + 1, "]", argument.is_element ? "" : times);
    });
    forms.of_line.back() = forms.numbers.try_emplace(form, forms.numbers.size()).first->second;
  }
  return forms;
}

CCalls WriteEachCall(const std::vector<CLine>& lines) {
  CCalls text;
  int calls = 0;
  for (const CLine& line : lines) {
    if (text.parts.empty() || (calls == kCallsOfPart && !line.is_trace)) {
      text.parts.emplace_back();
      calls = 0;
    }
    calls += line.is_trace ? 0 : 1;
    if (!line.node.empty()) absl::StrAppend(&text.parts.back(), "  // ", line.node, "\n");
    absl::StrAppend(&text.parts.back(), "  ", TextOf(line), "\n");
  }
  return text;
}

// Writes each form once, as a case, and a table of the calls: case and numbers.
CCalls WriteTable(const std::vector<CLine>& lines, const Forms& forms) {
  const auto case_of = [](size_t number, absl::string_view text, size_t elements) {
    return absl::StrCat("      case ", number, ":\n        ", text, "\n        at += ", elements,
                        ";\n        break;\n");
  };
  std::vector<size_t> lengths(forms.numbers.size());
  std::string traces, rows;
  size_t most = 0, elements = 0, number = forms.numbers.size();
  for (size_t i = 0; i < lines.size(); ++i) {
    const CLine& line = lines[i];
    if (!line.node.empty()) absl::StrAppend(&rows, "    // ", line.node, "\n");
    if (line.is_trace) {
      absl::StrAppend(&rows, "    TRACED(", number, ")\n");
      absl::StrAppend(&traces, case_of(number++, TextOf(line), 1));
      continue;
    }
    std::vector<size_t> row = {forms.of_line[i]};
    for (const CArgument& argument : line.arguments) {
      if (!argument.number) continue;
      row.push_back(static_cast<size_t>(*argument.number / (argument.is_element ? 1 : forms.unit)));
    }
    most = std::max(most, *std::max_element(row.begin(), row.end()));
    elements += row.size();
    lengths[row[0]] = row.size();
    absl::StrAppend(&rows, "    ", absl::StrJoin(row, ", "), ",\n");
  }
  std::vector<std::string> cases(forms.numbers.size());
  for (const auto& [text, form] : forms.numbers) cases[form] = case_of(form, text, lengths[form]);
  const bool is_short = std::max(most, number) <= UINT16_MAX;
  const char* const type = is_short ? "uint16_t" : "uint32_t";
  return {absl::StrCat("#ifdef ASHLAR_TRACE\n#define TRACED(number) number,\n#else\n#define "
                       "TRACED(number)\n#endif\n\n",
                       "// The calls in their order: the number of a case below, the index of a "
                       "shape, and offsets\n// in units of ",
                       forms.unit, ".\nstatic const ", type, " order[] = {\n", rows, "};\n\n"),
          static_cast<int64_t>(elements) * (is_short ? 2 : 4),
          {absl::StrCat("  const ", type, "* at = order;\n",
                        "  while (at != order + sizeof(order) / sizeof(order[0])) {\n",
                        "    switch (at[0]) {\n", absl::StrJoin(cases, ""), "#ifdef ASHLAR_TRACE\n",
                        traces, "#endif\n    }\n  }\n")}};
}

}  // namespace

std::string CArgument::Text(absl::string_view written) const {
  if (is_element) return absl::StrCat("&", base, "[", written, "]");
  return written.empty() ? base : absl::StrCat(base, " + ", written);
}

CCalls WriteCalls(const std::vector<CLine>& lines) {
  const Forms forms = FindForms(lines);
  const auto calls = static_cast<size_t>(
      std::count_if(lines.begin(), lines.end(), [](const CLine& line) { return !line.is_trace; }));
  return calls > kRepeatsOfTable * forms.numbers.size() ? WriteTable(lines, forms)
                                                        : WriteEachCall(lines);
}

}  // namespace ashlar
