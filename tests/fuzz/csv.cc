// Buffers as CSV: read, planned by the default planner, checked, written and read again.
#include "memory/csv.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "memory/planner.h"
#include "memory/problem/work.h"
#include "tests/fuzz/target.h"

namespace ashlar::testing {
namespace {

constexpr size_t kMostBuffers = 2000;  // limit for planning

std::vector<std::string> Seeds() {
  return {
      "id,lower,upper,size\n0,0,3,8\n1,1,4,16\n2,3,5,4\n",
      "size,id,upper,lower,offset,alignment\n100,a,7,3,,\n50,\"b, \"\"c\"\"\",9,-2,64,32\n",
      "id,name,lower,upper,size,alignment,inside,at,group,offset\n"
      "a,whole,0,9,64,64,,,1,\nb,part,2,5,16,,a,16,1,\nc,part,3,9,8,,a,32,1,\nd,,4,6,128,32,,,,\n",
  };
}

absl::StatusOr<memory::CsvProblem> Read(const std::string& text) {
  std::istringstream in(text);
  return memory::ReadCsv(in, "x.csv");
}

void Run(absl::Span<const uint8_t> file) {
  const auto csv = Read(std::string(file.begin(), file.end()));
  ExpectAnError(csv.status());
  if (!csv.ok() || csv->problem.buffers.size() > kMostBuffers) return;
  memory::PlanOptions options;
  options.limits.work = memory::kWorkPerMillisecond;
  const auto planned = memory::PlanMemory(csv->problem, options);
  ExpectAnError(planned.status());
  if (!planned.ok()) return;
  std::ostringstream out;
  const absl::Status written = memory::WriteCsv(*csv, planned->plan, out);
  ExpectAnError(written);
  if (!written.ok()) return;  // near 2^62 bytes, could not be read back
  const auto again = Read(out.str());
  Expect(again.ok(), "what was written is read again");
  Expect(again->problem.buffers.size() == csv->problem.buffers.size(), "no buffer is lost");
}

// Replaces a cell of the table by another one, or by a number.
std::string Mutate(const std::string& file, std::mt19937_64& random) {
  std::vector<std::vector<std::string>> rows;
  for (const absl::string_view line : absl::StrSplit(file, '\n')) {
    rows.push_back(absl::StrSplit(line, ','));
  }
  const auto cell = [&]() -> std::string& {
    std::vector<std::string>& row = rows[random() % rows.size()];
    return row[random() % row.size()];
  };
  if (random() % 4 == 0) {
    const std::vector<std::string> row = rows[random() % rows.size()];
    rows.insert(rows.begin() + static_cast<int64_t>(random() % rows.size()), row);
  }
  std::string& changed = cell();
  changed = random() % 2 == 0 ? std::string(cell()) : absl::StrCat(EdgeNumber(random));
  std::vector<std::string> lines;
  for (const auto& row : rows) lines.push_back(absl::StrJoin(row, ","));
  return absl::StrJoin(lines, "\n");
}

}  // namespace

const FuzzTarget kFuzzTarget = {Seeds, {"data/dsa"}, Run, Mutate};

}  // namespace ashlar::testing
