#include "library/shape_family.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/needed_bytes.h"
#include "graph/shape.h"
#include "graph/status.h"

namespace ashlar {
namespace {

constexpr size_t kLongestText = 200;  // of a text in a message

constexpr int64_t kMostSizes = int64_t{1} << 40;  // of a dimension that is counted

// The sizes [first, last] of a dimension.
struct SizeRange {
  int64_t first = 0, last = 0;
};
using Sizes = std::vector<int64_t>;  // ascending

absl::StatusOr<SizeRange> ParseRange(absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, "..");
  SizeRange range;
  if (ends.size() > 2 || !absl::SimpleAtoi(ends[0], &range.first) || range.first < 0 ||
      !absl::SimpleAtoi(ends.back(), &range.last) || range.last < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text.substr(0, kLongestText), "' is no size; expected a number, 1..8 or {224,320}"));
  }
  if (range.first > range.last) {
    return absl::InvalidArgumentError(absl::StrCat(text, " has no members: it begins with ",
                                                   range.first, " and ends with ", range.last));
  }
  return range;
}

// Returns the sizes of one dimension. Counts them before it lists them.
absl::StatusOr<Sizes> ParseSizes(absl::string_view text) {
  absl::string_view list = text;
  const bool braces = !list.empty() && list.front() == '{' && list.back() == '}';
  if (braces) list = list.substr(1, list.size() - 2);
  if (braces && list.empty()) return absl::InvalidArgumentError("{} has no members");
  std::vector<SizeRange> ranges;
  int64_t count = 0;
  for (absl::string_view part : absl::StrSplit(list, ',')) {
    ASHLAR_ASSIGN_OR_RETURN(ranges.emplace_back(), ParseRange(part));
    const SizeRange& range = ranges.back();
    count += std::min(range.last - range.first, kMostSizes) + 1;
    if (count > ShapeFamily::kMostPoints) {
      return absl::InvalidArgumentError(absl::StrCat(text.substr(0, kLongestText), " has ", count,
                                                     " sizes; a family has at most ",
                                                     ShapeFamily::kMostPoints, " points"));
    }
  }
  Sizes sizes;
  for (const SizeRange& range : ranges) {
    for (int64_t size = range.first; size <= range.last; ++size) sizes.push_back(size);
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// Splits at "x", and at commas outside of braces.
std::vector<absl::string_view> SplitDimensions(absl::string_view text) {
  std::vector<absl::string_view> parts;
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : 'x';
    depth += c == '{';
    if (c == '}' && depth > 0) --depth;
    if (i < text.size() && (depth > 0 || (c != 'x' && c != ','))) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

// An input, and the sizes of each of its dimensions.
struct Declared {
  std::string input;
  std::vector<Sizes> dims;
};

absl::StatusOr<Declared> ParseInput(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return absl::InvalidArgumentError("expected NAME=SHAPE");
  Declared declared = {text.substr(0, equals), {}};
  const absl::string_view shape = absl::string_view(text).substr(equals + 1);
  for (const absl::string_view part : SplitDimensions(shape)) {
    absl::StatusOr<Sizes> sizes = ParseSizes(part);
    if (!sizes.ok()) {
      if (ShapeFamily::HasChoice(shape)) return sizes.status();
      return absl::InvalidArgumentError(
          absl::StrCat("'", shape.substr(0, 80), "' is not a shape, such as 1x3x224x224"));
    }
    if (sizes->front() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dimension ", declared.dims.size(), " is 0, expected 1 or more, as in 1x3x224x224"));
    }
    declared.dims.push_back(*std::move(sizes));
  }
  return declared;
}

// Returns every shape of one input; the last dimension changes first.
absl::StatusOr<std::vector<Shape>> ShapesOf(const Declared& declared) {
  std::vector<std::vector<int64_t>> lists = {{}};
  for (const Sizes& sizes : declared.dims) {
    std::vector<std::vector<int64_t>> longer;
    for (const std::vector<int64_t>& list : lists) {
      for (const int64_t size : sizes) {
        longer.push_back(list);
        longer.back().push_back(size);
      }
    }
    lists = std::move(longer);
  }
  std::vector<Shape> shapes;
  for (const std::vector<int64_t>& list : lists) {
    ASHLAR_ASSIGN_OR_RETURN(shapes.emplace_back(), Shape::Make(list));
  }
  return shapes;
}

// Returns the number of points; above `most`, some number above it.
int64_t CountPoints(const std::vector<Declared>& inputs, int64_t most) {
  int64_t points = 1;
  for (const Declared& input : inputs) {
    for (const Sizes& sizes : input.dims) {
      points *= static_cast<int64_t>(sizes.size());
      if (points > std::numeric_limits<int64_t>::max() / (most + 1)) return points;
    }
  }
  return points;
}

bool Holds(absl::Span<const int64_t> outer, absl::Span<const int64_t> inner, bool exactly) {
  if (exactly) return outer == inner;
  return outer.size() == inner.size() &&
         std::equal(outer.begin(), outer.end(), inner.begin(), std::greater_equal<>());
}

}  // namespace

bool KeepGreaterNeed(const absl::Status& point, const std::string& name, absl::Status& kept) {
  const std::optional<int64_t> needed = NeededBytes(point);
  if (!needed) return false;
  if (*needed > NeededBytes(kept).value_or(0)) kept = Annotate(point, name);
  return true;
}

std::string ShapesText(const InputShapes& shapes) {
  return absl::StrJoin(shapes, " ", [](std::string* out, const auto& input) {
    absl::StrAppend(out, input.first, "=", absl::StrJoin(input.second.dims(), "x"));
  });
}

bool ShapeFamily::HasChoice(absl::string_view text) {
  const size_t equals = text.find('=');
  const absl::string_view shape =
      equals == absl::string_view::npos ? text : text.substr(equals + 1);
  return shape.find('{') != absl::string_view::npos || shape.find("..") != absl::string_view::npos;
}

absl::StatusOr<ShapeFamily> ShapeFamily::Parse(absl::Span<const std::string> texts) {
  ShapeFamily family;
  family.text_ = absl::StrJoin(texts, " ");
  std::vector<Declared> inputs;
  for (const std::string& text : texts) {
    const auto annotated = [&](const absl::Status& status) {
      return Annotate(status, text.substr(0, kLongestText));
    };
    absl::StatusOr<Declared> declared = ParseInput(text);
    if (!declared.ok()) return annotated(declared.status());
    const auto is_it = [&](const Declared& other) { return other.input == declared->input; };
    if (std::any_of(inputs.begin(), inputs.end(), is_it)) {
      return annotated(absl::InvalidArgumentError("this input is declared twice"));
    }
    family.varying_inputs_ += HasChoice(text);
    inputs.push_back(*std::move(declared));
  }
  if (const int64_t points = CountPoints(inputs, kMostPoints); points > kMostPoints) {
    return absl::InvalidArgumentError(absl::StrCat(family.text_.substr(0, kLongestText), ": ",
                                                   points, " points; a family has at most ",
                                                   kMostPoints));
  }
  family.points_ = {{}};
  for (const Declared& input : inputs) {
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, ShapesOf(input));
    std::vector<InputShapes> more;
    for (const InputShapes& point : family.points_) {
      for (const Shape& shape : shapes) {
        more.push_back(point);
        more.back()[input.input] = shape;
      }
    }
    family.points_ = std::move(more);
  }
  return family;
}

void ShapeFamily::Keep(const std::vector<bool>& kept) {
  std::vector<InputShapes> points;
  for (size_t i = 0; i < points_.size(); ++i) {
    if (kept[i]) points.push_back(std::move(points_[i]));
  }
  points_ = std::move(points);
}

absl::StatusOr<size_t> ShapeFamily::Find(DimsOf dims, bool exactly) const {
  std::optional<size_t> best;
  int64_t least = 0;
  for (size_t i = 0; i < points_.size(); ++i) {
    int64_t elements = 0;
    const bool holds = std::all_of(points_[i].begin(), points_[i].end(), [&](const auto& input) {
      const auto given = dims(input.first);
      elements += input.second.num_elements();
      return given && Holds(input.second.dims(), *given, exactly);
    });
    if (!holds || (best && elements >= least)) continue;
    best = i;
    least = elements;
  }
  if (best) return *best;
  std::string asked;
  for (const auto& [input, shape] : points_[0]) {
    const auto given = dims(input);
    absl::StrAppend(&asked, asked.empty() ? "" : " ", input, "=",
                    given ? absl::StrJoin(*given, "x") : "?");
  }
  return absl::InvalidArgumentError(absl::StrCat(asked.substr(0, kLongestText),
                                                 exactly ? " is not declared" : " fits in no point",
                                                 "; declared: ", text_));
}

absl::StatusOr<size_t> ShapeFamily::Find(const InputShapes& shapes) const {
  const auto dims = [&](const std::string& input) -> std::optional<absl::Span<const int64_t>> {
    const auto given = shapes.find(input);
    if (given == shapes.end()) return std::nullopt;
    return given->second.dims();
  };
  return Find(dims, /*exactly=*/true);
}

}  // namespace ashlar
