#include "opr/subtensor.h"

#include <algorithm>

#include "tests/cases/quantized.h"
#include "tests/support/shapes.h"

namespace ashlar::testing {

template <>
void AddCases<Subtensor>(Cases& cases) {
  struct {
    SubtensorParam param;
    std::vector<int32_t> bounds;
  } const kRows[] = {
      {{{1}, {1}, {1}, {0}, {0}}, {3, 9}},                        // x[:, 3:9]
      {{{3}, {1}, {0}, {1}, {0}}, {1, 2}},                        // x[..., 1::2]
      {{{0, 2}, {0, 0}, {1, 0}, {0, 1}, {0, 0}}, {1, -1}},        // x[:1, :, ::-1]
      {{{1, -1}, {0, 1}, {0, 1}, {0, 0}, {1, 0}}, {-2, 2, 100}},  // x[:, -2, :, 2:100]
      {{{0}, {0}, {0}, {0}, {1}}, {1}},                           // x[1]
      {{{2}, {1}, {1}, {0}, {0}}, {3, 3}},                        // nothing
      {{{1, 3, 0}, {1, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {1, 5, -1, 1}},
  };
  for (const auto& row : kRows) {
    for (const DType dtype :
         {DType::kFloat32, DType::kFloat16, DType::kInt8, DType::kInt64, DType::kBool}) {
      KernelCase test{
          "subtensor", Make<Subtensor>(row.param), {cases.Tensor(dtype, {2, 11, 7, 9}, -50, 50)}};
      for (const int32_t bound : row.bounds) test.inputs.push_back(Int32Vector({bound}));
      test.tolerance = test.gpu_tolerance = 0;
      cases.Add(test);
    }
  }
  // Slices of images, as tiles take them: some rows, columns and images, all channels.
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    for (const int64_t channels : {3, 16, 35}) {
      KernelCase test{"part of an image",
                      Make<Subtensor>({{0, 2, 3}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}),
                      {cases.Tensor(dtype, {3, channels, 7, 9}, -50, 50)}};
      for (const int32_t bound : {1, 3, 2, 6, 4, 9}) test.inputs.push_back(Int32Vector({bound}));
      test.tolerance = test.gpu_tolerance = 0;
      cases.AddImages(test);
    }
  }
  for (const DType dtype : kBytes) {
    for (const auto& row : kRows) {
      KernelCase test{"subtensor",
                      Make<Subtensor>(row.param),
                      {QuantizedTensor(cases, dtype, {2, 11, 7, 9}, {0.25f}, 5)}};
      for (const int32_t bound : row.bounds) test.inputs.push_back(Int32Vector({bound}));
      const std::vector<int64_t>& idx = row.param.idx;
      const bool is_image = std::find(idx.begin(), idx.end(), 1) == idx.end();
      AddMoved(cases, std::move(test), is_image);
    }
    AddMoved(cases,
             {"subtensor",
              Make<Subtensor>({{0}, {1}, {1}, {0}, {0}}),
              {QuantizedTensor(cases, dtype, {5, 11, 3, 2}, {0.25f}, 5), Int32Vector({1}),
               Int32Vector({4})}},
             true);
  }
}

}  // namespace ashlar::testing
