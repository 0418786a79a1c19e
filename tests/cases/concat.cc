#include "opr/concat.h"

#include "tests/cases/quantized.h"

namespace ashlar::testing {

template <>
void AddCases<Concat>(Cases& cases) {
  struct {
    std::vector<Shape> inputs;
    int64_t axis;
    bool image, whole_blocks;  // may be in an image format; also in a blocked one
  } const kRows[] = {
      {{{2, 3, 4, 5}, {2, 7, 4, 5}}, 1, true, false},
      {{{2, 32, 4, 5}, {2, 16, 4, 5}, {2, 64, 4, 5}}, 1, true, true},
      {{{1, 32, 40, 40}, {1, 48, 40, 40}}, 1, true, true},
      {{{2, 35, 4, 5}, {1, 35, 4, 5}}, 0, true, true},
      {{{2, 35, 4, 5}, {2, 35, 3, 5}}, 2, true, true},
      {{{2, 35, 4, 5}, {2, 35, 4, 1}}, -1, true, true},
      {{{7}, {0}, {3}}, 0, false, false},
      {{{5, 6}}, 1, false, false},
  };
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64}) {
    const auto add = [&](const std::vector<Shape>& shapes, int64_t axis, bool image) {
      KernelCase test{"concat", Make<Concat>({axis}), {}};
      for (const Shape& shape : shapes) {
        test.inputs.push_back(cases.Tensor(dtype, shape, -50, 50));
      }
      test.tolerance = test.gpu_tolerance = 0;
      image ? cases.AddImages(test, std::vector<bool>(shapes.size(), true)) : cases.Add(test);
    };
    for (const auto& row : kRows) {
      add(row.inputs, row.axis, row.image && (row.whole_blocks || !cases.blocked()));
    }
    for (const int64_t axis : {0, 1, 2, 3}) {
      std::vector<Shape> shapes;
      for (int64_t i = 0; i < 8; ++i) {
        shapes.push_back({2, 8, 4, 6});
        shapes.back()[static_cast<int>(axis)] = i % 3 == 0 ? 4 : i % 5;  // one of them is empty
      }
      add(shapes, axis, !cases.blocked());
    }
  }
  for (const DType dtype : kBytes) {
    for (const auto& row : kRows) {
      KernelCase test{"concat", Make<Concat>({row.axis}), {}};
      for (const Shape& shape : row.inputs) {
        test.inputs.push_back(QuantizedTensor(cases, dtype, shape, {0.25f}, 5));
      }
      AddMoved(cases, std::move(test), row.image);
    }
  }
}

}  // namespace ashlar::testing
