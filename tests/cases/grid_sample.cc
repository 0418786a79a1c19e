#include "opr/grid_sample.h"

#include <cmath>

#include "tests/cases/cases.h"

namespace ashlar::testing {

template <>
void AddCases<GridSample>(Cases& cases) {
  for (const GridSampleMode mode :
       {GridSampleMode::kNearest, GridSampleMode::kLinear, GridSampleMode::kCubic}) {
    for (const GridSamplePadding padding :
         {GridSamplePadding::kZeros, GridSamplePadding::kBorder, GridSamplePadding::kReflection}) {
      for (const bool align : {false, true}) {
        const auto add = [&](const Shape& x, const Shape& grid, double reach) {
          for (const DType dtype : cases.scope().floats) {
            KernelCase test{"grid_sample",
                            Make<GridSample>({mode, padding, align}),
                            {cases.Tensor(dtype, x), cases.Tensor(dtype, grid, -reach, reach)}};
            test.tolerance = 1e-5;
            cases.Add(test);
          }
        };
        add({2, 3, 7, 9}, {2, 5, 6, 2}, 1.1);
        add({1, 17, 6, 4}, {1, 20, 11, 2}, 1.1);
        add({1, 2, 5, 5}, {1, 9, 9, 2}, 9);  // far outside
        add({1, 2, 1, 1}, {1, 3, 3, 2}, 2);
        if (mode != GridSampleMode::kCubic) {
          add({2, 3, 4, 5, 6}, {2, 3, 7, 5, 3}, 1.2);
          add({1, 2, 3, 1, 4}, {1, 5, 4, 6, 3}, 5);
        }
        KernelCase far{
            "nowhere",
            Make<GridSample>({mode, padding, align}),
            {cases.Tensor({1, 1, 3, 4}),
             HostTensor::FromValues<float>(DType::kFloat32, {1, 1, 4, 2},
                                           {NAN, 0, INFINITY, -INFINITY, 3e38f, 0.1f, 0, -3e38f})}};
        far.tolerance = 1e-5;
        cases.Add(far);
      }
    }
  }
}

}  // namespace ashlar::testing
