// Families of shapes: a model is planned at every combination of the sizes that are declared, and
// runs at each of them without planning again. "images=1..8x3x{224,320}x{224,320}" has 32 points.
#ifndef ASHLAR_LIBRARY_SHAPE_FAMILY_H_
#define ASHLAR_LIBRARY_SHAPE_FAMILY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "serialization/input_shapes.h"

namespace ashlar {

// Keeps the error of a point that does not fit if it needs more bytes than the one kept so far:
// these suffice for all points. Returns false for other errors, and without one.
bool KeepGreaterNeed(const absl::Status& point, const std::string& name, absl::Status& kept);

// Returns "images=1x3x224x224 mask=1x224".
std::string ShapesText(const InputShapes& shapes);

class ShapeFamily {
 public:
  static constexpr int64_t kMostPoints = 1024;

  // Parses one text for each input, "NAME=SIZESxSIZES...". SIZES is a number, a range 1..8, or a
  // list {224,320,1..8}; a text without these has one shape. InvalidArgument quotes a text that
  // declares no size, an input twice, or more than kMostPoints points in all.
  static absl::StatusOr<ShapeFamily> Parse(absl::Span<const std::string> texts);

  // Returns whether a text of Parse has several sizes, or none.
  static bool HasChoice(absl::string_view text);

  // The shapes of the declared inputs at each point. The first dimensions change last.
  const std::vector<InputShapes>& points() const { return points_; }
  // The declaration.
  const std::string& text() const { return text_; }
  // Returns whether some inputs may have different sizes independently of each other.
  bool varies_in_several_inputs() const { return varying_inputs_ > 1; }
  // Removes the points whose element is false.
  void Keep(const std::vector<bool>& kept);

  // Return the point with these shapes of the declared inputs, or the one with the fewest elements
  // whose tensors hold them. InvalidArgument if there is none: it lists the declared sizes. Shapes
  // of other inputs are ignored. The second form takes nothing from the heap unless it fails;
  // `dims` returns the dimensions of an input, or null.
  absl::StatusOr<size_t> Find(const InputShapes& shapes) const;
  using DimsOf = absl::FunctionRef<std::optional<absl::Span<const int64_t>>(const std::string&)>;
  absl::StatusOr<size_t> Find(DimsOf dims, bool exactly) const;

 private:
  std::vector<InputShapes> points_;
  std::string text_;
  int varying_inputs_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_LIBRARY_SHAPE_FAMILY_H_
