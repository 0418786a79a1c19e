// Dimensions that a model's file leaves open, and on which more than shapes depends.
//
// A reader folds values that follow from shapes (the number of rows, the start of the last one),
// and leaves out operators without effect at these shapes (a mean of one image). The graph is then
// right for these sizes alone, although shapes of other sizes can be inferred. They are found by
// comparison: the graph inferred for another size must be the one that is read at that size.
#ifndef ASHLAR_SERIALIZATION_FIXED_AXES_H_
#define ASHLAR_SERIALIZATION_FIXED_AXES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "serialization/input_shapes.h"

namespace ashlar {

struct FixedAxis {
  std::string input;  // its binding
  int axis = 0;
  std::string node;  // the first one that differs at another size
  friend bool operator==(const FixedAxis&, const FixedAxis&) = default;
};

// A dimension that the model's file leaves open.
struct OpenAxis {
  std::string input;
  int axis = 0;
  std::string symbol = {};  // the file's name for it; dimensions with the same one are equal
  friend bool operator==(const OpenAxis&, const OpenAxis&) = default;
};

// The dimensions of inputs in a file that is written of a model.
struct FileAxes {
  std::vector<FixedAxis> fixed;  // other sizes are refused
  std::vector<OpenAxis> open;    // the ones with symbols in the model's own file
};

// Returns all dimensions of the graph's inputs, with the symbols of `named`.
std::vector<OpenAxis> AxesOf(const Graph& graph, const std::vector<OpenAxis>& named);

// Returns shapes of the graph's inputs in which these dimensions have other sizes: around the
// present ones, with other remainders of small numbers, 1, the half, the double and the triple.
std::vector<InputShapes> SampledShapes(const Graph& graph, const std::vector<OpenAxis>& axes);

// Compares a graph that was inferred for other shapes of inputs with one that was made for them:
// nullopt if they are the same, otherwise the name of the first operator that differs, or "".
using DifferenceAtShapes =
    absl::FunctionRef<std::optional<std::string>(const Graph& inferred, const InputShapes& shapes)>;

// Returns the open dimensions that are fixed in the graph: all but the ones that were seen to
// change with shapes alone. Compares at SampledShapes of each, and of several that may have to
// change together: with the same symbol, with the same index (such as all batches), all, and each
// two that cannot change otherwise.
std::vector<FixedAxis> FindFixedAxes(const Graph& graph, const std::vector<OpenAxis>& open,
                                     DifferenceAtShapes difference);

// Reads the model that `graph` was read from at other shapes; inputs that are not listed keep
// `graph`'s.
using ReadAtShapes = absl::FunctionRef<absl::StatusOr<Graph>(const InputShapes&)>;

// Returns FindFixedAxes of a graph that was read, compared with the graphs read at other shapes.
std::vector<FixedAxis> FixedByReading(const Graph& graph, const std::vector<OpenAxis>& open,
                                      ReadAtShapes read);

// Returns InvalidArgument, naming input, dimension and node, if the shapes change a fixed dimension
// of the input, whose shape is `shape`.
absl::Status CheckFixedAxes(const std::string& input, const Shape& shape,
                            const std::vector<FixedAxis>& fixed, const InputShapes& shapes);

// The begin of the keys of fixed dimensions in the metadata of an ONNX file, and such a dimension
// as text.
inline constexpr char kFixedAxisKey[] = "ashlar.fixed_axis";
// The begin of the keys of shapes of inputs with open dimensions, which are taken if no others are
// given: "1x3x224x224", a line feed, the input's name.
inline constexpr char kInputShapeKey[] = "ashlar.input_shape";
std::string ToText(const FixedAxis& axis);
absl::StatusOr<FixedAxis> ParseFixedAxis(absl::string_view text);

}  // namespace ashlar

#endif  // ASHLAR_SERIALIZATION_FIXED_AXES_H_
