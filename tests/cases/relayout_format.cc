#include "opr/relayout_format.h"

#include "tests/cases/quantized.h"

namespace ashlar::testing {

template <>
void AddCases<RelayoutFormat>(Cases& cases) {
  std::vector<Format> formats = cases.scope().images;
  formats.push_back(Format::kDefault);
  for (const Shape& shape :
       {Shape{2, 3, 9, 11}, Shape{2, 32, 9, 11}, Shape{1, 35, 20, 41}, Shape{3, 16, 1, 1},
        Shape{1, 1, 1, 1}, Shape{2, 40, 5, 9}, Shape{2, 3, 4, 6}, Shape{1, 32, 8, 8},
        Shape{2, 15, 20, 13}, Shape{2, 300, 1, 7}}) {
    for (const DType dtype : kPlainDTypes) {
      if (dtype == DType::kFloat64) continue;  // no images of doubles
      for (const Format from : formats) {
        for (const Format to : formats) {
          KernelCase test{
              "relayout", Make<RelayoutFormat>({to}), {cases.Tensor(dtype, shape, -50, 50)}};
          test.formats = {from};
          test.output_format = to;
          test.tolerance = test.gpu_tolerance = 0;
          cases.Add(test);
        }
      }
    }
    for (const DType dtype : kBytes) {
      for (const auto& [from, to] : {std::pair(Format::kDefault, Format::kNHWC),
                                     std::pair(Format::kNHWC, Format::kDefault)}) {
        KernelCase test{"relayout",
                        Make<RelayoutFormat>({to}),
                        {QuantizedTensor(cases, dtype, shape, {0.25f}, 5)}};
        test.formats = {from};
        test.output_format = to;
        AddMoved(cases, std::move(test), false);
      }
    }
  }
}

}  // namespace ashlar::testing
