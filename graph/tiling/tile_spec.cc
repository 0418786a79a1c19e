#include "graph/tiling/tile_spec.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status.h"

namespace ashlar {
namespace {

constexpr int kMaxDepth = 4;
constexpr absl::string_view kId = "expected an operator's id";

struct KindRow {
  TileKind kind;
  const char* name;
  bool grid;
  absl::string_view old_name = {};  // in files of earlier versions
};
constexpr KindRow kKinds[] = {
    {TileKind::kBatch, "batch", false},        {TileKind::kRows, "rows", false},
    {TileKind::kLines, "lines", false},        {TileKind::kGrid, "grid", true},
    {TileKind::kInputGrid, "inputgrid", true}, {TileKind::kRolling, "rolling", false, "ebb"},
};

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<TileSpec> Run() {
    TileSpec spec;
    if (text_.empty()) return spec;
    ASHLAR_ASSIGN_OR_RETURN(spec.segments, List(0));
    if (!rest_.empty()) return Error("expected ';' or the end");
    return spec;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "tile spec '", text_.substr(0, 200), "': ", what, " at character ",
        text_.size() - rest_.size() + 1,
        "; expected FROM[+FROM...]-TO[+TO...]:KIND[(...)][;...] with ",
        "KIND batchN, rowsN, linesN[~ID...], rollingN[~ID...], gridNxM or ", "inputgridNxM"));
  }

  bool Take(absl::string_view token) {
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  absl::StatusOr<int> Number(int least, absl::string_view what) {
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < least) return Error(what);
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }

  // Ids, each after `before`.
  absl::StatusOr<std::vector<int>> Ids(absl::string_view before) {
    std::vector<int> ids;
    while (Take(before)) {
      ASHLAR_ASSIGN_OR_RETURN(const int id, Number(0, kId));
      ids.push_back(id);
    }
    return ids;
  }

  absl::StatusOr<std::vector<TileSegment>> List(int depth) {
    if (depth == kMaxDepth) return Error("segments are nested too deeply");
    std::vector<TileSegment> list;
    do {
      ASHLAR_ASSIGN_OR_RETURN(TileSegment segment, Segment(depth));
      list.push_back(std::move(segment));
    } while (Take(";"));
    return list;
  }

  absl::StatusOr<TileSegment> Segment(int depth) {
    TileSegment segment;
    ASHLAR_ASSIGN_OR_RETURN(segment.from, Number(0, kId));
    ASHLAR_ASSIGN_OR_RETURN(segment.also_from, Ids("+"));
    if (!Take("-")) return Error("expected '-'");
    ASHLAR_ASSIGN_OR_RETURN(segment.to, Number(0, kId));
    ASHLAR_ASSIGN_OR_RETURN(segment.also_to, Ids("+"));
    if (!Take(":")) return Error("expected ':'");
    const KindRow* row =
        std::find_if(std::begin(kKinds), std::end(kKinds), [this](const KindRow& kind) {
          return Take(kind.name) || (!kind.old_name.empty() && Take(kind.old_name));
        });
    if (row == std::end(kKinds)) return Error("expected a kind of tiles");
    segment.kind = row->kind;
    ASHLAR_ASSIGN_OR_RETURN(segment.count, Number(1, "expected a number of parts"));
    if (row->grid) {
      if (!Take("x")) return Error("expected 'x'");
      ASHLAR_ASSIGN_OR_RETURN(segment.count_width, Number(1, "expected a number of parts"));
    }
    if (IsLines(segment.kind)) {
      ASHLAR_ASSIGN_OR_RETURN(segment.again, Ids("~"));
    }
    if (Take("(")) {
      if (IsLines(segment.kind)) return Error("lines have no segments inside");
      ASHLAR_ASSIGN_OR_RETURN(segment.inner, List(depth + 1));
      if (!Take(")")) return Error("expected ')'");
    }
    return segment;
  }

  absl::string_view text_, rest_;
};

std::string Print(const std::vector<TileSegment>& segments) {
  return absl::StrJoin(segments, ";", [](std::string* out, const TileSegment& segment) {
    const KindRow& row = kKinds[static_cast<size_t>(segment.kind)];
    absl::StrAppend(out, segment.Ends(), ":", row.name, segment.count);
    if (row.grid) absl::StrAppend(out, "x", segment.count_width);
    for (const int id : segment.again) absl::StrAppend(out, "~", id);
    if (!segment.inner.empty()) absl::StrAppend(out, "(", Print(segment.inner), ")");
  });
}

bool HasKind(const std::vector<TileSegment>& segments, TileKind kind) {
  return std::any_of(segments.begin(), segments.end(), [&](const TileSegment& segment) {
    return segment.kind == kind || HasKind(segment.inner, kind);
  });
}

}  // namespace

std::string TileSegment::Ends() const {
  std::string text = absl::StrCat(from);
  for (const int id : also_from) absl::StrAppend(&text, "+", id);
  absl::StrAppend(&text, "-", to);
  for (const int id : also_to) absl::StrAppend(&text, "+", id);
  return text;
}

bool TileSpec::Has(TileKind kind) const { return HasKind(segments, kind); }

absl::StatusOr<TileSpec> TileSpec::Parse(absl::string_view text) { return Parser(text).Run(); }

std::string TileSpec::ToString() const { return Print(segments); }

}  // namespace ashlar
