#include "opr/batch_norm.h"

#include "tests/cases/doubles.h"

namespace ashlar::testing {

template <>
void AddCases<BatchNorm>(Cases& cases) {
  Cases apart = cases;  // with random numbers of their own
  const std::vector<bool> images = {true, false, false, false, false};
  for (const Shape& shape : {Shape{2, 35, 5, 7}, Shape{1, 64, 40, 40}, Shape{2, 6, 4, 5},
                             Shape{3, 5}, Shape{2, 3, 4, 2, 3}}) {
    for (const bool four_dimensional_parameters : {false, true}) {
      const bool image = shape.rank() == 4;
      if (!image && four_dimensional_parameters) continue;
      KernelCase test{"batch norm", Make<BatchNorm>({1e-3}), {cases.Tensor(shape, -3, 3)}};
      const Shape channels =
          four_dimensional_parameters ? Shape{1, shape[1], 1, 1} : Shape{shape[1]};
      for (int i = BatchNorm::kScale; i <= BatchNorm::kVariance; ++i) {
        test.inputs.push_back(cases.Tensor(channels, i == BatchNorm::kVariance ? 0.01 : -2, 2));
      }
      test.tolerance = 1e-6;
      for (const bool in_place : {false, true}) {
        if (in_place) test.in_place = BatchNorm::kX;
        image ? cases.AddImages(test, images) : cases.Add(test);
      }
      test.in_place = std::nullopt;
      test.tolerance = 1e-5;
      if (image && !four_dimensional_parameters) cases.AddFormatPairs(test, images, false);
      for (HostTensor& input : test.inputs) input = InDType(input, DType::kFloat64);
      test.inputs[BatchNorm::kX] = FineNumbers(apart, shape);
      for (const bool in_place : {false, true}) {
        if (in_place) test.in_place = BatchNorm::kX;
        AddOfDoubles(cases, test, 1e-14);
      }
    }
  }
}

}  // namespace ashlar::testing
