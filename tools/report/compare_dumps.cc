#include "tools/report/compare_dumps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/status.h"
#include "serialization/megengine/recording_summary.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/report/table.h"

namespace ashlar {
namespace {

constexpr size_t kOperatorsShown = 20;

struct Side {
  ProfileRecording recording;
  RecordedMemory memory;
  std::map<int64_t, int64_t> offsets;  // in the memory pool, by var id
};

absl::StatusOr<Side> ReadSide(const std::string& path, Console& console) {
  console.Progress(absl::StrCat("reading ", path));
  absl::StatusOr<ProfileRecording> recording = ReadProfileDump(path);
  if (!recording.ok()) return WithExitCode(recording.status(), ExitCode::kRejectedInput);
  Side side{*std::move(recording), {}, {}};
  side.memory = SummarizeMemory(side.recording);
  const std::vector<memory::Buffer>& buffers = side.memory.placement.problem.buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    side.offsets[buffers[i].id] = side.memory.plan.offsets[i];
  }
  return side;
}

std::string Milliseconds(double seconds) { return FormatMilliseconds(seconds * 1e3); }

std::string RatioText(double a, double b) { return a > 0 ? absl::StrFormat("%.2f", b / a) : ""; }

// Integers of both sides.
class Figures {
 public:
  void Add(const char* key, const char* title, int64_t a, int64_t b) {
    table_.AddRow({title, absl::StrCat(a), absl::StrCat(b)});
    json_[key] = {a, b};
  }
  std::string ToText() const { return table_.ToText(); }
  Json json() const { return json_; }

 private:
  Table table_ = Table({"", ">A", ">B"});
  Json json_ = Json::object();
};

Figures CompareOrderAndMemory(const Side& a, const Side& b) {
  Figures figures;
  const std::vector<int>&order_a = a.recording.comp_seq, &order_b = b.recording.comp_seq;
  int64_t same_positions = 0, same_times = 0, same_offsets = 0, common_vars = 0;
  for (size_t i = 0; i < std::min(order_a.size(), order_b.size()); ++i) {
    if (order_a[i] != order_b[i]) continue;
    ++same_positions;
    same_times += a.recording.operators.at(order_a[i]).input_update_time ==
                  b.recording.operators.at(order_b[i]).input_update_time;
  }
  for (const auto& [id, offset] : a.offsets) {
    const auto other = b.offsets.find(id);
    if (other == b.offsets.end()) continue;
    ++common_vars;
    same_offsets += other->second == offset;
  }
  const auto size = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  figures.Add("operators", "operators in order", size(order_a), size(order_b));
  figures.Add("equal_positions", "  at the same position", same_positions, same_positions);
  figures.Add("equal_update_times", "  with the same input_update_time", same_times, same_times);
  figures.Add("union_bytes", "memory, bytes", a.memory.union_bytes, b.memory.union_bytes);
  figures.Add("union_without_input_bytes", "  without the input",
              a.memory.union_without_input_bytes, b.memory.union_without_input_bytes);
  figures.Add("peak_bytes", "most bytes live", a.memory.peak_bytes, b.memory.peak_bytes);
  figures.Add("placed_vars", "vars placed", a.memory.vars, b.memory.vars);
  figures.Add("common_vars", "  in both", common_vars, common_vars);
  figures.Add("equal_offsets", "  at the same offset", same_offsets, same_offsets);
  return figures;
}

Json TotalsJson(const TypeTotals& totals) {
  return {{"operators", totals.operators},     {"device_ms", totals.device * 1e3},
          {"memory", totals.memory},           {"traffic_bytes", totals.memory},
          {"computation", totals.computation}, {"computation_flop", totals.computation}};
}

std::string TypeTable(const Side& a, const Side& b, Json& document) {
  const std::map<std::string, TypeTotals> types_a = TotalsByType(a.recording);
  const std::map<std::string, TypeTotals> types_b = TotalsByType(b.recording);
  std::set<std::string> types;
  for (const auto& [type, totals] : types_a) types.insert(type);
  for (const auto& [type, totals] : types_b) types.insert(type);
  Table table({"type", ">A", ">B", ">time A", ">time B", ">B/A", ">traffic A", ">traffic B"});
  TypeTotals all_a, all_b;
  const auto add = [&](const std::string& type, const TypeTotals& x, const TypeTotals& y) {
    table.AddRow({FormatName(type), absl::StrCat(x.operators), absl::StrCat(y.operators),
                  Milliseconds(x.device), Milliseconds(y.device), RatioText(x.device, y.device),
                  FormatBytes(x.memory), FormatBytes(y.memory)});
  };
  document["types"] = Json::object();
  for (const std::string& type : types) {
    const auto x = types_a.find(type), y = types_b.find(type);
    const TypeTotals totals_a = x == types_a.end() ? TypeTotals() : x->second;
    const TypeTotals totals_b = y == types_b.end() ? TypeTotals() : y->second;
    all_a.Add(totals_a);
    all_b.Add(totals_b);
    add(type, totals_a, totals_b);
    document["types"][type] = {TotalsJson(totals_a), TotalsJson(totals_b)};
  }
  add("all", all_a, all_b);
  return table.ToText();
}

std::string DifferenceTable(const Side& a, const Side& b, Json& document) {
  struct Row {
    int id = 0;
    const DumpOperator* op = nullptr;
    TypeTotals a, b;
  };
  std::vector<Row> rows;
  for (int id : a.recording.comp_seq) {
    const DumpOperator& op = a.recording.operators.at(id);
    const auto other = b.recording.operators.find(id);
    if (other == b.recording.operators.end() || other->second.type != op.type) continue;
    rows.push_back({id, &op, TotalsOf(op), TotalsOf(other->second)});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) {
    return std::abs(x.a.device - x.b.device) > std::abs(y.a.device - y.b.device);
  });
  Table table({">id", "operator", ">time A", ">time B", ">B/A", ">traffic A", ">traffic B"});
  document["common_operators"] = Json::array();
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    document["common_operators"].push_back({{"id", row.id},
                                            {"name", row.op->name},
                                            {"device_ms", {row.a.device * 1e3, row.b.device * 1e3}},
                                            {"memory", {row.a.memory, row.b.memory}},
                                            {"traffic_bytes", {row.a.memory, row.b.memory}}});
    if (i >= kOperatorsShown) continue;
    table.AddRow({absl::StrCat(row.id), FormatName(row.op->name, 44), Milliseconds(row.a.device),
                  Milliseconds(row.b.device), RatioText(row.a.device, row.b.device),
                  FormatBytes(row.a.memory), FormatBytes(row.b.memory)});
  }
  std::string text = table.ToText();
  if (rows.size() > kOperatorsShown) {
    absl::StrAppend(&text, "and ", rows.size() - kOperatorsShown, " that differ less\n");
  }
  return text;
}

}  // namespace

absl::Status CompareDumps(const std::string& path_a, const std::string& path_b, Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(const Side a, ReadSide(path_a, console));
  ASHLAR_ASSIGN_OR_RETURN(const Side b, ReadSide(path_b, console));
  Json document = console.Document(CompNode(), 1);
  document["files"] = {path_a, path_b};
  const Figures figures = CompareOrderAndMemory(a, b);
  document["figures"] = figures.json();
  console.Print(absl::StrCat("A ", path_a, "\nB ", path_b, "\n\n", figures.ToText(), "\n",
                             TypeTable(a, b, document), "\n", DifferenceTable(a, b, document)));
  return console.Write(document);
}

}  // namespace ashlar
