// Text tables.
#ifndef ASHLAR_TOOLS_REPORT_TABLE_H_
#define ASHLAR_TOOLS_REPORT_TABLE_H_

#include <string>
#include <vector>

namespace ashlar {

// A table whose columns are as wide as their widest cell, two spaces apart. Headings that begin
// with '>' label right-aligned columns.
class Table {
 public:
  explicit Table(std::vector<std::string> headings);
  // Adds a row of one cell a column; missing cells are empty.
  void AddRow(std::vector<std::string> cells);

  std::string ToText() const;
  std::string ToMarkdown() const;

 private:
  std::vector<std::string> headings_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_REPORT_TABLE_H_
