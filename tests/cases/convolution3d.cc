#include "opr/convolution3d.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

// Composed on every device: tests/runtime/cpu compares the compositions.
template <>
void AddCases<Convolution3DForward>(Cases& cases) {
  const auto add = [&](Convolution3DParam param, const Shape& src, const Shape& filter, bool bias) {
    param.sparse = filter.rank() == 6 ? SparseMode::kGroup : SparseMode::kDense;
    KernelCase test{"conv3d",
                    Make<Convolution3DForward>(param),
                    {cases.Tensor(src, -1, 1), cases.Tensor(filter, -1, 1)}};
    const int64_t channels = filter.rank() == 6 ? filter[0] * filter[1] : filter[0];
    if (bias) test.inputs.push_back(cases.Tensor({channels}, -1, 1));
    test.tolerance = 1e-5;
    cases.Add(test);
  };
  Convolution3DParam same;
  same.pad_d = same.pad_h = same.pad_w = 1;
  Convolution3DParam uneven = same;
  uneven.stride_d = uneven.stride_w = 2;
  uneven.dilate_d = 2;
  uneven.pad_d_end = 3;
  uneven.pad_h_end = 0;
  add(same, {1, 3, 4, 6, 5}, {4, 3, 3, 3, 3}, true);  // r3d
  add({}, {2, 3, 4, 5, 5}, {5, 3, 1, 2, 3}, false);
  add(uneven, {1, 2, 7, 6, 5}, {3, 2, 3, 3, 2}, true);
  add(same, {1, 6, 4, 4, 5}, {3, 2, 2, 3, 3, 3}, true);
  add(same, {2, 3, 1, 5, 4}, {3, 3, 3, 3, 3}, false);  // one filter slice meets the image
  Convolution3DParam beyond = same;
  beyond.pad_d = 2;
  beyond.pad_d_end = 4;
  beyond.stride_d = 2;
  add(beyond, {2, 2, 3, 4, 4}, {3, 2, 2, 3, 3}, true);  // some slices meet only padding
}

}  // namespace ashlar::testing
