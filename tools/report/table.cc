#include "tools/report/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace ashlar {

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (std::string& heading : headings_) {
    right_.push_back(!heading.empty() && heading[0] == '>');
    if (right_.back()) heading.erase(0, 1);
  }
}

void Table::AddRow(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::ToText() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < headings_.size(); ++c) {
    size_t width = headings_[c].size();
    for (const std::vector<std::string>& row : rows_) width = std::max(width, row[c].size());
    widths.push_back(width);
  }
  std::string text;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t c = 0; c < cells.size(); ++c) {
      const std::string padding(widths[c] - cells[c].size(), ' ');
      absl::StrAppend(&line, c == 0 ? "" : "  ", right_[c] ? padding : "", cells[c],
                      right_[c] ? "" : padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  };
  append(headings_);
  for (const std::vector<std::string>& row : rows_) append(row);
  return text;
}

std::string Table::ToMarkdown() const {
  std::string text = absl::StrCat("| ", absl::StrJoin(headings_, " | "), " |\n|");
  for (bool right : right_) absl::StrAppend(&text, right ? "---:|" : "---|");
  text += '\n';
  for (const std::vector<std::string>& row : rows_) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(absl::StrReplaceAll(cell, {{"|", "\\|"}}));
    absl::StrAppend(&text, "| ", absl::StrJoin(cells, " | "), " |\n");
  }
  return text;
}

}  // namespace ashlar
