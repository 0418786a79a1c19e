// How counts arise and pass where a node asks for sizes: Tile, Expand, ConstantOfShape and Range. A
// size that depends on data is planned for the most that it may be.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "opr/gather.h"
#include "serialization/onnx/import/counted.h"

namespace ashlar {

using F = ScalarFunction;

std::vector<int64_t> IntegersOf(const HostTensor& tensor) {
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) integers.push_back(tensor.IntegerAt(i));
  return integers;
}

AskedShape AskedFor(OnnxNode& node, int i, int most_open) {
  AskedShape asked;
  const OnnxVar var = node.input(i);
  if (!node.ok()) return asked;
  const OnnxRange* const range = node.range(var);
  const bool unknown = node.constant(var) == nullptr && range == nullptr;
  if ((unknown && !node.has_bound()) || node.constant(var) != nullptr) {
    asked.dims = node.KnownInts(i, "the shape");
    return asked;
  }
  if (node.rank(var) > 1) {
    node.Invalid("the shape is no vector");
    return asked;
  }
  const int64_t sizes = node.type_of(var).shape.num_elements();
  for (int64_t k = 0; k < sizes && node.ok(); ++k) {
    const int64_t least = unknown ? 0 : range->least.IntegerAt(k);
    const int64_t most = unknown ? OnnxNode::kNoBound : range->most.IntegerAt(k);
    asked.dims.push_back(least == most ? most : node.Bound(most));
    if (least == most) continue;
    if (static_cast<int>(asked.open.size()) == most_open) {
      node.Unsupported(absl::StrCat("more than ", most_open, " of its sizes depend on data"));
      return asked;
    }
    OnnxVar count = ElementOf(node, var, k);
    if (asked.dims.back() != most || least < 0) {
      count = Checked(node, count, node.Integer(asked.dims.back()),
                      "a size that depends on data (--bound)", /*at_most=*/true);
    }
    asked.open.push_back({count, static_cast<int>(k)});
  }
  return asked;
}

namespace {

// Returns x `most` times along the axis of its count, without fill between: place i has element i
// modulo the count.
OnnxVar RepeatedWithoutFill(OnnxNode& node, OnnxVar x, const OnnxCount& count, int64_t most) {
  int64_t places = 0;
  if (__builtin_mul_overflow(node.shape(x)[count.axis], most, &places)) {
    return node.Invalid(absl::StrCat("repeats of dimension ", count.axis, ": ", most));
  }
  std::optional<HostTensor> numbers = node.NewTensor(DType::kInt64, {{places}});
  if (!numbers) return kNoOnnxVar;
  for (int64_t i = 0; i < places; ++i) numbers->SetInteger(i, i);
  const OnnxVar place = node.Constant(*std::move(numbers));
  const OnnxVar divisor = node.Function(F::kMax, {count.count, node.Integer(1)});
  const OnnxVar whole = node.Product(node.Function(F::kTruncDiv, {place, divisor}), divisor);
  // Nothing is found in nothing: places stay inside.
  const OnnxVar last = node.Integer(std::max<int64_t>(node.shape(x)[count.axis] - 1, 0));
  const OnnxVar from = node.Function(F::kMin, {node.Difference(place, whole), last});
  return node.Add<Gather>({count.axis}, {x, from});
}

// Runs the node for the most of each size, which input i asks for.
OnnxVars OfSizes(OnnxNode& node, OnnxImportFunction run, int i, const std::vector<int64_t>& most,
                 std::vector<OnnxCount> counts) {
  node.SetInput(i, node.IntVector(most));
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(node.WithCounts(outputs[0], std::move(counts)))
                   : OnnxVars(kNoOnnxVar);
}

// Returns the most or the least that the only element of a var may be, if that is known.
std::optional<int64_t> BoundOf(OnnxNode& node, OnnxVar var, bool most) {
  if (const HostTensor* const value = node.constant(var)) return value->IntegerAt(0);
  const OnnxRange* const range = node.range(var);
  if (range == nullptr) return std::nullopt;
  return (most ? range->most : range->least).IntegerAt(0);
}

}  // namespace

OnnxVars CountedTile(OnnxNode& node, OnnxImportFunction run) {
  if (node.version() < 6) {
    RefuseCounts(node, 0);
    return run(node);
  }
  RefuseCounts(node, 1);
  const OnnxVar x = node.input(0);
  AskedShape asked = AskedFor(node, 1, 1);
  if (!node.ok()) return kNoOnnxVar;
  if (static_cast<int>(asked.dims.size()) != node.rank(x)) return run(node);  // reports it
  const std::vector<OnnxCount> own = node.counts(x);                          // at most one
  const int along = own.empty() ? -1 : own[0].axis;
  std::vector<OnnxCount> counts;
  OnnxVar times = kNoOnnxVar;  // along the axis of x's count
  for (const OnnxCount& open : asked.open) {
    if (open.axis == along) {
      times = open.count;
      continue;
    }
    counts.push_back({node.Product(open.count, node.Integer(node.shape(x)[open.axis])), open.axis});
  }
  if (along >= 0) {
    int64_t& most = asked.dims[static_cast<size_t>(along)];
    if (times == kNoOnnxVar) times = node.Integer(most);
    if (most < 0) return run(node);  // reports it
    if (most != 1) {
      const OnnxVar repeated = RepeatedWithoutFill(node, x, own[0], most);
      if (!node.ok()) return kNoOnnxVar;
      node.SetInput(0, repeated);
      most = 1;
    }
    counts.push_back({node.Product(own[0].count, times), along});
  }
  return OfSizes(node, run, 1, asked.dims, std::move(counts));
}

OnnxVars CountedExpand(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 1);
  const OnnxVar x = node.input(0);
  if (!node.ok()) return kNoOnnxVar;
  AskedShape asked = AskedFor(node, 1, 2);
  if (!node.ok()) return kNoOnnxVar;
  const int rank = std::max(node.rank(x), static_cast<int>(asked.dims.size()));
  const int shift = rank - node.rank(x), moved = rank - static_cast<int>(asked.dims.size());
  const std::vector<OnnxCount> of_x = node.counts(x);
  const auto at_axis = [](const std::vector<OnnxCount>& counts, int axis) -> const OnnxCount* {
    for (const OnnxCount& count : counts) {
      if (count.axis == axis) return &count;
    }
    return nullptr;
  };
  std::vector<OnnxCount> counts;
  for (int axis = 0; axis < rank; ++axis) {
    const OnnxCount* const own = at_axis(of_x, axis - shift);
    const OnnxCount* const open = at_axis(asked.open, axis - moved);
    const int64_t size = axis >= shift ? node.shape(x)[axis - shift] : 1;
    int64_t* const dim = axis >= moved ? &asked.dims[static_cast<size_t>(axis - moved)] : nullptr;
    if (own != nullptr && open != nullptr) {
      counts.push_back({Checked(node, own->count, open->count, "a size to expand"), axis});
      *dim = std::min(size, *dim);
      node.SetInput(0, FirstPlaces(node, node.input(0), axis - shift, *dim));
    } else if (own != nullptr) {
      if (dim != nullptr && *dim != 1) {
        return node.Unsupported("sizes that depend on data meet other ones");
      }
      counts.push_back({own->count, axis});
    } else if (open != nullptr) {
      if (size != 1) {
        return node.Unsupported("a size that depends on data meets one that does not");
      }
      counts.push_back({open->count, axis});
    }
    if (!node.ok()) return kNoOnnxVar;
  }
  return OfSizes(node, run, 1, asked.dims, std::move(counts));
}

OnnxVars CountedFilling(OnnxNode& node, OnnxImportFunction run) {
  RefuseCounts(node, 0);
  if (!node.ok()) return kNoOnnxVar;
  const AskedShape asked = AskedFor(node, 0, 2);
  return OfSizes(node, run, 0, asked.dims, asked.open);
}

// The numbers start + i * delta; a start that depends on data is added in the run.
OnnxVars CountedNumbers(OnnxNode& node, OnnxImportFunction) {
  RefuseCounts(node, 0);
  const OnnxVar start = node.input(0), limit = node.input(1);
  node.KnownNumber(2, "delta");
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar delta = node.input(2);
  const DType dtype = node.dtype(limit);
  if (IsFloat(dtype)) return node.Unsupported("of floats that depend on data");
  for (const OnnxVar var : {start, limit, delta}) {
    if (node.type_of(var).shape.num_elements() != 1 || node.dtype(var) != dtype) {
      return node.Invalid("start, limit and delta: expected one element each, of one dtype");
    }
  }
  const int64_t step = node.constant(delta)->IntegerAt(0);
  if (step == 0) return node.Invalid("delta is 0");
  if (step == std::numeric_limits<int64_t>::min()) return node.Unsupported("of this delta");
  const OnnxVar low = step > 0 ? start : limit, high = step > 0 ? limit : start;
  const int64_t stride = std::abs(step);
  const std::optional<int64_t> least = BoundOf(node, low, false), most = BoundOf(node, high, true);
  int64_t all = OnnxNode::kNoBound;
  if (least && most) {
    const __int128 places = (__int128{*most} - *least + stride - 1) / stride;
    all = static_cast<int64_t>(std::clamp<__int128>(places, 0, OnnxNode::kNoBound));
  }
  const int64_t places = node.Bound(all);
  if (places == OnnxNode::kNoBound) {
    node.KnownNumber(least.has_value() == (step > 0) ? 1 : 0, "an end");
    return kNoOnnxVar;
  }
  const OnnxVar distance = node.Difference(ElementOf(node, high, 0), ElementOf(node, low, 0));
  OnnxVar count = node.Function(
      F::kTruncDiv, {node.Sum(distance, static_cast<double>(stride - 1)), node.Integer(stride)});
  count = node.Function(F::kMax, {count, node.Integer(0)});
  if (places != all) {
    count = Checked(node, count, node.Integer(places), "the number of elements (--bound)",
                    /*at_most=*/true);
  }
  const HostTensor* const known = node.constant(start);
  std::optional<HostTensor> numbers = node.NewTensor(DType::kInt64, {{places}});
  if (!numbers) return kNoOnnxVar;
  for (int64_t i = 0; i < places; ++i) {
    const WrappingInt first = known != nullptr ? known->IntegerAt(0) : 0;
    numbers->SetInteger(i, (first + WrappingInt(i) * step).value);
  }
  OnnxVar result = node.Constant(*std::move(numbers));
  if (known == nullptr) result = node.Sum(result, ElementOf(node, start, 0));
  result = node.Converted(result, dtype);
  return node.ok() ? OnnxVars(node.Counted(result, {count, 0})) : OnnxVars(kNoOnnxVar);
}

}  // namespace ashlar
