#include "memory/csv.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "memory/problem/fixed_offsets.h"
#include "memory/problem/instance.h"
#include "memory/problem/tied_buffers.h"

namespace ashlar::memory {
namespace {

enum Column {
  kId,
  kName,
  kLower,
  kUpper,
  kSize,
  kAlignment,
  kGroup,
  kInside,
  kAt,
  kOffset,
  kColumns
};
// In the order of writing: without its last column the file is a problem again.
constexpr std::array<const char*, kColumns> kColumnNames = {
    "id", "name", "lower", "upper", "size", "alignment", "group", "inside", "at", "offset"};
// Cells quoted in messages are cut to this many bytes.
constexpr size_t kQuotedBytes = 40;
// A longer row is not a row of buffers.
constexpr size_t kMaxRowBytes = size_t{1} << 20;

// Splits a row into `cells`, which point into `row`. Returns false if quotes do not match.
bool SplitRow(absl::string_view row, std::vector<absl::string_view>& cells) {
  cells.clear();
  while (true) {
    size_t end;
    if (!row.empty() && row[0] == '"') {
      size_t quote = row.find('"', 1);
      while (quote != row.npos && quote + 1 < row.size() && row[quote + 1] == '"') {
        quote = row.find('"', quote + 2);
      }
      if (quote == row.npos) return false;
      end = quote + 1;
      if (end < row.size() && row[end] != ',') return false;
    } else {
      end = std::min(row.find(','), row.size());
    }
    cells.push_back(absl::StripAsciiWhitespace(row.substr(0, end)));
    if (end == row.size()) return true;
    row.remove_prefix(end + 1);
  }
}

std::string Unquote(absl::string_view cell) {
  if (cell.empty() || cell[0] != '"') return std::string(cell);
  std::string text;
  for (size_t i = 1; i + 1 < cell.size(); ++i) {
    if (cell[i] == '"') ++i;  // doubled
    text += cell[i];
  }
  return text;
}

// Returns a header's or number's cell without quotes, which are allowed but not needed.
absl::string_view Bare(absl::string_view cell) {
  const bool quoted = cell.size() >= 2 && cell.front() == '"';
  return quoted ? absl::StripAsciiWhitespace(cell.substr(1, cell.size() - 2)) : cell;
}

std::string Quote(const std::string& id) {
  const bool plain = id.find_first_of(",\"\n\r") == std::string::npos &&
                     absl::StripAsciiWhitespace(id).size() == id.size();
  if (plain) return id;
  std::string quoted = "\"";
  for (char c : id) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// Quotes a cell for messages, without control characters that a terminal would execute.
std::string Shown(absl::string_view cell) {
  const bool whole = cell.size() <= kQuotedBytes;
  return absl::StrCat("\"", absl::Utf8SafeCHexEscape(cell.substr(0, kQuotedBytes)),
                      whole ? "\"" : "...\"");
}

// Returns a name for people, on one line.
std::string OneLine(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return name;
}

class Reader {
 public:
  Reader(std::istream& in, const std::string& name, int64_t alignment)
      : in_(in), name_(name), alignment_(alignment) {}

  absl::StatusOr<CsvProblem> Read() {
    if (absl::Status status = ReadHeader(); !status.ok()) return status;
    while (NextLine()) {
      if (absl::Status status = ReadRow(); !status.ok()) return status;
    }
    if (in_.bad()) return absl::DataLossError(absl::StrCat(name_, ": reading failed"));
    if (absl::Status status = ReadRelations(); !status.ok()) return status;
    if (absl::Status status = CheckGroups(); !status.ok()) return status;
    if (absl::Status status = CheckFixedOffsets(); !status.ok()) return status;
    return std::move(result_);
  }

 private:
  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(name_, ":", line_number_, ": ", what));
  }

  // Checks that no two rows have the same id, and ties the rows that lie inside others.
  absl::Status ReadRelations() {
    absl::flat_hash_map<absl::string_view, int> row_of;
    row_of.reserve(lines_.size());
    for (size_t i = 0; i < lines_.size(); ++i) {
      const auto [first, is_new] = row_of.try_emplace(result_.ids[i], static_cast<int>(i));
      if (is_new) continue;
      line_number_ = lines_[i];
      return Error(absl::StrCat("id ", Shown(first->first), " stands in line ",
                                lines_[first->second], " already"));
    }
    const std::vector<Buffer>& buffers = result_.problem.buffers;
    for (const Place& place : places_) {
      line_number_ = lines_[place.row];
      const std::string id = Shown(result_.ids[place.row]);
      const auto outer = row_of.find(place.inside);
      if (outer == row_of.end()) {
        return Error(
            absl::StrCat("id ", id, " lies inside of ", Shown(place.inside), ", which is no id"));
      }
      const int64_t size = buffers[place.row].size, whole = buffers[outer->second].size;
      if (outer->second == place.row || place.at < 0 || place.at > whole ||
          size > whole - place.at) {
        return Error(absl::StrCat("id ", id, ": ", size, " bytes at ", place.at,
                                  " do not fit inside of ", Shown(place.inside), " of ", whole,
                                  outer->second == place.row ? ", which is itself" : ""));
      }
      result_.problem.inside.push_back({place.row, outer->second, place.at});
    }
    return absl::OkStatus();
  }

  // Checks that groups are equal exactly for rows tied by relations.
  absl::Status CheckGroups() {
    if (position_[kGroup] < 0) return absl::OkStatus();
    const std::vector<int> tied = FirstTied(result_.problem);
    absl::flat_hash_map<absl::string_view, int> first_of;  // by group
    for (size_t i = 0; i < groups_.size(); ++i) {
      line_number_ = lines_[i];
      const int first = tied[i];
      if (groups_[i] != groups_[first]) {
        return Error(absl::StrCat("id ", Shown(result_.ids[i]), " is tied to ",
                                  Shown(result_.ids[first]), " of another group"));
      }
      if (groups_[i].empty()) continue;
      const auto [entry, is_new] = first_of.try_emplace(groups_[i], first);
      if (is_new || entry->second == first) continue;
      return Error(absl::StrCat("id ", Shown(result_.ids[i]), " is in the group of ",
                                Shown(result_.ids[entry->second]),
                                ", and nothing ties them: the columns inside and at do"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckFixedOffsets() {
    if (!some_fixed_) return absl::OkStatus();
    const absl::StatusOr<Instance> instance = Instance::Create(result_.problem);
    if (!instance.ok()) return instance.status();
    const std::optional<FixedConflict> conflict = FindFixedConflict(result_.problem, *instance);
    if (!conflict.has_value()) return absl::OkStatus();
    const auto bytes = [&](int index) {
      const Buffer& b = result_.problem.buffers[index];
      return absl::StrCat("id ", Shown(result_.ids[index]), " at [", *b.offset, ", ",
                          *b.offset + b.size, ")");
    };
    line_number_ = lines_[std::max(conflict->first, conflict->second)];
    const int other = std::min(conflict->first, conflict->second);
    return Error(absl::StrCat(bytes(std::max(conflict->first, conflict->second)), " overlaps ",
                              bytes(other), " of line ", lines_[other],
                              ": fixed offsets of buffers that are live together"));
  }

  // Skips blank lines.
  bool NextLine() {
    while (std::getline(in_, line_)) {
      ++line_number_;
      if (!absl::StripAsciiWhitespace(line_).empty()) return true;
    }
    return false;
  }

  absl::Status ReadHeader() {
    constexpr char kExpected[] =
        "id, lower, upper, size and optionally name, alignment, group, inside, at, offset";
    if (!NextLine()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, ": no header; expected the columns ", kExpected));
    }
    absl::string_view header = line_;
    absl::ConsumePrefix(&header, "\xEF\xBB\xBF");  // byte order mark
    position_.fill(-1);
    if (!SplitRow(header, cells_)) return Error("unbalanced quotes in the header");
    for (size_t i = 0; i < cells_.size(); ++i) {
      int column = 0;
      while (column < kColumns && Bare(cells_[i]) != kColumnNames[column]) ++column;
      if (column == kColumns) {
        return Error(absl::StrCat("unknown column ", Shown(cells_[i]), "; expected ", kExpected));
      }
      if (position_[column] >= 0) {
        return Error(absl::StrCat("column ", kColumnNames[column], " appears twice"));
      }
      position_[column] = static_cast<int>(i);
    }
    for (int column : {kId, kLower, kUpper, kSize}) {
      if (position_[column] < 0) {
        return Error(
            absl::StrCat("column ", kColumnNames[column], " is missing; expected ", kExpected));
      }
    }
    width_ = cells_.size();
    return absl::OkStatus();
  }

  absl::Status Number(Column column, int64_t& value) const {
    const absl::string_view cell = Bare(cells_[position_[column]]);
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc() && end == cell.data() + cell.size()) return absl::OkStatus();
    return Error(absl::StrCat(kColumnNames[column], " ", Shown(cell), " is not a 64-bit integer"));
  }

  bool Given(Column column) const {
    return position_[column] >= 0 && !Bare(cells_[position_[column]]).empty();
  }

  absl::Status ReadRow() {
    if (line_.size() > kMaxRowBytes) return Error("the row is longer than 1 MiB");
    if (!SplitRow(line_, cells_)) return Error("unbalanced quotes");
    if (cells_.size() != width_) {
      return Error(absl::StrCat(cells_.size(), " cells; the header has ", width_));
    }
    Buffer buffer;
    result_.ids.push_back(Unquote(cells_[position_[kId]]));
    if (!absl::SimpleAtoi(result_.ids.back(), &buffer.id)) {
      buffer.id = static_cast<int64_t>(result_.ids.size()) - 1;
    }
    absl::Status status = Number(kLower, buffer.lower);
    status.Update(Number(kUpper, buffer.upper));
    status.Update(Number(kSize, buffer.size));
    const bool inside = Given(kInside);
    if (inside) {
      Place& place = places_.emplace_back();
      place.row = static_cast<int>(result_.problem.buffers.size());
      place.inside = Unquote(cells_[position_[kInside]]);
      if (Given(kAt)) status.Update(Number(kAt, place.at));
    } else if (Given(kAt)) {
      status.Update(Error("at is given, and inside is not"));
    }
    if (position_[kName] >= 0) result_.names.push_back(Unquote(cells_[position_[kName]]));
    if (position_[kGroup] >= 0) groups_.push_back(Unquote(cells_[position_[kGroup]]));
    if (Given(kAlignment)) status.Update(Number(kAlignment, buffer.alignment));
    if (Given(kOffset)) status.Update(Number(kOffset, buffer.offset.emplace()));
    if (buffer.offset == -1) buffer.offset.reset();  // free, as in the library
    if (!status.ok()) return status;
    // Checks the row's own alignment, too: a larger minimum must not hide an invalid one.
    status = ValidateBuffer(buffer);
    if (!inside) buffer.alignment = std::max(buffer.alignment, alignment_);
    if (status.ok()) status = ValidateBuffer(buffer);
    if (status.ok()) status = total_.Add(buffer);
    if (!status.ok()) {
      return Error(absl::StrCat("id ", Shown(result_.ids.back()), ": ", status.message()));
    }
    some_fixed_ = some_fixed_ || buffer.offset.has_value();
    result_.problem.buffers.push_back(buffer);
    lines_.push_back(line_number_);
    return absl::OkStatus();
  }

  // The row's columns `inside` and `at`.
  struct Place {
    int row = 0;
    std::string inside;  // id
    int64_t at = 0;
  };

  std::istream& in_;
  const std::string& name_;
  int64_t alignment_;
  TotalBytes total_;
  bool some_fixed_ = false;
  CsvProblem result_;
  std::vector<Place> places_;
  std::vector<std::string> groups_;  // one for each buffer if the column exists
  std::string line_;
  int64_t line_number_ = 0;
  std::vector<int64_t> lines_;  // of each buffer
  std::vector<absl::string_view> cells_;
  std::array<int, kColumns> position_;  // of each column in a row, or -1
  size_t width_ = 0;
};

absl::Status WriteAllColumns(const CsvProblem& problem, const Plan& plan, std::ostream& out) {
  const size_t count = plan.offsets.size();
  std::vector<const Inside*> inside(count, nullptr);
  for (const Inside& relation : problem.problem.inside) {
    if (inside[relation.inner] != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "buffer ", problem.ids[relation.inner], " lies inside of two others; a row names one"));
    }
    inside[relation.inner] = &relation;
  }
  const std::vector<int> tied = FirstTied(problem.problem);
  for (int column = 0; column < kColumns; ++column) {
    out << (column == 0 ? "" : ",") << kColumnNames[column];
  }
  out << "\n";
  for (size_t i = 0; i < count; ++i) {
    const Buffer& b = problem.problem.buffers[i];
    const Inside* const place = inside[i];
    out << absl::StrCat(Quote(problem.ids[i]), ",",
                        problem.names.empty() ? "" : Quote(OneLine(problem.names[i])), ",", b.lower,
                        ",", b.upper, ",")
        << absl::StrCat(b.size, ",", b.alignment, ",", Quote(problem.ids[tied[i]]), ",")
        << (place == nullptr ? ","
                             : absl::StrCat(Quote(problem.ids[place->outer]), ",", place->offset))
        << "," << plan.offsets[i] << "\n";
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CsvProblem> ReadCsv(std::istream& in, const std::string& name, int64_t alignment) {
  return Reader(in, name, alignment).Read();
}

absl::StatusOr<CsvProblem> ReadCsvFile(const std::string& path, int64_t alignment) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot open: ", std::strerror(errno)));
  }
  return ReadCsv(file, path, alignment);
}

std::vector<std::string> IdsInFile(absl::Span<const Buffer> buffers) {
  std::vector<std::string> ids;
  absl::flat_hash_map<int64_t, int> seen;
  for (const Buffer& buffer : buffers) {
    const int before = seen[buffer.id]++;
    ids.push_back(before == 0 ? absl::StrCat(buffer.id) : absl::StrCat(buffer.id, ".", before));
  }
  return ids;
}

absl::Status WriteCsv(const CsvProblem& problem, const Plan& plan, std::ostream& out) {
  if (plan.offsets.size() != problem.problem.buffers.size() ||
      problem.ids.size() != problem.problem.buffers.size()) {
    return absl::InvalidArgumentError("the plan is not one of this problem");
  }
  const bool few_columns = problem.names.empty() && problem.problem.inside.empty();
  TotalBytes total;
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    Buffer read = problem.problem.buffers[i];
    read.offset = plan.offsets[i];
    if (few_columns) read.alignment = 1;  // which is not written
    const absl::Status status = total.Add(read);
    if (status.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("the plan would not be read back: id ",
                                                   Shown(problem.ids[i]), " at ", *read.offset,
                                                   ": ", status.message()));
  }
  if (few_columns) {
    out << "id,lower,upper,size,offset\n";
    for (size_t i = 0; i < plan.offsets.size(); ++i) {
      const Buffer& b = problem.problem.buffers[i];
      out << absl::StrCat(Quote(problem.ids[i]), ",", b.lower, ",", b.upper, ",", b.size, ",",
                          plan.offsets[i], "\n");
    }
  } else if (absl::Status status = WriteAllColumns(problem, plan, out); !status.ok()) {
    return status;
  }
  out.flush();
  if (!out) return absl::UnavailableError("writing the plan failed");
  return absl::OkStatus();
}

}  // namespace ashlar::memory
