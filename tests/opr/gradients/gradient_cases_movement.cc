// Gradient cases of operators that move elements.
#include "opr/concat.h"
#include "opr/dimshuffle.h"
#include "opr/expand.h"
#include "opr/gather.h"
#include "opr/pad.h"
#include "opr/relayout_format.h"
#include "opr/reshape.h"
#include "opr/scatter.h"
#include "opr/split.h"
#include "opr/subtensor.h"
#include "opr/type_cvt.h"
#include "tests/opr/gradients/gradient_cases.h"

namespace ashlar::testing {
namespace {

// Adds a box with begin, end and step along one axis.
void AddBox(GradientCases& cases, const Shape& shape, int64_t axis, int64_t begin, int64_t end,
            int64_t step) {
  cases.Add<Subtensor>({{axis}, {1}, {1}, {1}, {0}}, {cases.Smooth(shape), Int64Vector({begin}),
                                                      Int64Vector({end}), Int64Vector({step})});
}

void AddBoxes(GradientCases& cases) {
  AddBox(cases, {3, 7, 2}, 1, 1, 6, 1);
  AddBox(cases, {3, 7, 2}, 1, 0, 7, 2);
  AddBox(cases, {3, 7, 2}, 1, 1, 7, 3);
  AddBox(cases, {3, 7, 2}, -2, -1, -6, -1);
  AddBox(cases, {3, 7, 2}, 1, 5, 0, -2);
  AddBox(cases, {3, 7, 2}, 1, 6, -100, -4);
  AddBox(cases, {5}, 0, 4, 5, 1);
  // A single index, which removes the axis.
  cases.Add<Subtensor>({{1}, {0}, {0}, {0}, {1}}, {cases.Smooth({3, 4}), Int64Vector({-2})});
  cases.Add<Subtensor>({{0, 2}, {0, 1}, {0, 0}, {0, 0}, {1, 0}},
                       {cases.Smooth({3, 2, 4}), Int64Vector({1}), Int64Vector({2})});
  cases.Add<Split>({1, {2, 1, 3}}, {cases.Smooth({2, 6, 2})});
  cases.Add<Split>({-3, {1, 1}}, {cases.Smooth({2, 3, 2})});
  cases.Add<Concat>({1},
                    {cases.Smooth({2, 1, 3}), cases.Smooth({2, 4, 3}), cases.Smooth({2, 2, 3})});
  cases.Add<Concat>({0}, {cases.Smooth({2})});
  for (const PadMode mode :
       {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap}) {
    cases.Add<Pad>({mode, {1, 2}, {0, 1}}, {cases.Smooth({3, 4})});
    cases.Add<Pad>({mode, {-1, 5}, {2, -1}}, {cases.Smooth({4, 4})});
    cases.Add<Pad>({mode, {0, 0}, {0, 0}}, {cases.Smooth({2, 2})});
  }
}

void AddShapes(GradientCases& cases) {
  cases.Add<Reshape>({}, {cases.Smooth({2, 3, 4}), Int64Vector({4, -1})});
  cases.Add<Dimshuffle>({{2, 0, 1}}, {cases.Smooth({2, 3, 4})});
  cases.Add<Dimshuffle>({{-1, 1, -1, 0}}, {cases.Smooth({2, 3})});
  cases.Add<Dimshuffle>({{2, 0}}, {cases.Smooth({2, 1, 3})});
  cases.Add<Expand>({}, {cases.Smooth({3, 1}), Int64Vector({2, 3, 4})});
  cases.Add<Expand>({}, {cases.Smooth({3, 4}), Int64Vector({1, 1})});
  cases.Add<TypeCvt>({DType::kFloat64}, {cases.Smooth({3, 4})});
  cases.Add<RelayoutFormat>({Format::kDefault}, {cases.Smooth({1, 2, 2, 3})});
}

void AddIndexed(GradientCases& cases) {
  cases.Add<Gather>({0}, {cases.Smooth({4, 3}), cases.Indices({2, 3}, 4)});
  cases.Add<Gather>({1}, {cases.Smooth({2, 5, 3}), cases.Indices({4}, 5)});
  cases.Add<Gather>({-1}, {cases.Smooth({2, 5}), cases.Indices({}, 5)});
  cases.Add<GatherElements>({1}, {cases.Smooth({3, 4}), cases.Indices({2, 6}, 4)});
  cases.Add<GatherND>({0}, {cases.Smooth({3, 4, 2}), cases.Indices({5, 2}, 3)});
  cases.Add<GatherND>({1}, {cases.Smooth({3, 4, 2}), cases.Indices({3, 2, 1}, 4)});
  cases.Add<GatherND>({2}, {cases.Smooth({2, 3, 4, 2}), cases.Indices({2, 3, 2, 1}, 4)});
  // Updates an element several times, except if only the last update would count.
  for (const ScatterReduction reduction :
       {ScatterReduction::kNone, ScatterReduction::kAdd, ScatterReduction::kMul,
        ScatterReduction::kMax, ScatterReduction::kMin}) {
    const std::vector<int64_t> rows = reduction == ScatterReduction::kNone
                                          ? std::vector<int64_t>{2, 0, 3}
                                          : std::vector<int64_t>{2, 0, 2};
    const auto values = [&](const Shape& shape, double low) {
      return cases.Distinct(shape, low, low + 1);
    };
    HostTensor along = HostTensor::FromValues<int64_t>(DType::kInt64, {3, 1}, rows);
    cases.Add<ScatterElements>({0, reduction}, {values({4, 2}, 0.5), along, values({3, 1}, 0.52)});
    cases.Add<ScatterND>({reduction}, {values({4, 2}, 0.5), along, values({3, 2}, 0.52)});
  }
}

}  // namespace

void AddMovementCases(GradientCases& cases) {
  AddBoxes(cases);
  AddShapes(cases);
  AddIndexed(cases);
}

}  // namespace ashlar::testing
