#include "opr/non_max_suppression.h"

#include "tests/cases/cases.h"

namespace ashlar::testing {

// GPUs refuse operators of tensors whose sizes depend on data.
template <>
void AddCases<NonMaxSuppression>(Cases& cases) {
  cases.Reject({{Make<NonMaxSuppression>({1, 1, 0.5}), {{1, 6, 4}, {1, 2, 5}}, "boxes {n,b,4}"},
                {Make<NonMaxSuppression>({1, 13, 0.5}), {{1, 6, 4}, {1, 2, 6}}, "at_most is 13"},
                {Make<NonMaxSuppression>({1, 1, 0.5}), {{1, 6, 4}, {1, 2, 6}, {}}, "a count"}});
  if (cases.on_gpu()) return;
  for (const bool centers : {false, true}) {
    for (const bool as_any : {false, true}) {
      for (const int64_t most : {int64_t{0}, int64_t{3}, int64_t{40}}) {
        KernelCase test{"nms",
                        Make<NonMaxSuppression>(
                            {most, 2 * 3 * std::min<int64_t>(most, 40), 0.3, 0.1, as_any, centers}),
                        {cases.Tensor({2, 40, 4}, 0, 1), cases.Tensor({2, 3, 40}, 0, 1)}};
        test.tolerance = 0;
        cases.Add(test);
        HostTensor count = HostTensor::Zeros(DType::kInt64, {});
        count.SetInteger(0, 17);
        test.inputs.push_back(count);
        cases.Add(test);
      }
    }
  }
}

}  // namespace ashlar::testing
