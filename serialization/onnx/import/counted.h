// How counts pass through ONNX operators: the rules of rows for inputs whose sizes depend
// on data. Fill must never be taken for an element: a rule that is not sure refuses.
#ifndef ASHLAR_SERIALIZATION_ONNX_IMPORT_COUNTED_H_
#define ASHLAR_SERIALIZATION_ONNX_IMPORT_COUNTED_H_

#include <string>
#include <vector>

#include "serialization/onnx/import/node.h"

namespace ashlar {

// A function of elements, with broadcasting: counted inputs have one count. Checked in the run if
// they may differ.
OnnxVars CountedElements(OnnxNode& node, OnnxImportFunction run);
// Only input 0 has a count, along axis 0, and every index of it is computed alone.
OnnxVars CountedBatch(OnnxNode& node, OnnxImportFunction run);
// Only input 0 has a count, along another axis than the attribute `axis`; below operator set 13,
// along one before it. By default the axis is the last.
OnnxVars CountedAlong(OnnxNode& node, OnnxImportFunction run);
// Rows of a matrix by a matrix without a count.
OnnxVars CountedProduct(OnnxNode& node, OnnxImportFunction run);

// Reads the counts of its inputs itself.
inline OnnxVars CountedByItself(OnnxNode& node, OnnxImportFunction run) { return run(node); }

OnnxVars CountedShape(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedSize(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedReshape(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedFlatten(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedSqueeze(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedUnsqueeze(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedTranspose(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedConcat(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedSplit(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedSlice(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedTile(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedExpand(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedFilling(OnnxNode& node, OnnxImportFunction run);  // ConstantOfShape
OnnxVars CountedNumbers(OnnxNode& node, OnnxImportFunction run);  // Range
OnnxVars CountedGather(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedGatherElements(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedGatherND(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedScatterElements(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedScatterND(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedTopK(OnnxNode& node, OnnxImportFunction run);
OnnxVars CountedPoints(OnnxNode& node, OnnxImportFunction run);  // GridSample
OnnxVars CountedBoxes(OnnxNode& node, OnnxImportFunction run);   // RoiAlign

// The shape that an input asks for: the most of each size, and the sizes that depend on data, whose
// axes are indices in `dims`.
struct AskedShape {
  std::vector<int64_t> dims;
  std::vector<OnnxCount> open;
};
// Returns the shape that input i asks for, in which at most `most_open` sizes depend on data. What
// they may be at most follows from counts, or is a bound that is given for the node.
AskedShape AskedFor(OnnxNode& node, int i, int most_open);
std::vector<int64_t> IntegersOf(const HostTensor& tensor);

// Returns the count of a var along an axis: its own, or the size as a constant.
OnnxVar CountAlong(OnnxNode& node, OnnxVar var, int axis);
// Returns the count, checked in the run to equal the other, or to be at most as large. `what` names
// it in the error.
OnnxVar Checked(OnnxNode& node, OnnxVar count, OnnxVar other, const std::string& what,
                bool at_most = false);
// Returns the var with its fill replaced; without a count, the var itself. It has no count then.
OnnxVar Filled(OnnxNode& node, OnnxVar var, double value);
// Returns the var cut to the first `size` places along an axis, without its count.
OnnxVar FirstPlaces(OnnxNode& node, OnnxVar var, int axis, int64_t size);
// Returns an element of a vector of integers, Int64 of rank 0.
OnnxVar ElementOf(OnnxNode& node, OnnxVar vector, int64_t i);
// Returns indices that are checked against the count of what they index, 0 in place of fill.
OnnxVar Within(OnnxNode& node, OnnxVar indices, OnnxVar count);
// Returns where the elements are that are not 0, [rank, places] with a count along axis 1.
OnnxVar PlacesOf(OnnxNode& node, OnnxVar flags, int64_t at_most);
// Returns a condition as Int64, 0 or 1, of rank 0.
OnnxVar Truth(OnnxNode& node, OnnxVar condition);
// Returns one of two vars, by a condition of the run. Sizes may differ along one axis.
OnnxVar EitherOf(OnnxNode& node, OnnxVar condition, OnnxVar a, OnnxVar b);
// An error unless no input from the first on has a count.
void RefuseCounts(OnnxNode& node, int first);
// The same as RefuseCounts, for outputs that are read.
void RefuseOutputs(OnnxNode& node, int first);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_ONNX_IMPORT_COUNTED_H_
