// How counts pass through operators that select elements by index. Every index is checked in the
// run against the count of what it selects.
#include <algorithm>

#include "opr/concat.h"
#include "opr/split.h"
#include "serialization/onnx/import/counted.h"

namespace ashlar {
namespace {

using F = ScalarFunction;

// Returns the first column of tuples, and the others; either may be kNoOnnxVar.
struct Columns {
  OnnxVar first = kNoOnnxVar, others = kNoOnnxVar;
};

Columns ColumnsOf(OnnxNode& node, OnnxVar tuples) {
  if (!node.ok()) return {};
  const int last = node.rank(tuples) - 1;
  const int64_t width = node.shape(tuples)[last];
  if (width == 1) return {tuples, kNoOnnxVar};
  const OnnxVars parts =
      node.AddOperator(std::make_shared<const Split>(SplitParam{last, {1, width - 1}}), {tuples});
  return node.ok() ? Columns{parts[0], parts[1]} : Columns{};
}

OnnxVar Joined(OnnxNode& node, const Columns& columns) {
  if (!node.ok() || columns.others == kNoOnnxVar) return columns.first;
  return node.Add<Concat>({node.rank(columns.first) - 1}, {columns.first, columns.others});
}

// Returns the var with another count, or without one.
OnnxVar With(OnnxNode& node, OnnxVar var, const OnnxCount* count) {
  return count != nullptr ? node.Counted(var, *count) : var;
}

// Returns the indices that scatter, where fill leads to a place after all others.
OnnxVar ToPlaces(OnnxNode& node, OnnxVar indices, OnnxVar count, int64_t behind) {
  const OnnxCount* const own = node.ok() ? node.count(indices) : nullptr;
  const OnnxVar within = Within(node, indices, count);
  if (own == nullptr) return within;
  return Filled(node, node.Counted(within, *own), static_cast<double>(behind));
}

// Makes the updates as many as the indices; returns an error if their counts are of two axes.
bool MatchUpdates(OnnxNode& node, const OnnxCount& own) {
  const OnnxVar indices = node.input(1), updates = node.input(2);
  const OnnxCount* const count = node.count(updates);
  if (count != nullptr && count->axis != own.axis) {
    node.Unsupported("sizes of two axes depend on data");
  }
  if (!node.ok()) return false;
  const OnnxVar both =
      Checked(node, own.count, CountAlong(node, updates, own.axis), "the number of updates");
  const int64_t size = std::min(node.shape(indices)[own.axis], node.shape(updates)[own.axis]);
  node.SetInput(1, node.Counted(FirstPlaces(node, indices, own.axis, size), {both, own.axis}));
  node.SetInput(2, FirstPlaces(node, updates, own.axis, size));
  return node.ok();
}

}  // namespace

OnnxVars CountedGather(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar data = node.input(0), indices = node.input(1);
  if (!node.ok()) return kNoOnnxVar;
  const int axis = node.Axis(node.Int("axis", 0), node.rank(data));
  const OnnxCount* const of_data = node.count(data);
  const OnnxCount* const of_indices = node.count(indices);
  if (!node.ok() || (of_data == nullptr && of_indices == nullptr)) return run(node);
  std::optional<OnnxCount> result;
  if (of_indices != nullptr) result = {of_indices->count, axis + of_indices->axis};
  if (of_data != nullptr && of_data->axis != axis) {
    if (result) return node.Unsupported("sizes of two axes depend on data");
    const int moved = of_data->axis < axis ? 0 : node.rank(indices) - 1;
    result = {of_data->count, of_data->axis + moved};
  }
  const bool along = of_data != nullptr && of_data->axis == axis;
  if (node.shape(data)[axis] == 0 && node.shape(indices).num_elements() > 0) {
    return node.Unsupported("of nothing, at indices whose number depends on data");
  }
  if (along || of_indices != nullptr) {
    node.SetInput(1, Within(node, indices, CountAlong(node, data, axis)));
  }
  const OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  return With(node, outputs[0], result ? &*result : nullptr);
}

OnnxVars CountedGatherElements(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar data = node.input(0), indices = node.input(1);
  if (!node.ok()) return kNoOnnxVar;
  const int axis = node.Axis(node.Int("axis", 0), node.rank(data));
  const OnnxCount* const of_data = node.count(data);
  const OnnxCount* const found = node.count(indices);
  std::optional<OnnxCount> own;
  if (found != nullptr) own = *found;
  if (of_data != nullptr && of_data->axis != axis) {
    if (own && own->axis != of_data->axis) {
      return node.Unsupported("sizes of two axes depend on data");
    }
    const OnnxVar asked = CountAlong(node, indices, of_data->axis);
    own = {Checked(node, asked, of_data->count, "the number of indices", true), of_data->axis};
  }
  if (!node.ok()) return kNoOnnxVar;
  node.SetInput(1, Within(node, indices, CountAlong(node, data, axis)));
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(With(node, outputs[0], own ? &*own : nullptr)) : OnnxVars(kNoOnnxVar);
}

OnnxVars CountedGatherND(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar data = node.input(0), indices = node.input(1);
  if (!node.ok()) return kNoOnnxVar;
  const OnnxCount* const of_data = node.count(data);
  const OnnxCount* const own = node.count(indices);
  const int last = node.rank(indices) - 1;
  if (last < 0 || node.Int("batch_dims", 0) != 0 || (own != nullptr && own->axis == last) ||
      (of_data != nullptr && of_data->axis != 0)) {
    return node.Unsupported("of tuples or dimensions whose number depends on data");
  }
  Columns columns = ColumnsOf(node, With(node, Filled(node, indices, 0), nullptr));
  if (!node.ok()) return kNoOnnxVar;
  columns.first = Within(node, With(node, columns.first, own), CountAlong(node, data, 0));
  node.SetInput(1, Joined(node, columns));
  const OnnxVars outputs = run(node);
  return node.ok() ? OnnxVars(With(node, outputs[0], own)) : OnnxVars(kNoOnnxVar);
}

OnnxVars CountedScatterElements(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar data = node.input(0);
  node.input(1);
  node.input(2);
  if (!node.ok()) return kNoOnnxVar;
  const int axis = node.Axis(node.Int("axis", 0), node.rank(data));
  const OnnxCount* const of_data = node.count(data);
  const OnnxCount* const found = node.count(node.input(1));
  if (!node.ok()) return kNoOnnxVar;
  std::optional<OnnxCount> own;
  if (found != nullptr) own = *found;
  if (of_data != nullptr && of_data->axis != axis) {
    if (own && own->axis != of_data->axis) {
      return node.Unsupported("sizes of two axes depend on data");
    }
    const OnnxVar asked = CountAlong(node, node.input(1), of_data->axis);
    own = {Checked(node, asked, of_data->count, "the number of indices", true), of_data->axis};
  }
  if (!own && node.count(node.input(2)) != nullptr) {
    return node.Unsupported("the number of updates depends on data");
  }
  const int64_t size = node.shape(data)[axis];
  if (own && !MatchUpdates(node, *own)) return kNoOnnxVar;
  const OnnxVar count = CountAlong(node, data, axis);
  node.SetInput(1, ToPlaces(node, node.input(1), count, size));
  if (own) node.SetInput(0, node.Padded(data, axis, 0, 1));  // a place for fill
  const OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar result = own ? FirstPlaces(node, outputs[0], axis, size) : outputs[0];
  return node.ok() ? OnnxVars(With(node, result, of_data)) : OnnxVars(kNoOnnxVar);
}

OnnxVars CountedScatterND(OnnxNode& node, OnnxImportFunction run) {
  const OnnxVar data = node.input(0);
  node.input(1);
  node.input(2);
  if (!node.ok()) return kNoOnnxVar;
  const OnnxCount* const of_data = node.count(data);
  const OnnxCount* const own = node.count(node.input(1));
  const int last = node.rank(node.input(1)) - 1;
  if (last < 0 || (own == nullptr && node.count(node.input(2)) != nullptr) ||
      (own != nullptr && own->axis == last) || (of_data != nullptr && of_data->axis != 0)) {
    return node.Unsupported("of tuples or dimensions whose number depends on data");
  }
  const int64_t size = node.shape(data)[0];
  if (own != nullptr && !MatchUpdates(node, *own)) return kNoOnnxVar;
  const OnnxVar tuples = node.input(1);
  const OnnxCount* const both = node.ok() ? node.count(tuples) : nullptr;
  Columns columns = ColumnsOf(node, Filled(node, tuples, 0));
  if (!node.ok()) return kNoOnnxVar;
  columns.first = ToPlaces(node, With(node, columns.first, both), CountAlong(node, data, 0), size);
  node.SetInput(1, Joined(node, columns));
  if (own != nullptr) node.SetInput(0, node.Padded(data, 0, 0, 1));  // a place for fill
  const OnnxVars outputs = run(node);
  if (!node.ok()) return kNoOnnxVar;
  const OnnxVar result = own != nullptr ? FirstPlaces(node, outputs[0], 0, size) : outputs[0];
  return node.ok() ? OnnxVars(With(node, result, of_data)) : OnnxVars(kNoOnnxVar);
}

}  // namespace ashlar
